package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// An invitation can take neither the name of a user of the issuer that has not
// joined yet, nor the name of a connected user.
func TestInvitation_NamesOfAnIssuer(t *testing.T) {
	i := newIssuer(t)
	g := meuptest.Start(t, guestConfig(i))
	ada := i.sign(t, i.key, nil)
	const send = "/api/spaces/lab/envelopes"
	invite := func(id string) (int, string) {
		return ask(t, g, http.MethodPost, send, "alice-token", fmt.Sprintf(`{"kind":"space.invite","payload":{"participant_id":%q}}`, id))
	}
	want := func(what string, status int, text string, wantStatus int, part string) {
		t.Helper()
		if status != wantStatus || !strings.Contains(text, part) {
			t.Errorf("%s: %d %s, want %d and %s", what, status, text, wantStatus, part)
		}
	}

	status, text := invite("ada")
	want("a name of the issuer's", status, text, http.StatusBadRequest, "invalid_payload")
	status, text = invite("invited:helper")
	want("a name for the invited", status, text, http.StatusOK, `"token"`)
	if _, status, code := connect(t, g, "lab", i.sign(t, i.key, jwt.MapClaims{"nick": "invited:helper"})); status != http.StatusUnauthorized {
		t.Errorf("a JWT for an invited name: %d %s", status, code)
	}

	status, text = ask(t, g, http.MethodPost, send, ada, `{"kind":"chat","payload":{"message":"here"}}`)
	want("ada is a guest", status, text, http.StatusOK, "seq")
	status, text = invite("ada")
	want("a guest", status, text, http.StatusForbidden, "cannot_delegate")
	ask(t, g, http.MethodPost, send, "alice-token", `{"kind":"space.kick","payload":{"participant_id":"ada"}}`)
	if _, status, code := connect(t, g, "lab", ada); code != protocol.CodeKicked {
		t.Errorf("kicked: %d %s", status, code)
	}
	status, text = invite("ada")
	want("a guest that was kicked", status, text, http.StatusOK, "seq")
	if strings.Contains(text, `"token"`) {
		t.Errorf("a token for a guest's name: %s", text)
	}
	ws, status, code := connect(t, g, "lab", ada)
	if ws == nil {
		t.Fatalf("invited again: %d %s", status, code)
	}
	if e := envelope(t, ws); !strings.Contains(string(e.Payload), `"reasoning/*"`) {
		t.Errorf("a guest that is back holds other rights: %s", e.Payload)
	}
	g.Restart()
	if ws, status, code := connect(t, g, "lab", ada); ws == nil {
		t.Errorf("after a restart: %d %s", status, code)
	}
}

// A name that was invited before the space trusted an issuer does not pass to
// the issuer's user.
func TestInvitation_BeforeTheIssuer(t *testing.T) {
	i := newIssuer(t)
	before, _, _ := strings.Cut(guestConfig(i), "    jwt:")
	g := meuptest.Start(t, before)
	status, text := ask(t, g, http.MethodPost, "/api/spaces/lab/envelopes", "alice-token", `{"kind":"space.invite","payload":{"participant_id":"ada"}}`)
	if status != http.StatusOK {
		t.Fatal(text)
	}
	g.Reload(guestConfig(i))
	if _, status, code := connect(t, g, "lab", i.sign(t, i.key, nil)); code != protocol.CodeForbidden {
		t.Errorf("a JWT for an invited name: %d %s", status, code)
	}
}
