package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// BenchmarkHistory measures a page of 200 turns with 5 tools each: from the
// embedded log, masked, as JSON over HTTP. Warm reads a thread that was just
// read. Cold reads one of several threads that do not fit into memory together,
// so that each read goes to the log. Restarted is the first request after a
// start, which reads the whole log of 8 such threads.
func BenchmarkHistory(b *testing.B) {
	const threads = 8
	g := meuptest.Start(b, meuptest.Config)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for n := range threads {
		writeThread(b, g, client, n, 200, 5)
	}
	history := func(n int) {
		body := fetch(b, client, http.MethodGet, fmt.Sprintf("%s/api/chat/history?thread_id=t%d-q0&limit=200", g.HTTP(), n), "")
		if !bytes.Contains(body, []byte(`"turn_number":200,`)) {
			b.Fatalf("%d bytes", len(body))
		}
		b.SetBytes(int64(len(body)))
	}
	b.Run("warm", func(b *testing.B) {
		history(0)
		for b.Loop() {
			history(0)
		}
	})
	b.Run("cold", func(b *testing.B) {
		n := 0
		for b.Loop() {
			history(n % threads)
			n++
		}
	})
	b.Run("restarted", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			g.Restart()
			client.CloseIdleConnections()
			b.StartTimer()
			history(0)
		}
	})
}

// writeThread writes a thread of turns, each with a number of calls.
func writeThread(b *testing.B, g *meuptest.Gateway, client *http.Client, n, turns, tools int) {
	b.Helper()
	for turn := range turns {
		id := func(what string) string { return fmt.Sprintf("t%d-%s%d", n, what, turn) }
		answers := ""
		if turn > 0 {
			answers = fmt.Sprintf("t%d-m%d", n, turn-1)
		}
		var mine []string
		add := func(kind, id, answers, context, payload string) {
			e := fmt.Sprintf(`{"kind": %q, "id": %q, "payload": %s`, kind, id, payload)
			if answers != "" {
				e += fmt.Sprintf(`, "correlationId": %q`, answers)
			}
			if context != "" {
				e += fmt.Sprintf(`, "context": %q`, context)
			}
			mine = append(mine, e+"}")
		}
		add("chat", id("q"), answers, "", `{"message": "what has changed since yesterday in the project that we talked about?"}`)
		fetch(b, client, http.MethodPost, g.HTTP()+"/api/spaces/lab/envelopes", "["+strings.Join(mine, ",")+"]")
		mine = nil
		c := id("c")
		add("reasoning.start", c, id("q"), "", `{"message": "looking into it"}`)
		for i := range tools {
			k := fmt.Sprintf("-%d", i)
			add("reasoning.thought", id("t")+k, "", c, `{"message": "searched memory for 'recent project updates' to see what is new", "tool_name": "memory_search"}`)
			add("mcp.request", id("r")+k, id("t")+k, c, `{"method": "tools/call", "params": {"name": "memory_search", "arguments": {"query": "recent project updates", "limit": 5}}}`)
			add("mcp.response", id("a")+k, id("r")+k, c, `{"result": {"content": [{"type": "text", "text": "three documents were found, the first of which is about the release"}]}}`)
		}
		add("reasoning.conclusion", id("e"), "", c, `{"message": "that should do"}`)
		add("chat", id("m"), id("q"), "", `{"message": "The latest updates are about the release, which was moved to Friday."}`)
		fetchAs(b, client, "bob", http.MethodPost, g.HTTP()+"/api/spaces/lab/envelopes", "["+strings.Join(mine, ",")+"]")
	}
}

func fetch(b *testing.B, client *http.Client, method, url, body string) []byte {
	b.Helper()
	return fetchAs(b, client, "alice", method, url, body)
}

func fetchAs(b *testing.B, client *http.Client, who, method, url, body string) []byte {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+who+"-token")
	resp, err := client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatalf("%s: %s %.200s %v", url, resp.Status, answer, err)
	}
	return answer
}
