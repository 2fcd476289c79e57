package tui

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

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
	s := newStage(t, false)
	m := s.model
	for i := range 3 * maxKnown {
		m.apply(received{chatFrom(fmt.Sprintf("m%d", i), "bob", "x")})
		if i%10 == 0 {
			start := protocol.Envelope{ID: protocol.ID(fmt.Sprintf("s%d", i)), From: "guide", Kind: protocol.KindReasoningStart, Payload: []byte(`{}`)}
			m.apply(received{start})
			proposal := protocol.Envelope{ID: protocol.ID(fmt.Sprintf("p%d", i)), From: "guide", Kind: protocol.KindMCPProposal, Context: protocol.ContextPath(start.ID), Payload: []byte(`{"method":"x"}`)}
			m.apply(received{proposal})
		}
		m.takeEffects()
	}
	if n := len(m.scroll.blocks); n > maxBlocks {
		t.Errorf("%d blocks", n)
	}
	if n := len(m.scroll.chats); n > maxBlocks {
		t.Errorf("%d chats", n)
	}
	if n := len(m.threads.young) + len(m.threads.old); n > 2*maxKnown {
		t.Errorf("%d envelopes are known", n)
	}
	if n := len(m.reasonings.byPath); n > maxReasonings || n != len(m.reasonings.order) {
		t.Errorf("%d minds, %d in order", n, len(m.reasonings.order))
	}
	if n := len(m.work.pending); n > maxProposals {
		t.Errorf("%d proposals", n)
	}
	if n := len(m.work.past); n > maxProposals {
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
	s := newStage(t, false)
	s.step(`{"id":"s1","from":"guide","kind":"reasoning.start","payload":{},"seq":11}`)
	for i := range 3 * maxSteps {
		s.step(fmt.Sprintf(`{"id":"t%d","from":"guide","kind":"reasoning.thought","context":"s1","payload":{"message":"%d"},"seq":12}`, i, i))
	}
	for range 200 {
		s.step(fmt.Sprintf(`{"id":"d","from":"guide","kind":"stream.data","context":"s1","payload":{"stream_id":"x","data":"%s"}}`, strings.Repeat("y", 200)))
	}
	d := s.model.reasonings.byPath["s1"].reasoning
	if len(d.steps) != maxSteps || d.dropped != 2*maxSteps+1 {
		t.Errorf("%d steps, %d dropped", len(d.steps), d.dropped)
	}
	if last := d.steps[len(d.steps)-1].text; len(last) > maxStep {
		t.Errorf("a step of %d bytes", len(last))
	}
}

func TestTooManyMessages(t *testing.T) {
	s := newStage(t, false)
	s.step("link waiting")
	for range maxWaiting + 1 {
		s.step("> x")
	}
	if n := s.model.outbox.unsent(); n != maxWaiting || s.model.restore != "x" {
		t.Errorf("%d wait, %q is given back", n, s.model.restore)
	}
	s.model.restore = ""
	s.step("> " + strings.Repeat("x", maxTyped+1))
	if s.model.restore == "" {
		t.Error("a message that is too long is lost")
	}
}

// TestRequests_TooMany checks that a command beyond the limit is refused with a
// reason, and that a message is still sent.
func TestRequests_TooMany(t *testing.T) {
	s := newStage(t, false)
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
	if got := s.plain.String(); strings.Count(got, "Granting did not work: too many commands wait") != 1 {
		t.Error(got)
	}
}

// TestStep_UsesTheWholeWidth checks that a step that fits into a line is not
// broken or cut.
func TestStep_UsesTheWholeWidth(t *testing.T) {
	v := newView(false)
	for _, text := range []string{strings.Repeat("x", 26), strings.Repeat("日", 13)} {
		for _, open := range []bool{true, false} {
			t.Run(fmt.Sprintf("%.3s, open %t", text, open), func(t *testing.T) {
				got := v.step(step{text: text}, open, 30)
				if len(got) != 1 || width(got[0]) != 30 || !strings.HasSuffix(got[0], text) {
					t.Errorf("%q", got)
				}
			})
		}
	}
}

// TestPairs_AlignByCells checks that the second column begins in the same cell
// below wide characters.
func TestPairs_AlignByCells(t *testing.T) {
	out := newView(false).own("· ", lines{left: []string{"abcd", "日本"}, right: []string{"|", "|"}}, 80, func(s ...string) string { return s[0] })
	if a, b := strings.Index(out[0], "|"), strings.Index(out[1], "|"); width(out[0][:a]) != width(out[1][:b]) {
		t.Errorf("%q", out)
	}
}

