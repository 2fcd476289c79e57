package gateway

import (
	"errors"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/auth"
	"github.com/meup-protocol/meup/internal/journal/memory"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
)

// TestInvites_DirectoryUnread: while the administrative space has not been read, a token
// that may be one of its tokens is not rejected for good.
func TestInvites_DirectoryUnread(t *testing.T) {
	hub := space.NewHub(space.Services{Journal: memory.New(memory.Options{}), NewID: newID}, func(name string) (*authority.Config, bool) {
		return &authority.Config{Name: name}, true
	})
	if err := hub.LoadInvitations(t.Context()); err != nil {
		t.Fatal(err)
	}
	admin := &administration{space: "ops"}
	a := auth.New(auth.Table{
		Spaces: []auth.Space{{Name: "lab", Tokens: []auth.Token{{Participant: "alice", Hash: auth.Hash("alice-token")}}}},
		Find:   func(name string) (string, bool) { return name, name == "lab" },
	}, auth.Options{Invites: invites{hub, admin}})
	check := func(token string, want error) {
		t.Helper()
		if _, err := a.Authenticate(t.Context(), "lab", token, time.Now()); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", token, err, want)
		}
	}
	check("unknown", auth.ErrUnavailable)
	check("alice-token", nil)
	admin.read = true
	check("unknown", auth.ErrUnknownToken)
	check("alice-token", nil)
}
