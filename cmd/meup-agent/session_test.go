package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/reasoner"
	"github.com/meup-protocol/meup/internal/reasoner/httpapi"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// The decisions of a Reasoning API can be queried by the question.
func TestRun_SessionIsTheQuestion(t *testing.T) {
	store := reasoner.NewDecisionLog(reasoner.DecisionLogOptions{Entries: 100, Bytes: 1 << 20, Age: time.Hour})
	service := httptest.NewServer(httpapi.New(httpapi.Options{Service: reasoner.New(reasoner.Options{Record: store.Add}), Logs: store}))
	t.Cleanup(service.Close)
	ctx, alice, p := together(t, meuptest.Start(t, config), "run", "--docs", t.TempDir(), "--reasoner", service.URL)
	var decisions []int
	for _, text := range []string{"@helper what is in the folder?", "@helper hello"} {
		asked := answer(ctx, t, alice, text).Correlation.First()
		decisions = append(decisions, len(recordsOf(t, service.URL, asked)))
	}
	if total := len(recordsOf(t, service.URL, "")); decisions[0] == 0 || decisions[1] == 0 || total != decisions[0]+decisions[1] {
		t.Errorf("%d decisions, of the questions %v\n%s", total, decisions, p.log.String())
	}
}

func recordsOf(t *testing.T, url string, session protocol.ID) []wire.LogRecord {
	t.Helper()
	url += "/reasoning_logs"
	if session != "" {
		url += "?session_id=" + string(session)
	}
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var page struct {
		Records []wire.LogRecord `json:"records"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status, err)
	}
	return page.Records
}
