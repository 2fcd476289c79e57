package demo

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// stage is a scene without pauses, and its visitor.
type stage struct {
	t    *testing.T
	ctx  context.Context
	dir  string
	you  *client.Client
	seen []protocol.Envelope
}

func start(t *testing.T) *stage {
	t.Helper()
	config := "spaces:\n  demo:\n    visibility: everyone\n    participants:\n      you: {token: you-token, capabilities: [\"*\"]}" + Participants
	tokens := make(map[protocol.ParticipantID]string)
	for _, who := range Cast() {
		tokens[who] = string(who) + "-token"
		t.Setenv("DEMO_"+strings.ToUpper(string(who)), tokens[who])
	}
	g := meuptest.Start(t, config)
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	s := &stage{t: t, ctx: ctx, dir: t.TempDir()}
	scene, err := Start(ctx, Options{
		URL: "ws://" + g.Addr() + "/ws", Space: "demo", Tokens: tokens, Visitor: "you", Dir: s.dir, Planner: rules.Rules{}, Pace: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- scene.Run(ctx) }() // ends with ctx
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	s.you, err = client.Dial(ctx, client.Options{URL: "ws://" + g.Addr() + "/ws", Space: "demo", Token: "you-token"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.you.Close() })
	return s
}

// await receives until an envelope is wanted.
func (s *stage) await(what string, wanted func(*protocol.Envelope) bool) *protocol.Envelope {
	s.t.Helper()
	for {
		e, err := s.you.Receive(s.ctx)
		if err != nil {
			s.t.Fatalf("wait for %s: %v", what, err)
		}
		s.seen = append(s.seen, e)
		if wanted(&e) {
			return &e
		}
	}
}

func (s *stage) proposal() *protocol.Envelope {
	s.t.Helper()
	return s.await("the proposal", func(e *protocol.Envelope) bool { return e.Kind == protocol.KindMCPProposal })
}

// answer returns the text of planner's next answer.
func (s *stage) answer() string {
	s.t.Helper()
	e := s.await("the answer", func(e *protocol.Envelope) bool { return e.Kind == protocol.KindChat && e.From == Planner })
	return e.ParsePayload().Get("message").Text()
}

func (s *stage) send(e protocol.Envelope) {
	s.t.Helper()
	if _, err := s.you.Send(s.ctx, e); err != nil {
		s.t.Fatal(err)
	}
}

// approve makes the proposed call, as the page does.
func (s *stage) approve(p *protocol.Envelope) {
	s.t.Helper()
	var payload map[string]json.RawMessage
	if err := json.Unmarshal(p.Payload, &payload); err != nil {
		s.t.Fatal(err)
	}
	payload["id"] = json.RawMessage(`1`)
	delete(payload, "participant_id")
	body, err := json.Marshal(payload)
	if err != nil {
		s.t.Fatal(err)
	}
	s.send(protocol.Envelope{
		Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{Workspace}, Context: p.Context,
		Correlation: protocol.CorrelateTo(p.ID), Payload: body,
	})
}

func (s *stage) play() (string, error) {
	result, err := s.you.Request(s.ctx, []protocol.ParticipantID{Workspace}, "tools/call", map[string]any{"name": "play_scene", "arguments": map[string]any{}}, client.RequestOptions{})
	return string(result), err
}

// playAgain plays the scene again after its end, which ben may receive later than the
// visitor: until then it counts as being played.
func (s *stage) playAgain() {
	s.t.Helper()
	testkit.Eventually(s.t, "ben plays the scene again", func() bool {
		text, err := s.play()
		if err != nil || !strings.Contains(text, "played again") && !strings.Contains(text, errPlaying.Error()) {
			s.t.Fatalf("not played again: %s, %v", text, err)
		}
		return strings.Contains(text, "played again")
	})
}

func (s *stage) published() []string {
	s.t.Helper()
	found, err := filepath.Glob(filepath.Join(s.dir, "published", "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

func TestScene_Approved(t *testing.T) {
	s := start(t)
	p := s.proposal()
	if files := s.published(); len(files) != 0 {
		t.Errorf("published before the approval: %q", files)
	}
	if text, err := s.play(); err != nil || !strings.Contains(text, errPlaying.Error()) {
		t.Errorf("played while its proposal waits: %s, %v", text, err)
	}
	s.approve(p)
	answer := s.answer()
	for _, want := range []string{"is announced", announcement, "Hardly changed: eu-north 0.0", "play the scene again"} {
		if !strings.Contains(answer, want) {
			t.Errorf("%q is missing in the answer:\n%s", want, answer)
		}
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "published", "2.4.md"))
	if err != nil || strings.TrimSpace(string(text)) != announcement {
		t.Errorf("published %q, %v", text, err)
	}
	s.checkShape()
	s.playAgain()
	s.approve(s.proposal())
	if answer := s.answer(); !strings.Contains(answer, "published/2.4-2.md") {
		t.Errorf("the second time:\n%s", answer)
	}
}

// checkShape checks that the scene shows two agents, calls in parallel and a
// nested context.
func (s *stage) checkShape() {
	s.t.Helper()
	groups, depths := make(map[string]int), make(map[protocol.ParticipantID]int)
	for i := range s.seen {
		e := &s.seen[i]
		if group := e.ParsePayload().Get("parallel_group"); group.Exists() {
			groups[string(e.From)+string(group.Raw())]++
		}
		if e.Context != "" && (e.From == Planner || e.From == Scout) {
			depths[e.From] = max(depths[e.From], e.Context.Depth())
		}
	}
	if groups["planner0"] != 3 || groups["scout0"] != 2 {
		s.t.Errorf("parallel calls: %v", groups)
	}
	if depths[Planner] != 2 || depths[Scout] != 2 {
		s.t.Errorf("depth of the contexts: %v", depths)
	}
}

func TestScene_Rejected(t *testing.T) {
	s := start(t)
	p := s.proposal()
	s.send(protocol.Envelope{Kind: protocol.KindMCPReject, Correlation: protocol.CorrelateTo(p.ID), Payload: []byte(`{"reason":"unsafe"}`)})
	if answer := s.answer(); !strings.Contains(answer, "**not announced**") || !strings.Contains(answer, "rejected by you: unsafe") {
		t.Errorf("the answer:\n%s", answer)
	}
	if files := s.published(); len(files) != 0 {
		t.Errorf("published: %q", files)
	}
}

func TestScene_Stopped(t *testing.T) {
	s := start(t)
	p := s.proposal()
	s.send(protocol.Envelope{Kind: protocol.KindReasoningCancel, Context: p.Context, Payload: []byte(`{"reason":"enough"}`)})
	s.await("the withdrawal", func(e *protocol.Envelope) bool { return e.Kind == protocol.KindMCPWithdraw })
	s.playAgain()
	s.proposal()
}

// TestScene_ToolsGone checks that the agents answer without the participant
// that runs the tools.
func TestScene_ToolsGone(t *testing.T) {
	s := start(t)
	s.approve(s.proposal())
	s.answer()
	s.send(protocol.Envelope{Kind: protocol.KindSpaceKick, Payload: []byte(`{"participant_id":"workspace","reason":"test"}`)})
	s.await("its end", func(e *protocol.Envelope) bool {
		var p protocol.Presence
		return e.Kind == protocol.KindSystemPresence && json.Unmarshal(e.Payload, &p) == nil && p.Event == protocol.PresenceLeave && p.Participant.ID == Workspace
	})
	s.send(client.Chat(question))
	if answer := s.answer(); strings.Contains(answer, "is announced") {
		t.Errorf("the answer:\n%s", answer)
	}
}

func TestNotes_InvalidCalls(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "outside.md"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := openNotes(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer n.root.Close()
	for name, call := range map[string]func() (string, error){
		"missing note":      func() (string, error) { return n.read(t.Context(), readArgs{"nothing.md"}) },
		"outside":           func() (string, error) { return n.read(t.Context(), readArgs{"../outside.md"}) },
		"unknown region":    func() (string, error) { return n.rates(t.Context(), ratesArgs{"../../outside"}) },
		"version as a path": func() (string, error) { return n.publish(t.Context(), publishArgs{"../x", "text"}) },
		"no text":           func() (string, error) { return n.publish(t.Context(), publishArgs{"1", " "}) },
		"long text": func() (string, error) {
			return n.publish(t.Context(), publishArgs{"1", strings.Repeat("x", maxNote+1)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			if text, err := call(); err == nil {
				t.Errorf("no error, but %q", text)
			}
		})
	}
}

func TestAsker_Again_AfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &asker{requests: make(chan chan error)}
	if err := a.again(ctx); !errors.Is(err, errEnded) {
		t.Errorf("again: %v", err)
	}
}

func TestParticipants_AreTheCast(t *testing.T) {
	for _, who := range Cast() {
		if !slices.Contains(strings.Fields(strings.ReplaceAll(Participants, "\n", " ")), string(who)+":") {
			t.Errorf("%s is not configured", who)
		}
	}
}
