package capability

import (
	"fmt"
	"testing"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

func TestCheckRevocation(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}})
	id := s.grant("alice", "bob", time.Minute, "chat")
	check := func(v Revocation) *protocol.Error {
		v.At = s.now
		return protocol.AsError(s.ledger.CheckRevocation(v))
	}
	if err := check(Revocation{Recipient: "bob", GrantID: id}); err != nil {
		t.Error(err)
	}
	if err := check(Revocation{Recipient: "bob", Capabilities: all(t, "chat")}); err != nil {
		t.Error(err)
	}
	if err := check(Revocation{Recipient: "carol", GrantID: id}); err == nil || err.Code != protocol.CodeInvalidPayload || err.Path != "/grant_id" {
		t.Errorf("another's grant: %v", err)
	}
	if err := check(Revocation{Recipient: "bob", GrantID: "g9"}); err == nil {
		t.Error("an unknown grant can be revoked")
	}
	s.now = s.now.Add(time.Minute)
	if err := check(Revocation{Recipient: "bob", GrantID: id}); err == nil {
		t.Error("a grant that has ended can be revoked")
	}
}

func TestBounds(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}, "bob": {"*"}})
	caps := make([]string, maxPerGrant)
	for i := range caps {
		caps[i] = fmt.Sprintf("x.k%d", i)
	}
	for range maxGranted / maxPerGrant {
		s.grant("alice", "carol", 0, caps...)
	}
	s.refused("alice", "carol", "more than 512", "chat")

	for i := range maxRevoked {
		s.revoke("bob", fmt.Sprintf("x.k%d", i))
	}
	s.may("bob", true, "chat")
	s.revoke("bob", "x.last") // rather too little than too much
	s.may("bob", false, "chat")
}

// Grants that ended or were revoked entirely are dropped.
func TestLedger_ForgetsWhatEnded(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}})
	s.grant("alice", "bob", 0, "chat")
	for i := range 1000 {
		s.grant("alice", "bob", time.Second, "mcp.request")
		s.now = s.now.Add(2 * time.Second)
		id := s.grant("alice", "bob", time.Hour, "mcp.request")
		if i%2 == 0 {
			s.revokeGrant("bob", id)
		} else {
			s.revoke("bob", "mcp.*")
		}
	}
	h := s.ledger.holder("bob")
	if n := s.ledger.grants.Len(); n != 1 || s.ledger.expiry.Len() != 0 || len(h.grants) != 1 || len(h.revoked) != 1 {
		t.Errorf("%d grants, %d that will end, %d of bob, %d revocations", n, s.ledger.expiry.Len(), len(h.grants), len(h.revoked))
	}
	if want := sizeOf(all(t, "chat")); s.ledger.total != want {
		t.Errorf("the total is %v, want %v", s.ledger.total, want)
	}
}
