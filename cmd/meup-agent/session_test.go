package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/meuptest"
	"github.com/meup-protocol/meup/internal/reasoner"
	"github.com/meup-protocol/meup/internal/reasoner/decisionlog"
	"github.com/meup-protocol/meup/internal/reasoner/httpapi"
	"github.com/meup-protocol/meup/protocol"
)

// The decisions of a Reasoning API can be queried by the question.
func TestRun_SessionIsTheQuestion(t *testing.T) {
	store := decisionlog.New(decisionlog.Options{Entries: 100, Bytes: 1 << 20, Age: time.Hour})
	service := httptest.NewServer(httpapi.New(httpapi.Options{Service: reasoner.New(reasoner.Options{Record: store.Add}), Logs: store}))
	t.Cleanup(service.Close)
	g := meuptest.Start(t, config)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	alice, err := client.Dial(ctx, client.Options{URL: g.URL("lab"), Token: "alice-token"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = alice.Close() }()
	p := start(t, g, "helper-token", "--docs", t.TempDir(), "--reasoner", service.URL)
	await(ctx, t, alice, func(env *protocol.Envelope) bool {
		return env.Kind == protocol.KindSystemPresence && strings.Contains(string(env.Payload), `"helper"`)
	})
	var decisions []int
	for _, text := range []string{"@helper what is in the folder?", "@helper hello"} {
		asked, err := alice.Send(ctx, client.Chat(text))
		if err != nil {
			t.Fatal(err)
		}
		await(ctx, t, alice, func(env *protocol.Envelope) bool {
			return env.Kind == protocol.KindChat && env.Correlation.Names(asked.ID)
		})
		decisions = append(decisions, len(recordsOf(t, service.URL, asked.ID)))
	}
	if total := len(recordsOf(t, service.URL, "")); decisions[0] == 0 || decisions[1] == 0 || total != decisions[0]+decisions[1] {
		t.Errorf("%d decisions, of the questions %v\n%s", total, decisions, p.log.String())
	}
}

func recordsOf(t *testing.T, url string, session protocol.ID) []wire.LogRecord {
	t.Helper()
	if url += "/reasoning_logs"; session != "" {
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
