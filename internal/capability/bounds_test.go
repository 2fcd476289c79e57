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
		return s.ledger.CheckRevocation(v)
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
	caps := make([]string, MaxPerGrant)
	for i := range caps {
		caps[i] = fmt.Sprintf("x.k%d", i)
	}
	for range MaxGranted / MaxPerGrant {
		s.grant("alice", "carol", 0, caps...)
	}
	s.refused("alice", "carol", "more than 512", "chat")

	for i := range MaxExceptions {
		s.revoke("bob", fmt.Sprintf("x.k%d", i))
	}
	s.may("bob", true, "chat")
	s.revoke("bob", "x.last") // rather too little than too much
	s.may("bob", false, "chat")
}

func TestHistoryIsCompacted(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}})
	s.grant("alice", "bob", 0, "chat")
	for range 3 * compactHistory {
		s.grant("alice", "bob", time.Second, "mcp.request")
		s.now = s.now.Add(2 * time.Second)
	}
	s.grant("alice", "carol", 0, "chat")
	if n := s.ledger.history.length; n > 2*compactHistory {
		t.Errorf("the history has %d entries", n)
	}
	s.revokeGrant("bob", s.grant("alice", "bob", time.Second, "mcp.request"))
	s.now = s.now.Add(time.Minute)
	s.grant("alice", "carol", 0, "chat")
	s.ledger = s.ledger.WithConfigured(s.ledger.configured)
	if n := s.ledger.history.length; n != 3 {
		t.Errorf("%d changes are left, want three grants", n)
	}
	s.may("bob", true, "chat")
	s.may("carol", true, "chat")
	if n := len(s.ledger.Grants(s.now)); n != 3 {
		t.Errorf("%d grants", n)
	}
}

// A grant that has ended stays in the history while what was derived from it
// would otherwise come back: here the last one, which alice could also have
// derived from her configured right, less one kind.
func TestHistoryKeepsEndedParents(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}, "carol": {"*"}})
	s.revoke("alice", "chat")
	s.grant("carol", "alice", time.Second, "*")
	id := s.grant("alice", "bob", 0, "*")
	s.now = s.now.Add(time.Second)
	s.grant("carol", "dora", 0, "chat")
	for range 2 {
		if _, ok := s.ledger.Grant(id, s.now); ok {
			t.Error("the grant outlived its parent")
		}
		s.ledger = s.ledger.WithConfigured(s.ledger.configured)
	}
}
