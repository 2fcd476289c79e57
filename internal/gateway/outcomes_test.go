package gateway_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// outcome is the answer to an envelope: an ack or an error.
type outcome struct {
	Kind        string   `json:"kind"`
	Correlation string   `json:"correlationId"`
	Payload     struct { // of both
		Seq     uint64 `json:"seq"`
		Error   string `json:"error"`
		Message string `json:"message"`
		ID      string `json:"id"`
		Retry   int    `json:"retry_after_ms"`
	} `json:"payload"`
}

// publish sends an envelope and returns its answer.
func publish(t *testing.T, ws *websocket.Conn, frame string) outcome {
	t.Helper()
	ctx := testkit.Deadline(t)
	if err := ws.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
		t.Fatal(err)
	}
	for {
		_, text, err := ws.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var o outcome
		if err := json.Unmarshal(text, &o); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if o.Kind == "system.ack" || o.Kind == "system.error" {
			return o
		}
	}
}

func helloAs(id string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"chat","payload":{"message":"hello"}}`, id)
}

// When the log fails (section 5), the envelope under way is outcome_unknown, with the id for a
// retry; later ones are unavailable. The connection stays open, both are sent again under their
// ids, and each is in the log once.
func TestLogFails_OutcomeUnknownThenUnavailable(t *testing.T) {
	disk := &fullDisk{}
	g := meuptest.Start(t, meuptest.Config, func(o *gateway.Options) { o.SetFS(errorfs.Wrap(vfs.Default, disk)) })
	ws := dial(t, g, "alice", "ack=true&echo=false")
	if o := publish(t, ws, helloAs("before")); o.Kind != "system.ack" {
		t.Fatalf("before: %+v", o)
	}
	disk.full.Store(true)
	unknown := publish(t, ws, `{"kind":"chat","payload":{"message":"hello"}}`) // without an id
	id := unknown.Payload.ID
	if unknown.Payload.Error != "outcome_unknown" || id == "" || unknown.Payload.Retry <= 0 || !strings.Contains(unknown.Payload.Message, "send it again with the id "+id) {
		t.Errorf("the envelope under way: %+v", unknown)
	}
	refused := publish(t, ws, helloAs("later"))
	if refused.Payload.Error != "unavailable" || refused.Correlation != "later" || !strings.Contains(refused.Payload.Message, "not admitted, send it again under the same id") {
		t.Errorf("a later envelope: %+v", refused)
	}
	disk.full.Store(false)
	positions := make(map[uint64]bool)
	for _, id := range []string{id, "later", id, "later"} {
		var o outcome
		testkit.Eventually(t, "the log is open again", func() bool {
			o = publish(t, ws, helloAs(id))
			return o.Payload.Error != "unavailable"
		})
		if o.Kind != "system.ack" || o.Correlation != id {
			t.Fatalf("%s again: %+v", id, o)
		}
		positions[o.Payload.Seq] = true
	}
	if len(positions) != 2 {
		t.Errorf("two envelopes are at the positions %v", positions)
	}
}

// A client of MEW that joins while its token cannot be checked gets the error unavailable and
// close code 1011 (section 9); before the upgrade, the same is 503 with Retry-After.
func TestJoin_UnavailableIsClose1011(t *testing.T) {
	g := meuptest.Start(t, `
spaces:
  lab:
    jwt: {issuer: "http://127.0.0.1:1", audience: meup, participant_claim: sub, capabilities: [chat]}
`)
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	token := part(`{"alg":"RS256","kid":"k"}`) + "." +
		part(fmt.Sprintf(`{"iss":"http://127.0.0.1:1","aud":"meup","sub":"carol","exp":%d}`, time.Now().Add(time.Hour).Unix())) + "." + part("signature")
	ctx := testkit.Deadline(t)
	ws, resp, err := websocket.Dial(ctx, "ws://"+g.Addr()+"/", nil)
	if err != nil {
		t.Fatal(err, resp)
	}
	defer ws.CloseNow()
	if err := ws.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"type":"join","space":"lab","token":%q}`, token)); err != nil {
		t.Fatal(err)
	}
	_, frame, err := ws.Read(ctx)
	if err != nil || !strings.Contains(string(frame), `"kind":"system/error"`) || !strings.Contains(string(frame), `"error":"unavailable"`) {
		t.Errorf("%s, %v", frame, err)
	}
	if _, _, err := ws.Read(ctx); websocket.CloseStatus(err) != protocol.CloseInternal {
		t.Errorf("closed with %v", err)
	}
	_, resp, err = websocket.Dial(ctx, g.URL("lab"), &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err == nil || resp == nil || resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("before the upgrade: %+v, %v", resp, err)
	}
}
