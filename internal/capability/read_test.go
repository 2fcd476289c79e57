package capability

import (
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

func TestRead(t *testing.T) {
	at := time.Unix(1000, 0).UTC()
	g, err := ReadGrant("e1", "alice", payload(t, `{"recipient":"bob","capabilities":["chat",{"kind":"mcp.*","to":"x"}],"ttl_seconds":1.5,"reason":"why"}`), at)
	if err != nil || g.ID != "e1" || g.Grantor != "alice" || g.Recipient != "bob" || len(g.Capabilities) != 2 ||
		!g.ExpiresAt.Equal(at.Add(1500*time.Millisecond)) || g.Reason != "why" || g.Invitation {
		t.Errorf("read %+v: %v", g, err)
	}
	g, err = ReadInvite("e2", "alice", payload(t, `{"participant_id":"guest"}`), at)
	if err != nil || !g.Invitation || g.Recipient != "guest" || !g.ExpiresAt.IsZero() || g.Capabilities != nil {
		t.Errorf("read %+v: %v", g, err)
	}
	v, err := ReadRevocation(payload(t, `{"recipient":"bob","grant_id":"e1"}`), at)
	if err != nil || v.Recipient != "bob" || v.GrantID != "e1" {
		t.Errorf("read %+v: %v", v, err)
	}
	for _, tt := range []struct{ kind, text, path string }{
		{"grant", `{"capabilities":["chat"]}`, "/recipient"},
		{"grant", `{"recipient":5,"capabilities":["chat"]}`, "/recipient"},
		{"grant", `{"recipient":"bob"}`, "/capabilities"},
		{"grant", `{"recipient":"bob","capabilities":[]}`, "/capabilities"},
		{"grant", `{"recipient":"bob","capabilities":"chat"}`, "/capabilities"},
		{"grant", `{"recipient":"bob","capabilities":["chat",{"kind":"!!x"}]}`, "/capabilities/1"},
		{"grant", `{"recipient":"bob","capabilities":[` + strings.Repeat(`"chat",`, maxPerGrant) + `"chat"]}`, "/capabilities"},
		{"grant", `{"recipient":"bob","capabilities":["chat"],"ttl_seconds":0}`, "/ttl_seconds"},
		{"grant", `{"recipient":"bob","capabilities":["chat"],"ttl_seconds":"5"}`, "/ttl_seconds"},
		{"grant", `{"recipient":"bob","capabilities":["chat"],"ttl_seconds":1e300}`, "/ttl_seconds"},
		{"invite", `{}`, "/participant_id"},
		{"invite", `{"participant_id":"x","initial_capabilities":{}}`, "/initial_capabilities"},
		{"revoke", `{"recipient":"bob"}`, ""},
		{"revoke", `{"recipient":"bob","grant_id":""}`, "/grant_id"},
		{"revoke", `{"recipient":"bob","capabilities":[{"kind":"chat","deny":true}]}`, "/capabilities/0"},
	} {
		var err error
		switch v := payload(t, tt.text); tt.kind {
		case "grant":
			_, err = ReadGrant("e", "a", v, at)
		case "invite":
			_, err = ReadInvite("e", "a", v, at)
		default:
			_, err = ReadRevocation(v, at)
		}
		if refused := protocol.AsError(err); refused == nil || refused.Code != protocol.CodeInvalidPayload || refused.Path != tt.path {
			t.Errorf("%s %s: %+v, want it at %q", tt.kind, tt.text, refused, tt.path)
		}
	}
}
