package webtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/chromedp/chromedp"
)

// panels are the panels with a tab.
var panels = []string{"proposals", "participants", "tools", "contexts", "search", "policy", "timeline", "operator"}

func repeat(s string, n int) string { return strings.Repeat(s, n) }

func contains(s, part string) bool { return strings.Contains(s, part) }

// size sets the size of the window.
func size(width, height int64) chromedp.Action[chromedp.Void] {
	return chromedp.EmulateViewport(width, height)
}

// trySend sends an envelope that may be rejected, and returns the status.
func (s *Stage) trySend(who string, what Envelope) int {
	s.t.Helper()
	body, err := json.Marshal(what)
	if err != nil {
		s.t.Fatalf("say: %v", err)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.Gateway.HTTP()+"/api/spaces/"+StageSpace+"/envelopes", bytes.NewReader(body))
	if err != nil {
		s.t.Fatalf("say: %v", err)
	}
	req.Header.Set("Authorization", "Bearer "+who+"-token")
	resp, err := s.http.Do(req)
	if err != nil {
		s.t.Fatalf("say: %v", err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
