package conversation

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/protocol"
)

func chatFrom(id string, from protocol.ParticipantID, text string, answers ...protocol.ID) protocol.Envelope {
	raw, err := json.Marshal(map[string]string{"message": text})
	if err != nil {
		panic(err)
	}
	return protocol.Envelope{
		ID: protocol.ID(id), From: from, Kind: protocol.KindChat, Payload: raw, Seq: 11,
		TS: time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC), Correlation: protocol.Correlation{IDs: answers},
	}
}

// TestMemoryIsBounded checks that the memory of a model stays bounded in a
// space that never ends.
func TestMemoryIsBounded(t *testing.T) {
	s := newStage(t)
	m := s.model
	for i := range 3 * maxKnown {
		m.Apply(Received{chatFrom(fmt.Sprintf("m%d", i), "bob", "x")})
		if i%10 == 0 {
			start := protocol.Envelope{ID: protocol.ID(fmt.Sprintf("s%d", i)), From: "guide", Kind: protocol.KindReasoningStart, Payload: []byte(`{}`)}
			m.Apply(Received{start})
			proposal := protocol.Envelope{ID: protocol.ID(fmt.Sprintf("p%d", i)), From: "guide", Kind: protocol.KindMCPProposal, Context: protocol.ContextPath(start.ID), Payload: []byte(`{"method":"x"}`)}
			m.Apply(Received{proposal})
		}
		m.TakeEffects()
	}
	if n := len(m.scrollback.blocks); n > maxBlocks {
		t.Errorf("%d blocks", n)
	}
	if n := len(m.scrollback.chats); n > maxBlocks {
		t.Errorf("%d chats", n)
	}
	if n := len(m.threads.young) + len(m.threads.old); n > 2*maxKnown {
		t.Errorf("%d envelopes are known", n)
	}
	if n := len(m.reasonings.byPath); n > maxReasonings || n != len(m.reasonings.order) {
		t.Errorf("%d minds, %d in order", n, len(m.reasonings.order))
	}
	if n := len(m.proposals.pending); n > maxProposals {
		t.Errorf("%d proposals", n)
	}
	if n := len(m.proposals.past); n > maxProposals {
		t.Errorf("%d proposals of before", n)
	}
	if n := len(m.contexts.list); n > maxContexts {
		t.Errorf("%d contexts", n)
	}
	if n := len(m.news); n > maxNews {
		t.Errorf("%d news", n)
	}
}

func TestStepsAreBounded(t *testing.T) {
	s := newStage(t)
	s.play(`{"id":"s1","from":"guide","kind":"reasoning.start","payload":{},"seq":11}`)
	for i := range 3 * block.MaxSteps {
		s.play(fmt.Sprintf(`{"id":"t%d","from":"guide","kind":"reasoning.thought","context":"s1","payload":{"message":"%d"},"seq":12}`, i, i))
	}
	for range 200 {
		s.play(fmt.Sprintf(`{"id":"d","from":"guide","kind":"stream.data","context":"s1","payload":{"stream_id":"x","data":"%s"}}`, strings.Repeat("y", 200)))
	}
	d := s.model.reasonings.byPath["s1"].Reasoning
	if len(d.Steps("")) != block.MaxSteps || d.Dropped != 2*block.MaxSteps+1 {
		t.Errorf("%d steps, %d dropped", len(d.Steps("")), d.Dropped)
	}
	if last := d.Steps("")[len(d.Steps(""))-1].Text; len(last) > block.MaxStep {
		t.Errorf("a step of %d bytes", len(last))
	}
}

// An answer that grows beside its context is shown in the block of its reasoning, until the
// complete answer arrives.
func TestAnswerThatGrows(t *testing.T) {
	s := newStage(t)
	for _, line := range []string{
		`{"id":"q","from":"alice","kind":"chat","payload":{"message":"well?"},"seq":11}`,
		`{"id":"s1","from":"guide","kind":"reasoning.start","correlationId":"q","payload":{},"seq":12}`,
		`{"id":"o","from":"guide","kind":"stream.open","correlationId":"q","payload":{"stream_id":"x"},"seq":13}`,
		`{"id":"d1","from":"guide","kind":"stream.data","correlationId":"q","payload":{"stream_id":"x","data":"It is "}}`,
		`{"id":"m","from":"mallory","kind":"stream.data","correlationId":"q","payload":{"stream_id":"x","data":"not "}}`,
		`{"id":"d2","from":"guide","kind":"stream.data","correlationId":"q","payload":{"stream_id":"x","data":"fine."}}`,
	} {
		s.play(line)
	}
	d := s.model.reasonings.byPath["s1"].Reasoning
	if steps := d.Steps(""); len(steps) != 1 || steps[0].Text != "It is fine." {
		t.Errorf("the steps %+v, want the answer as far as it goes", steps)
	}
	s.play(`{"id":"a","from":"guide","kind":"chat","correlationId":"q","payload":{"message":"It is fine.","stream_id":"x"},"seq":14}`)
	if steps := d.Steps(""); len(steps) != 0 || d.State != block.Thought {
		t.Errorf("after the answer the steps are %+v, %v", steps, d.State)
	}
}

