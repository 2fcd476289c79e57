package gateway

import (
	"errors"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
)

// TestInvites_DirectoryUnread: while the administrative space has not been read, a token
// that may be one of its tokens is not rejected for good.
func TestInvites_DirectoryUnread(t *testing.T) {
	hub := space.NewHub(space.Services{Journal: journal.NewMemory(journal.MemoryOptions{}), NewID: newID}, func(name string) (*authority.Config, bool) {
		return &authority.Config{Name: name}, true
	})
	if err := hub.LoadInvitations(t.Context()); err != nil {
		t.Fatal(err)
	}
	admin := &administration{space: "ops"}
	a := access.NewTokenAuthenticator(access.TokenTable{
		Spaces: []access.SpaceTokens{{Name: "lab", Tokens: []access.Token{{Participant: "alice", Hash: access.Hash("alice-token")}}}},
		Find:   func(name string) (string, bool) { return name, name == "lab" },
	}, access.TokenOptions{Invites: invites{hub, admin}})
	check := func(token string, want error) {
		t.Helper()
		if _, err := a.Authenticate(t.Context(), "lab", token, time.Now()); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", token, err, want)
		}
	}
	check("unknown", access.ErrUnavailable)
	check("alice-token", nil)
	admin.read = true
	check("unknown", access.ErrUnknownToken)
	check("alice-token", nil)
}
