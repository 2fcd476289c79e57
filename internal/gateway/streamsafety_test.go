package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// streamReader reads the frames of a connection.
type streamReader func() ([]byte, error)

// wsReader reads a WebSocket.
func wsReader(ctx context.Context, ws *websocket.Conn) streamReader {
	return func() ([]byte, error) {
		_, frame, err := ws.Read(ctx)
		return frame, err
	}
}

// eventsOf reads server-sent events.
func eventsOf(ctx context.Context, t *testing.T, g *meuptest.Gateway, who string) streamReader {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.Addr()+"/api/spaces/lab/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+who+"-token")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	return func() ([]byte, error) {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return []byte(data), nil
			}
		}
		return nil, fmt.Errorf("the events ended: %w", lines.Err())
	}
}

// streamText reads the data of a stream until the stream is closed.
func streamText(t *testing.T, read streamReader) string {
	t.Helper()
	var text strings.Builder
	for {
		frame, err := read()
		if err != nil {
			t.Fatal(err)
		}
		if raw, ok := strings.CutPrefix(string(frame), "#s#"); ok {
			text.WriteString(raw)
			continue
		}
		var e struct {
			Kind    protocol.Kind
			Payload struct{ Data string }
		}
		if err := json.Unmarshal(frame, &e); err != nil {
			t.Fatalf("%s: %v", frame, err)
		}
		switch strings.Replace(string(e.Kind), "/", ".", 1) {
		case "stream.data":
			text.WriteString(e.Payload.Data)
		case "stream.close":
			return text.String()
		}
	}
}

// However a secret is split into chunks, no dialect and no transport delivers
// more of it than its public prefix.
func TestStreams_NoReceiverSeesASplitSecret(t *testing.T) {
	const participants = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: ["*"]}
      two: {token: two-token, capabilities: ["*"]}
      mew: {token: mew-token, capabilities: ["*"]}
      sse: {token: sse-token, capabilities: ["*"]}
`
	text := "Ich glaube: der Schlüssel ist " + aSecret + ", 鍵は " + aSecret + "。 And so, we go on.\n"
	want := strings.ReplaceAll(text, aSecret, "[redacted:github-pat]")
	third := len(text) / 3
	for name, cuts := range map[string][]int{
		"one chunk": nil, "two": {45}, "three": {40, 55}, "thirds": {third, 2 * third}, "byte by byte": every(text),
	} {
		t.Run(name, func(t *testing.T) {
			ctx := testkit.Deadline(t)
			g := meuptest.Start(t, participants)
			alice := dial(t, g, "alice", "echo=false")
			readers := map[string]streamReader{
				"meup/v0.1": wsReader(ctx, dial(t, g, "bob", "")), "meup/v0.2": wsReader(ctx, dial(t, g, "two", "dialect=meup/v0.2")),
				"mew/v0.4": wsReader(ctx, dial(t, g, "mew", "dialect=mew/v0.4")), "events": eventsOf(ctx, t, g, "sse"),
			}
			say(t, alice, `{"id":"r","kind":"reasoning.start","payload":{}}`)
			say(t, alice, `{"kind":"stream.open","context":"r","payload":{"stream_id":"s"}}`)
			last := 0
			for _, cut := range append(cuts, len(text)) {
				for cut < len(text) && text[cut]&0xc0 == 0x80 {
					cut++
				}
				if cut == last {
					continue
				}
				data, err := json.Marshal(text[last:cut])
				if err != nil {
					t.Fatal(err)
				}
				say(t, alice, `{"kind":"stream.data","context":"r","payload":{"stream_id":"s","data":`+string(data)+`}}`)
				last = cut
			}
			say(t, alice, `{"kind":"stream.close","context":"r","payload":{"stream_id":"s"}}`)
			for name, read := range readers {
				got := streamText(t, read)
				// The prefix of the secret is public, and is delivered before
				// the rest is known.
				if strings.Contains(got, ofIt[:8]) || strings.ReplaceAll(got, "ghp_[", "[") != want {
					t.Errorf("%s gets %q", name, got)
				}
			}
		})
	}
}

// every returns all positions in a text.
func every(text string) []int {
	var cuts []int
	for i := range text {
		cuts = append(cuts, i)
	}
	return cuts
}