// A text that is withdrawn is dropped: a thought that is the beginning of the answer, and an
// answer that is a thought. Only its author withdraws it.
func TestWithdrawnStreams(t *testing.T) {
	for name, of := range map[string]string{"a thought": `"context":"s1"`, "an answer": `"correlationId":"q"`, "an answer whose end correlates to nothing": ``} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			stream := func(from, kind, payload, of string) {
				t.Helper()
				if of != "" {
					of = "," + of
				}
				s.play(fmt.Sprintf(`{"id":"e","from":%q,"kind":%q,"payload":{"stream_id":"x"%s}%s}`, from, kind, payload, of))
			}
			s.play(`{"id":"q","from":"alice","kind":"chat","payload":{"message":"well?"},"seq":11}`)
			s.play(`{"id":"s1","from":"guide","kind":"reasoning.start","correlationId":"q","payload":{},"seq":12}`)
			begun := cmp.Or(of, `"correlationId":"q"`)
			stream("guide", "stream.open", ``, begun)
			stream("guide", "stream.data", `,"data":"It is"`, begun)
			stream("bob", "stream.close", `,"reason":"withdrawn"`, of)
			b := s.model.reasonings.byPath["s1"]
			if steps := b.Reasoning.Steps(""); len(steps) != 1 || steps[0].Text != "It is" {
				t.Errorf("the steps %+v, want the text of the stream", steps)
			}
			before := b.Revision
			stream("guide", "stream.close", `,"reason":"withdrawn"`, of)
			if steps := b.Reasoning.Steps(""); len(steps) != 0 || b.Revision == before || b.Reasoning.State != block.Thinking {
				t.Errorf("the steps %+v, state %v, want none in reasoning that goes on", steps, b.Reasoning.State)
			}
		})
	}
}

func TestTooManyMessages(t *testing.T) {
	s := newStage(t)
	s.play("link waiting")
	for range maxWaiting + 1 {
		s.play("> x")
	}
	if n := len(s.model.Unsent()); n != maxWaiting || s.model.Restore != "x" {
		t.Errorf("%d wait, %q is given back", n, s.model.Restore)
	}
	s.model.Restore = ""
	s.play("> " + strings.Repeat("x", MaxTyped+1))
	if s.model.Restore == "" {
		t.Error("a message that is too long is lost")
	}
}

