package webtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// StageSpace is the only space of a stage.
const StageSpace = "lab"

// batch is the number of envelopes per request, the maximum of the gateway.
const batch = 100

// Stage is a gateway with participants.
type Stage struct {
	t       testing.TB
	Gateway *meuptest.Gateway
	http    *http.Client
}

// Envelope is a participant's envelope; the gateway adds the other fields.
type Envelope = map[string]any

// newStage starts a gateway whose space has these participants. Each has all
// capabilities, and its token is its name followed by "-token".
func newStage(t testing.TB, cast ...string) *Stage {
	t.Helper()
	return NewStageWith(t, cast, nil)
}

// NewStageWith starts the same with additional participants, which have the listed
// capabilities.
func NewStageWith(t testing.TB, cast []string, others map[string][]string) *Stage {
	t.Helper()
	return newStageThatDecides(t, cast, others, nil)
}

// newStageThatDecides starts the same with settings of proposals.
func newStageThatDecides(t testing.TB, cast []string, others map[string][]string, proposals map[string]any) *Stage {
	t.Helper()
	participants := make(map[string]any)
	for _, name := range cast {
		participants[name] = map[string]any{"token": name + "-token", "capabilities": []string{"*"}}
	}
	if p, ok := participants["planner"].(map[string]any); ok {
		p["description"] = "Prepares releases."
	}
	for name, may := range others {
		participants[name] = map[string]any{"token": name + "-token", "capabilities": may}
	}
	space := map[string]any{"participants": participants}
	if proposals != nil {
		space["proposals"] = proposals
	}
	// JSON is YAML, for any names.
	config, err := json.Marshal(map[string]any{
		"limits": map[string]any{
			"rate": 1000000, "burst": 1000000, "bytes_per_second": "4GiB", "message_bytes": "2MiB", "connections": 64,
			"open_contexts": 100000, "context_depth": 5,
		},
		"spaces": map[string]any{StageSpace: space},
	})
	if err != nil {
		t.Fatalf("configuration: %v", err)
	}
	transport := &http.Transport{}
	s := &Stage{t: t, http: &http.Client{Transport: transport}}
	t.Cleanup(transport.CloseIdleConnections)
	s.Gateway = meuptest.Start(t, string(config))
	return s
}

// Send sends a participant's envelopes in order. Each must be admitted.
func (s *Stage) Send(who string, what ...Envelope) {
	s.t.Helper()
	for len(what) > 0 {
		n := min(batch, len(what))
		s.post(who, what[:n])
		what = what[n:]
	}
}

func (s *Stage) post(who string, what []Envelope) {
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
	defer resp.Body.Close() //nolint:errcheck // it is read
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("say as %s: %s: %.2000s (%v)", who, resp.Status, answer, err)
	}
}

// Join connects participants to the space until the test ends.
func (s *Stage) Join(who ...string) {
	s.t.Helper()
	for _, name := range who {
		c, err := client.Dial(context.Background(), client.Options{
			URL: "ws://" + s.Gateway.Addr() + "/ws", Space: StageSpace, Token: name + "-token", Discard: true,
		})
		if err != nil {
			s.t.Fatalf("join as %s: %v", name, err)
		}
		s.t.Cleanup(func() { _ = c.Close() })
	}
}

// Enter signs a tab in as a participant and opens the space in it.
func (s *Stage) Enter(tab *Tab, who string) {
	s.t.Helper()
	tab.Open(s.Gateway.HTTP() + "/#code=" + s.Gateway.Gateway().NewLoginCode(who+"-token"))
	tab.Await(entered)
}

// entered is an expression that is true in the page when its user has joined
// the space and the page shows it.
const entered = `document.querySelector("[data-phase=live]") !== null && document.querySelector("meup-composer textarea:not([disabled]), .composer-none") !== null`

// awaitEnvelope waits until the page shows a row with this envelope.
func awaitEnvelope(tab *Tab, id protocol.ID) {
	tab.Await(fmt.Sprintf("document.querySelector('.rows [data-id=%q]') !== null", id))
}

// Chat returns a chat message.
func Chat(id, text string) Envelope {
	return Envelope{"id": id, "kind": "chat", "payload": map[string]any{"message": text}}
}

// Markdown returns a chat message in Markdown.
func Markdown(id, text string) Envelope {
	return Envelope{"id": id, "kind": "chat", "payload": map[string]any{"message": text, "format": "markdown"}}
}

// pause waits while time has to pass in the gateway.
func pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// SendAtRate lets a participant send n envelopes, perSecond on average, in a batch
// per beat. A late batch contains the envelopes of the missed beats.
func (s *Stage) SendAtRate(who string, n, perSecond int, beat time.Duration, what func(int) Envelope) {
	s.t.Helper()
	begun := time.Now()
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for said := 0; said < n; {
		now := <-ticker.C
		due := min(n, int(now.Sub(begun).Seconds()*float64(perSecond)))
		var list []Envelope
		for ; said < due; said++ {
			list = append(list, what(said))
		}
		s.Send(who, list...)
	}
}

// Head returns the seq of the latest envelope that a participant may see.
func (s *Stage) Head(who string) protocol.Seq {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.Gateway.HTTP()+"/api/spaces/"+StageSpace+"/envelopes?order=desc&limit=1", http.NoBody)
	if err != nil {
		s.t.Fatalf("ask for the head: %v", err)
	}
	req.Header.Set("Authorization", "Bearer "+who+"-token")
	resp, err := s.http.Do(req)
	if err != nil {
		s.t.Fatalf("ask for the head: %v", err)
	}
	defer resp.Body.Close() //nolint:errcheck // it is read
	var page struct {
		Envelopes []struct {
			Seq protocol.Seq `json:"seq"`
		} `json:"envelopes"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil || len(page.Envelopes) == 0 {
		s.t.Fatalf("ask for the head: %s (%v)", resp.Status, err)
	}
	return page.Envelopes[0].Seq
}