func TestCompletion(t *testing.T) {
	s := newStage(t, false)
	s.step(`{"id":"p1","from":"guide","kind":"mcp.proposal","context":"c-1/c-2","payload":{"method":"x"},"seq":11}`)
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
		got, options := s.model.complete(text)
		if got := fmt.Sprintf("%s %v", got, options); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestScroll_StaysInPlace(t *testing.T) {
	s := newStage(t, false)
	for i := range 50 {
		s.model.apply(received{chatFrom(fmt.Sprintf("m%d", i), "bob", fmt.Sprintf("number %d", i))})
	}
	v, p := newView(false), page{}
	shown := func() string { return strings.Join(p.lines(v, s.model, 40, 9), "\n") }
	if got := shown(); !strings.HasSuffix(got, "number 49") {
		t.Fatal(got)
	}
	p.scroll(v, s.model, 40, 9, -20)
	before := shown()
	if p.below != 20 || strings.Contains(before, "number 49") {
		t.Errorf("%d below:\n%s", p.below, before)
	}
	for i := range maxBlocks - 100 {
		s.model.apply(received{chatFrom(fmt.Sprintf("n%d", i), "bob", "more")})
	}
	if got := shown(); got != before {
		t.Errorf("it has moved:\n%s\nfrom\n%s", got, before)
	}
	for i := range 200 { // the visible block is evicted
		s.model.apply(received{chatFrom(fmt.Sprintf("o%d", i), "bob", "more")})
	}
	if got := shown(); got == "" || strings.Contains(got, "number 4") {
		t.Errorf("it shows\n%s", got)
	}
	p.scroll(v, s.model, 40, 9, -1_000_000)
	shown()
	p.scroll(v, s.model, 40, 9, 1_000_000)
	if got := shown(); p.away || p.below != 0 {
		t.Errorf("the end is not followed:\n%s", got)
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
		s := newStage(t, false)
		for i, line := range c.script {
			s.play(fmt.Sprintf(line, c.first+i))
		}
		if got := s.done.String(); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	s := newStage(t, false)
	before := len(s.model.scroll.blocks)
	failed := turnRead{asked: readTurn{envelope: "a", agent: "guide", show: true}, err: errTooManyReads}
	s.model.apply(failed)
	if len(s.model.scroll.blocks) != before {
		t.Error("what others say among themselves fails aloud")
	}
	failed.asked.mine = true
	s.model.apply(failed)
	if len(s.model.scroll.blocks) == before {
		t.Error("what answers me fails silently")
	}
}

// FuzzModel checks that the model accepts any input from the space, and that
// its output is harmless and fits the width.
func FuzzModel(f *testing.F) {
	kinds := []protocol.Kind{
		protocol.KindChat, protocol.KindChatCancel, protocol.KindMCPRequest, protocol.KindMCPResponse, protocol.KindMCPProposal,
		protocol.KindMCPReject, protocol.KindMCPWithdraw, protocol.KindReasoningStart, protocol.KindReasoningThought,
		protocol.KindReasoningQuestion, protocol.KindReasoningConclusion, protocol.KindReasoningCancel, protocol.KindCapabilityGrant,
		protocol.KindSpaceKick, protocol.KindParticipantPause, protocol.KindStreamOpen, protocol.KindStreamData, protocol.KindStreamClose,
		protocol.KindSystemWelcome, protocol.KindSystemPresence,
	}
	f.Add([]byte{0, 1, 2}, []byte(`{"message":"x\u001b[31m","format":"markdown"}`), "a b")
	f.Add([]byte{7, 8, 16, 10}, []byte(`{"stream_id":"s","data":"x","message":"y","questions":[{}]}`), "c")
	f.Add([]byte{4, 5}, []byte(`{"method":"tools/call","params":{"name":"\u202e"},"reason":"\r\n"}`), "d")
	f.Add([]byte{0, 7, 8}, []byte(`{"message":"❤\ufe0f❤\ufe0f❤\ufe0f❤\ufe0f❤\ufe0f❤\ufe0f❤\ufe0f❤\ufe0f❤\ufe0f❤\ufe0f❤\ufe0f❤\ufe0f❤\ufe0f❤\ufe0f❤\ufe0f❤\ufe0f❤\ufe0f❤\ufe0f"}`), "f")
	f.Add([]byte{18, 19}, []byte(`{"participants":[{"id":"x"}],"event":"join","participant":{"id":"\u001b"}}`), "e")
	f.Fuzz(func(t *testing.T, which, payload []byte, typedText string) {
		s := newStage(t, false)
		s.model.apply(typed{typedText})
		for i, w := range which[:min(len(which), 20)] {
			kind := kinds[int(w)%len(kinds)]
			env := protocol.Envelope{
				ID: protocol.ID(fmt.Sprintf("e%d", i)), From: "guide", Kind: kind, Payload: payload, Seq: 11, TS: s.clock,
				Correlation: protocol.CorrelateTo(protocol.ID(fmt.Sprintf("e%d", int(w)/len(kinds)))),
			}
			if w%2 == 0 && kind != protocol.KindChat {
				env.Context = protocol.ContextPath(fmt.Sprintf("e%d", i/2))
			}
			s.model.apply(received{env})
			s.lines.printNews()
		}
		s.model.toggleAll()
		v := newView(false)
		for _, b := range s.model.shown() {
			for _, line := range v.lines(s.model, b, 30) {
				if r, bad := harmful(line); bad || strings.Contains(line, "\n") || width(line) > 30 {
					t.Fatalf("%q: %U, %d cells", line, r, width(line))
				}
			}
		}
		if r, bad := harmful(s.plain.String()); bad {
			t.Fatalf("plain lines: %U in %q", r, s.plain.String())
		}
	})
}

func BenchmarkScreenOfAFullScrollback(b *testing.B) {
	s := newStage(nil, false)
	for i := range maxBlocks {
		s.model.apply(received{chatFrom(fmt.Sprintf("m%d", i), "bob", strings.Repeat("some words ", 30))})
	}
	v, p := newView(true), page{}
	for b.Loop() {
		p.lines(v, s.model, 80, 24)
	}
}