// TestRequests_TooMany checks that a command beyond the limit is refused with a
// reason, and that a message is still sent.
func TestRequests_TooMany(t *testing.T) {
	s := newStage(t)
	for range maxRequests + 1 {
		s.play("> /grant guide chat")
	}
	s.play("> hello")
	if sent := strings.Count(s.done.String(), `"kind":"capability.grant"`); sent != maxRequests || len(s.model.outbox.asked) != maxRequests {
		t.Errorf("%d were sent, %d are waited for", sent, len(s.model.outbox.asked))
	}
	if !strings.Contains(s.done.String(), `"message":"hello"`) {
		t.Error("the message was not sent")
	}
	refused := 0
	for _, n := range s.model.TakeNews() {
		if n.Block.Kind == ErrorBlock && strings.HasPrefix(n.Block.Lines.Left[0], "Granting failed: too many commands") {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("%d refusals are shown", refused)
	}
}

func TestCompletion(t *testing.T) {
	s := newStage(t)
	s.play(`{"id":"p1","from":"guide","kind":"mcp.proposal","context":"c-1/c-2","payload":{"method":"x"},"seq":11}`)
	for text, want := range map[string]string{
		"/he":            "/help  [/help]",
		"/re":            "/re [/reasoning /reject /restart /resume /revoke]",
		"/nothing":       "/nothing []",
		"hello @g":       "hello @guide  [@guide]",
		"hello gu":       "hello gu []",
		"":               " []",
		"/grant b":       "/grant bob  [bob]",
		"/grant bob c":   "/grant bob c []",
		"/approve ":      "/approve 1  [1]",
		"/pau":           "/pause  [/pause]",
		"/pause g":       "/pause guide  [guide]",
		"/shutdown b":    "/shutdown bob  [bob]",
		"/forget bob n":  "/forget bob newest  [newest]",
		"/clear bob x":   "/clear bob x []",
		"/context c":     "/context c-1/c-2  [c-1/c-2]",
		"/reasoning ":    "/reasoning all  [all]",
		"two\nlines @bo": "two\nlines @bob  [@bob]",
	} {
		t.Run(text, func(t *testing.T) {
			got, options := s.model.Complete(text)
			if got := fmt.Sprintf("%s %v", got, options); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestDecision_TypedAsMessage checks that an answer to a pending proposal that is no command
// is a message, and that the commands are named.
func TestDecision_TypedAsMessage(t *testing.T) {
	s := newStage(t)
	said := func() (n int) {
		for _, x := range s.model.TakeNews() {
			if x.Block.Kind == NoticeBlock && strings.HasPrefix(x.Block.Lines.Left[0], "Sent as a message. /approve 1 ") {
				n++
			}
		}
		return n
	}
	s.play("> y")
	if said() != 0 {
		t.Error("without a proposal")
	}
	s.play(`{"id":"p1","from":"guide","kind":"mcp.proposal","payload":{"method":"tools/call","params":{"name":"x"},"participant_id":"guide","expires_at":"2026-01-02T03:04:05Z"},"seq":11}`)
	s.play("> Yes")
	s.play("> yes, please")
	if said() != 1 || !strings.Contains(s.model.proposals.pending[0].Proposal.Title(), "expires at ") {
		t.Error("after a proposal")
	}
}

// TestProposal_Unread checks that the commands are named if the gateway does not say whether this
// participant may decide, and not before it was asked.
func TestProposal_Unread(t *testing.T) {
	s := newStage(t)
	env, err := protocol.DecodeDelivered([]byte(`{"id":"p1","from":"guide","kind":"mcp.proposal","payload":{"method":"tools/call","params":{"name":"x"},"participant_id":"guide"},"seq":11}`))
	if err != nil {
		t.Fatal(err)
	}
	s.model.Apply(Received{env})
	p := s.model.proposals.pending[0].Proposal
	if hint := p.Hint(); hint != "" {
		t.Errorf("before the answer: %q", hint)
	}
	s.model.Apply(ProposalRead{Request: ReadProposal{ID: "p1", At: 11}, Err: errors.New("away")})
	if hint := p.Hint(); !strings.HasPrefix(hint, "/approve 1 ") {
		t.Errorf("without an answer: %q", hint)
	}
}

// TestProposal_WithoutNumber checks that a decision without a number, which may be meant
// for a proposal that was withdrawn as it was typed, is about no other one.
func TestProposal_WithoutNumber(t *testing.T) {
	now := time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC)
	m := New(protocol.Welcome{You: protocol.You{ID: "alice"}}, Options{Now: func() time.Time { return now }})
	receive := func(e protocol.Envelope) { m.Apply(Received{e}) }
	propose := func(id protocol.ID) {
		receive(protocol.Envelope{ID: id, From: "guide", Kind: protocol.KindMCPProposal, Payload: []byte(`{"method":"m","participant_id":"guide"}`)})
	}
	propose("p1")
	if b, sentence := m.proposals.choose("", now); b == nil {
		t.Fatalf("the only proposal is not found: %s", sentence)
	}
	receive(protocol.Envelope{ID: "w", From: "guide", Kind: protocol.KindMCPWithdraw, Correlation: protocol.CorrelateTo("p1"), Payload: []byte(`{"reason":"no_longer_needed"}`)})
	propose("p2")
	if b, sentence := m.proposals.choose("", now); b != nil || sentence != "Another proposal ended a moment ago: name the one that you mean, 2." {
		t.Errorf("found %v: %q, want a request for the number", b, sentence)
	}
	if b, sentence := m.proposals.choose("2", now); b == nil {
		t.Errorf("the named proposal is not found: %s", sentence)
	}
	now = now.Add(ambiguous)
	if b, sentence := m.proposals.choose("", now); b == nil {
		t.Errorf("the only proposal is not found later: %s", sentence)
	}
}

// TestProposal_Expires checks that proposals expire without an envelope, by the gateway's
// clock.
func TestProposal_Expires(t *testing.T) {
	now := time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC)
	m := New(protocol.Welcome{You: protocol.You{ID: "alice"}, Clock: time.Hour}, Options{Now: func() time.Time { return now }})
	for id, end := range map[protocol.ID]string{"p1": "2026-11-20T10:15:00Z", "p2": "2026-11-20T10:16:00Z"} {
		payload := fmt.Sprintf(`{"method":"tools/call","params":{"name":"x"},"participant_id":"guide","expires_at":%q}`, end)
		m.Apply(Received{protocol.Envelope{ID: id, From: "guide", Kind: protocol.KindMCPProposal, Payload: []byte(payload)}})
	}
	m.Apply(Ticked{})
	if p := m.proposals.pending; len(p) != 1 || p[0].Proposal.env.ID != "p2" || !m.Busy() {
		t.Fatalf("%d proposals are pending", len(p))
	}
	if _, sentence := m.proposals.choose("p1", now); !strings.HasSuffix(sentence, " is not pending: expired: no decision in time.") {
		t.Error(sentence)
	}
	now = now.Add(time.Minute)
	m.Apply(Ticked{})
	if m.PendingProposals() != 0 || m.Busy() {
		t.Error("the other one is pending")
	}
}

// TestTurns_ReadForNewAnswers checks that reasoning is read for every new answer,
// regardless of who asked, and for no replayed one; without a result nothing is
// shown.
func TestTurns_ReadForNewAnswers(t *testing.T) {
	const question = `{"id":"q","from":"bob","kind":"chat","payload":{"message":"?"},"seq":%d}`
	const start = `{"id":"s1","from":"guide","kind":"reasoning.start","correlationId":"q","payload":{},"seq":%d}`
	const thought = `{"id":"t1","from":"guide","kind":"reasoning.thought","context":"s1","payload":{"message":"hm"},"seq":%d}`
	const answer = `{"id":"a","from":"guide","kind":"chat","correlationId":"q","payload":{"message":"!"},"seq":%d}`
	const remark = `{"id":"r","from":"bob","kind":"chat","correlationId":"q","payload":{"message":"?"},"seq":%d}`
	const cancel = `{"id":"c","from":"guide","kind":"reasoning.cancel","context":"s1","payload":{},"seq":%d}`
	for name, c := range map[string]struct {
		first  int // the head of the log was 10 at the time of connecting
		script []string
		want   string
	}{
		"now":              {11, []string{question, start, thought, answer}, "read the turn of a, show true\n"},
		"of before":        {1, []string{question, start, thought, answer}, ""},
		"began before":     {8, []string{question, start, thought, answer}, "read the turn of a, show true\n"},
		"began unseen":     {11, []string{thought, answer}, "read the turn of a, show true\n"},
		"talk":             {11, []string{question, remark, start, thought, remark}, ""},
		"without thinking": {11, []string{question, answer}, ""},
		"given up":         {11, []string{question, start, thought, cancel, answer}, "read the turn of s1, show true\n"},
		"given up before":  {1, []string{question, start, thought, cancel}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			for i, line := range c.script {
				s.play(fmt.Sprintf(line, c.first+i))
			}
			if got := s.done.String(); got != c.want {
				t.Error(got)
			}
		})
	}
	s := newStage(t)
	before := len(s.model.scrollback.blocks)
	failed := TurnRead{Request: ReadTurn{Envelope: "a", Agent: "guide", Show: true}, Err: errors.New("busy")}
	s.model.Apply(failed)
	if len(s.model.scrollback.blocks) != before {
		t.Error("what others say among themselves fails aloud")
	}
	failed.Request.Mine = true
	s.model.Apply(failed)
	if len(s.model.scrollback.blocks) == before {
		t.Error("what answers me fails silently")
	}
}

// A participant that a message is addressed to, or mentions at its beginning, and that is not
// connected, is named.
func TestMessages_ToAbsent(t *testing.T) {
	for typed, want := range map[string]string{
		"@nobody hello":       "no participant @nobody is connected, and nobody was asked; if nobody is a participant of the space, /to nobody MESSAGE reaches it.",
		"@giude hello":        "no participant @giude is connected, and nobody was asked; did you mean @guide?",
		"/to dora,bob hello":  "dora is not connected; it finds the message in the history when it connects.",
		"/to giude hello":     "giude is not connected; unless you mean guide, it finds the message in the history when it connects.",
		"/to bob @dora hello": "",
		"@Guide hello":        "",
		"hello @nobody":       "",
	} {
		t.Run(typed, func(t *testing.T) {
			s := newStage(t)
			s.play("> " + typed)
			s.model.Apply(Sent{ID: "own-1"})
			var notices []string
			for _, b := range s.model.scrollback.blocks {
				if b.Kind == NoticeBlock {
					notices = append(notices, b.Lines.Left...)
				}
			}
			said := strings.Join(notices, "\n")
			if strings.Count(said, " connected") != min(1, len(want)) || !strings.Contains(said, want) {
				t.Errorf("the notices are %q", notices)
			}
		})
	}
}

// The list of participants says what they do, each in a line.
func TestParticipantsRead(t *testing.T) {
	s := newStage(t)
	s.model.Apply(ParticipantsRead{Participants: []protocol.Participant{
		{ID: "alice"}, {ID: "guide", Description: "Answers\n  mallory: \x1b[31mquestions."},
	}})
	if got := s.shown(); !strings.HasSuffix(got, "alice (you): nothing\n  guide: nothing\n    Answers mallory: questions.\n") {
		t.Errorf("%q", got)
	}
}

// TestApproveFor checks that the grant of an approval for a time follows it once it was admitted, and
// that nothing is sent if there is nothing to grant.
func TestApproveFor(t *testing.T) {
	similar := api.Scope{ID: "similar", Title: "`ls` with any arguments", Capability: []byte(`"mcp.request"`)}
	for name, c := range map[string]struct {
		typed  string
		scopes []api.Scope
		err    error
		sent   []error // the answers to what is sent
		effect string
		notes  string
	}{
		"granted": {
			typed: "/approve 1 for 10m", scopes: []api.Scope{{ID: "same"}, similar, {ID: "any"}}, sent: []error{nil, nil},
			effect: `mcp.request capability.grant{"recipient":"guide","capabilities":["mcp.request"],"ttl_seconds":600,"reason":"with the approval of p1"}`,
			notes:  "guide needs no approval for this, for 10 minutes: `ls` with any arguments. /revoke guide ends it.",
		},
		"the same": {
			typed: "/approve p1 guide for 90", scopes: []api.Scope{{ID: "same", Title: "exactly this command", Capability: []byte(`"x.a"`)}}, sent: []error{nil, nil},
			effect: `mcp.request capability.grant{"recipient":"guide","capabilities":["x.a"],"ttl_seconds":90,"reason":"with the approval of p1"}`,
			notes:  "guide needs no approval for this, for 1 minute 30 seconds: exactly this command. /revoke guide ends it.",
		},
		"approval refused": {typed: "/approve for 1h", scopes: []api.Scope{similar}, sent: []error{errors.New("late")}, effect: "mcp.request", notes: "Approving proposal 1 failed: late."},
		"grant refused": {
			typed: "/approve 1 for 1h", scopes: []api.Scope{similar}, sent: []error{nil, errors.New("no")},
			effect: `mcp.request capability.grant{"recipient":"guide","capabilities":["mcp.request"],"ttl_seconds":3600,"reason":"with the approval of p1"}`,
			notes:  "Approved once: the grant failed: no.",
		},
		"nothing to grant": {typed: "/approve 1 for 1h", scopes: []api.Scope{{ID: "any"}}, notes: "You cannot grant calls like this one. /approve 1 approves it alone."},
		"not read":         {typed: "/approve 1 for 1h", err: errors.New("away"), notes: "Could not read what may be granted: away."},
		"no time":          {typed: "/approve 1 for ever", notes: "Usage: /approve [N|ID] [HOST] [for TIME], for example /approve 1 for 10m."},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.play(`{"id":"p1","from":"guide","kind":"mcp.proposal","payload":{"method":"tools/call","params":{"name":"x"},"participant_id":"guide"},"seq":11}`)
			s.model.TakeNews()
			s.model.Apply(Typed{c.typed})
			effects, sent := s.model.TakeEffects(), ""
			for answers := c.sent; len(effects) > 0; {
				switch e := effects[0].(type) {
				case ReadScopes:
					s.model.Apply(ScopesRead{Request: e, Scopes: c.scopes, Err: c.err})
				case Send:
					sent += " " + string(e.Envelope.Kind)
					if e.Envelope.Kind == protocol.KindCapabilityGrant {
						sent += string(e.Envelope.Payload)
					}
					s.model.Apply(Sent{ID: e.Envelope.ID, Err: answers[0]})
					answers = answers[1:]
				}
				effects = append(effects[1:], s.model.TakeEffects()...)
			}
			var notes []string
			for _, x := range s.model.TakeNews() {
				if x.Block.Kind == NoticeBlock || x.Block.Kind == ErrorBlock {
					notes = append(notes, x.Block.Lines.Left...)
				}
			}
			if strings.TrimSpace(sent) != c.effect || !slices.Contains(notes, c.notes) {
				t.Errorf("sent %q, notes %q", sent, notes)
			}
		})
	}
}
