package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// ask makes a request with a token and returns status and body.
func ask(t *testing.T, g *meuptest.Gateway, method, path, token, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, g.HTTP()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func openSpaces(t *testing.T, g *meuptest.Gateway) string {
	t.Helper()
	_, text := ask(t, g, http.MethodGet, "/metrics", "", "")
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "meup_spaces_open "); ok {
			return strings.TrimSpace(rest)
		}
	}
	t.Fatal("no metric of open spaces")
	return ""
}

func TestInvitation_UnknownTokenOpensNoSpace(t *testing.T) {
	g := meuptest.Start(t, fmt.Sprintf(`
data: %q
login_failures: {burst: 1000, refill: 1h}
spaces:
  lab: {participants: {alice: {token: alice-token, capabilities: ["*"]}}}
  hall: {participants: {alice: {token: hall-token, capabilities: ["*"]}}}
`, t.TempDir()))
	status, text := ask(t, g, http.MethodPost, "/api/spaces/lab/envelopes", "alice-token",
		`{"kind": "space.invite", "payload": {"participant_id": "guest", "initial_capabilities": ["chat"]}}`)
	var invited protocol.InviteAck
	if err := json.Unmarshal([]byte(text), &invited); err != nil || status != http.StatusOK {
		t.Fatal(status, text, err)
	}
	g.Restart()

	for range 5 {
		if status, text := ask(t, g, http.MethodGet, "/api/spaces/lab/participants", "meup_nobody", ""); status != http.StatusUnauthorized {
			t.Fatal(status, text)
		}
	}
	if status, text := ask(t, g, http.MethodGet, "/api/spaces/hall/participants", invited.Token, ""); status != http.StatusForbidden {
		t.Errorf("elsewhere: %d %s", status, text)
	}
	if n := openSpaces(t, g); n != "0" {
		t.Errorf("%s spaces are open", n)
	}
	if status, text := ask(t, g, http.MethodGet, "/api/spaces", invited.Token, ""); status != http.StatusOK || !strings.Contains(text, `"lab"`) {
		t.Errorf("spaces of the guest: %d %s", status, text)
	}
	if status, text := ask(t, g, http.MethodGet, "/api/spaces/lab/participants", invited.Token, ""); status != http.StatusOK {
		t.Errorf("the guest: %d %s", status, text)
	}
}

func TestEvents_HeadJoinsNothing(t *testing.T) {
	g := meuptest.Start(t, `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: [chat]}
`)
	alice, status, _ := connect(t, g, "lab", "alice-token")
	if alice == nil {
		t.Fatal(status)
	}
	for range 20 {
		if status, _ := ask(t, g, http.MethodHead, "/api/spaces/lab/events", "bob-token", ""); status != http.StatusOK {
			t.Fatal(status)
		}
	}
	say(t, alice, `{"id": "end", "kind": "chat", "payload": {"message": "x"}}`)
	for {
		_, frame, err := alice.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(frame), `"system.presence"`) {
			t.Fatalf("got %s", frame)
		}
		if strings.Contains(string(frame), `"end"`) {
			return
		}
	}
}
