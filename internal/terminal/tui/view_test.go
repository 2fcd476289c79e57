package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
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

// TestStep_UsesTheWholeWidth checks that a step that fits into a line is not
// broken or cut.
func TestStep_UsesTheWholeWidth(t *testing.T) {
	v := newView(nil, false)
	for _, text := range []string{strings.Repeat("x", 26), strings.Repeat("日", 13)} {
		for _, open := range []bool{true, false} {
			t.Run(fmt.Sprintf("%.3s, open %t", text, open), func(t *testing.T) {
				got := v.step(block.Step{Text: text}, open, 30)
				if len(got) != 1 || cellWidth(got[0]) != 30 || !strings.HasSuffix(got[0], text) {
					t.Errorf("%q", got)
				}
			})
		}
	}
}

// TestPairs_AlignByCells checks that the second column begins in the same cell
// below wide characters.
func TestPairs_AlignByCells(t *testing.T) {
	out := newView(nil, false).own("· ", conversation.Lines{Left: []string{"abcd", "日本"}, Right: []string{"|", "|"}}, 80, func(s ...string) string { return s[0] })
	if a, b := strings.Index(out[0], "|"), strings.Index(out[1], "|"); cellWidth(out[0][:a]) != cellWidth(out[1][:b]) {
		t.Errorf("%q", out)
	}
}

func TestScroll_StaysInPlace(t *testing.T) {
	s := newStage(t, false)
	for i := range 50 {
		s.model.Apply(conversation.Received{Envelope: chatFrom(fmt.Sprintf("m%d", i), "bob", fmt.Sprintf("number %d", i))})
	}
	v := newView(s.model, false)
	shown := func() string { return strings.Join(v.Lines(40, 9), "\n") }
	if got := shown(); !strings.HasSuffix(got, "number 49") {
		t.Fatal(got)
	}
	v.Scroll(40, 9, -20)
	before := shown()
	if v.below != 20 || strings.Contains(before, "number 49") {
		t.Errorf("%d below:\n%s", v.below, before)
	}
	for i := range 1900 {
		s.model.Apply(conversation.Received{Envelope: chatFrom(fmt.Sprintf("n%d", i), "bob", "more")})
	}
	if got := shown(); got != before {
		t.Errorf("it has moved:\n%s\nfrom\n%s", got, before)
	}
	for i := range 200 { // the visible block is evicted
		s.model.Apply(conversation.Received{Envelope: chatFrom(fmt.Sprintf("o%d", i), "bob", "more")})
	}
	if got := shown(); got == "" || strings.Contains(got, "number 4") {
		t.Errorf("it shows\n%s", got)
	}
	v.Scroll(40, 9, -1_000_000)
	shown()
	v.Scroll(40, 9, 1_000_000)
	if got := shown(); v.away || v.below != 0 {
		t.Errorf("the end is not followed:\n%s", got)
	}
}

// A screen that has grown until the end is on it knows each block once, so that Toggle opens the lowest one.
func TestScroll_EndIsOnTheScreen(t *testing.T) {
	s := newStage(t, false)
	for i := range 20 {
		s.model.Apply(conversation.Received{Envelope: chatFrom(fmt.Sprintf("m%d", i), "bob", fmt.Sprintf("number %d", i))})
	}
	v := newView(s.model, false)
	v.Lines(40, 5)
	v.Scroll(40, 5, -5)
	v.Lines(40, 5)
	v.Lines(40, 100)
	if blocks := s.model.Shown(); v.away || !slices.Equal(v.seen, blocks) {
		t.Errorf("%d blocks are seen, of %d; away: %t", len(v.seen), len(blocks), v.away)
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
		s.model.Apply(conversation.Typed{Text: typedText})
		for i, w := range which[:min(len(which), 20)] {
			kind := kinds[int(w)%len(kinds)]
			env := protocol.Envelope{
				ID: protocol.ID(fmt.Sprintf("e%d", i)), From: "guide", Kind: kind, Payload: payload, Seq: 11, TS: s.clock,
				Correlation: protocol.CorrelateTo(protocol.ID(fmt.Sprintf("e%d", int(w)/len(kinds)))),
			}
			if w%2 == 0 && kind != protocol.KindChat {
				env.Context = protocol.ContextPath(fmt.Sprintf("e%d", i/2))
			}
			s.model.Apply(conversation.Received{Envelope: env})
			s.lines.Print()
		}
		s.model.ToggleAll()
		v := newView(s.model, false)
		for _, b := range s.model.Shown() {
			for _, line := range v.block(b, 30) {
				if r, bad := harmful(line); bad || strings.Contains(line, "\n") || cellWidth(line) > 30 {
					t.Fatalf("%q: %U, %d cells", line, r, cellWidth(line))
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
	for i := range 2000 {
		s.model.Apply(conversation.Received{Envelope: chatFrom(fmt.Sprintf("m%d", i), "bob", strings.Repeat("some words ", 30))})
	}
	v := newView(s.model, true)
	for b.Loop() {
		v.Lines(80, 24)
	}
}
