package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/reasoner"
)

// serveLogs serves with records of decisions.
func serveLogs(t *testing.T, tokens ...string) *testServer {
	t.Helper()
	store := reasoner.NewDecisionLog(reasoner.DecisionLogOptions{Entries: 100, Bytes: 1 << 20, Age: time.Hour})
	return serve(t, Options{
		Service: reasoner.New(reasoner.Options{Record: store.Add}), Logs: store, Tokens: tokens, Version: "1.2.3",
		Diagnostics: Diagnostics{Started: time.Now(), Configuration: map[string]any{"model": "m"}},
	})
}

func (a *testServer) page(t *testing.T, query string) wire.LogPage {
	t.Helper()
	resp, body := a.ask(t, "GET", "/reasoning_logs"+query, "", "Content-Type: ")
	var page wire.LogPage
	if err := json.Unmarshal([]byte(body), &page); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	checkSchema(t, "reasoning_logs.response", page)
	return page
}

// TestReasoningLogs: decisions can be queried, in pages.
func TestReasoningLogs(t *testing.T) {
	a := serveLogs(t)
	began := time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
	var ids []string
	for _, session := range []string{"s1", "s2", "s1"} {
		_, body := a.ask(t, "POST", "/agent_intent", strings.Replace(example, `"s1"`, `"`+session+`","correlation_id":"c-`+session+`"`, 1))
		var out wire.AgentIntentResponse
		if err := json.Unmarshal([]byte(body), &out); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, out.IntentID)
	}
	for query, want := range map[string]int{
		"": 3, "?session_id=s1": 2, "?intent_id=" + ids[1]: 1, "?correlation_id=c-s2": 1, "?since=" + began: 3, "?until=" + began: 0, "?session_id=s3": 0, "?limit=2": 2,
	} {
		if page := a.page(t, query); len(page.Records) != want || (page.NextCursor != "") != (query == "?limit=2") {
			t.Errorf("%s: %+v", query, page)
		}
	}
	first := a.page(t, "?limit=2")
	second := a.page(t, "?limit=2&cursor="+first.NextCursor)
	if len(second.Records) != 1 || second.Records[0].IntentID != ids[0] || first.Records[0].IntentID != ids[2] {
		t.Errorf("%+v %+v", first, second)
	}
	_, body := a.ask(t, "GET", "/reasoning_diagnostics?session_id=s1", "", "Content-Type: ")
	var d wire.Diagnostics
	if err := json.Unmarshal([]byte(body), &d); err != nil || d.Decisions.Count != 2 || d.Log.Entries != 3 || d.Configuration["model"] != "m" || d.Queue != nil {
		t.Errorf("%s", body)
	}
	checkSchema(t, "reasoning_diagnostics.response", d)
}

// TestReasoningLogs_Refused: the routes need a token like the rest, and reject
// unknown parameters.
func TestReasoningLogs_Refused(t *testing.T) {
	a := serveLogs(t, "token")
	for _, path := range []string{"/reasoning_logs", "/reasoning_diagnostics"} {
		if resp, _ := a.ask(t, "GET", path, ""); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
		if resp, _ := a.ask(t, "POST", path, "{}", "Authorization: Bearer token"); resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	for _, query := range []string{
		"?session=s", "?limit=0", "?limit=1001", "?limit=x", "?cursor=-1", "?cursor=x", "?since=yesterday", "?until=1", "?limit=1&limit=2", "?session_id=", "?%zz",
	} {
		if resp, body := a.ask(t, "GET", "/reasoning_logs"+query, "", "Authorization: Bearer token"); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "invalid_request") {
			t.Errorf("%s: %d %s", query, resp.StatusCode, body)
		}
	}
	if resp, _ := a.ask(t, "GET", "/reasoning_diagnostics?limit=1", "", "Authorization: Bearer token"); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("%d", resp.StatusCode)
	}
}

// TestObserver: without a service there are only the endpoints with GET.
func TestObserver(t *testing.T) {
	a := &testServer{}
	store := reasoner.NewDecisionLog(reasoner.DecisionLogOptions{Entries: 100, Bytes: 1 << 20, Age: time.Hour})
	a.Server = httptest.NewServer(New(Options{Logs: store}))
	t.Cleanup(a.Close)
	for path, want := range map[string]int{"/healthz": 200, "/reasoning_logs": 200, "/reasoning_diagnostics": 200, "/agent_intent": 404} {
		if resp, _ := a.ask(t, "GET", path, "", "Content-Type: "); resp.StatusCode != want {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

// TestReasoningLogs_Bounded: queries count as concurrent requests.
func TestReasoningLogs_Bounded(t *testing.T) {
	store := reasoner.NewDecisionLog(reasoner.DecisionLogOptions{Entries: 100, Bytes: 1 << 20, Age: time.Hour})
	h, ok := New(Options{Logs: store, MaxConcurrent: 1}).(*handler)
	if !ok || !h.slots.TryAcquire(1) {
		t.Fatal("no slot")
	}
	a := &testServer{Server: httptest.NewServer(h)}
	t.Cleanup(a.Close)
	if resp, body := a.ask(t, "GET", "/reasoning_logs", "", "Content-Type: "); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	h.slots.Release(1)
	if resp, body := a.ask(t, "GET", "/reasoning_logs", "", "Content-Type: "); resp.StatusCode != http.StatusOK {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
