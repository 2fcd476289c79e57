package mcpserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// The bound of the list counts the descriptions.
func TestWho_Bound(t *testing.T) {
	text := strings.Repeat("\U0001f4d2", 200)
	g := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]any{"threads": []any{}}
		if path.Base(r.URL.Path) == "participants" {
			list := make([]protocol.Participant, maxMembers)
			for i := range list {
				list[i] = protocol.Participant{ID: "p", Description: text}
			}
			answer = map[string]any{"participants": list}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(g.Close)
	c, err := api.New(api.Options{URL: g.URL, Token: "token"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	got, err := (&caller{client: c, space: "lab"}).who(t.Context(), whoInput{})
	if want := maxListBytes/len(text) + 1; err != nil || len(got.Present) != want || got.Omitted != maxMembers-want {
		t.Errorf("%d listed and %d omitted, want %d listed: %v", len(got.Present), got.Omitted, want, err)
	}
}
