package conversation

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

func TestDraft_Unanswered(t *testing.T) {
	reasons := []json.RawMessage{json.RawMessage(`"reasoning/*"`)}
	all := []protocol.Participant{{ID: "alice"}, {ID: "ann", Capabilities: reasons}, {ID: "ben", Capabilities: reasons}}
	const want = "ann, ben are agents; by default each answers only what mentions it (@ann) or is addressed to it (--to ann)"
	for name, test := range map[string]struct {
		draft     Draft
		connected []protocol.Participant
		want      string
	}{
		"begins a thread":                 {Draft{Text: "good morning", Begins: true}, all, want},
		"goes on":                         {Draft{Text: "good morning"}, all, ""},
		"mentions one":                    {Draft{Text: "good morning, @Ben", Begins: true}, all, ""},
		"mentions one with a longer name": {Draft{Text: "good morning, @benny", Begins: true}, all, want},
		"mentions an absent one": {Draft{Text: "@bin, good morning", Begins: true}, all,
			"no participant @bin is connected, and nobody was asked; did you mean @ben?"},
		"mentions an unknown one": {Draft{Text: "@someone, good morning"}, all,
			"no participant @someone is connected, and nobody was asked; if someone is a participant of the space, --to someone reaches it"},
		"mentions an unknown one and an agent": {Draft{Text: "@someone and @ann, good morning"}, all,
			"no participant @someone is connected; if someone is a participant of the space, --to someone reaches it"},
		"mentions a person": {Draft{Text: "@alice, good morning", Begins: true}, all, ""},
		"is addressed":      {Draft{Text: "good morning", To: []protocol.ParticipantID{"alice"}, Begins: true}, all, ""},
		"one agent":         {Draft{Text: "good morning", Begins: true}, all[:2], ""},
		"you are an agent":  {Draft{Text: "good morning", Begins: true}, all[1:], ""},
	} {
		t.Run(name, func(t *testing.T) {
			address := func(id string) string { return "--to " + id }
			you := test.connected[0].ID
			got, unasked := test.draft.Unanswered(you, test.connected, address)
			if text := test.draft.Ambiguous(you, test.connected, address); text != "" {
				got = append(got, text)
			}
			if strings.Join(got, "|") != test.want || unasked != strings.Contains(test.want, "nobody was asked") {
				t.Errorf("%q, nobody was asked: %t; want %q", got, unasked, test.want)
			}
		})
	}
}

// Why no participant may react to a message is shown only if none reacts.
func TestMessages_Silence(t *testing.T) {
	reasons := []json.RawMessage{json.RawMessage(`"reasoning/*"`)}
	const want = "ann, ben are agents; by default each answers only what mentions it (@ann) or is addressed to it (/to ann MESSAGE)."
	for name, test := range map[string]struct {
		reaction string // of the envelope that follows the message
		want     int
	}{
		"none":              {`{"id":"x","from":"ann","kind":"reasoning.start","payload":{},"seq":11}`, 1},
		"an agent begins":   {`{"id":"x","from":"ann","kind":"reasoning.start","correlationId":"own-1","payload":{},"seq":11}`, 0},
		"an agent answers":  {`{"id":"x","from":"ann","kind":"chat","correlationId":"own-1","payload":{"message":"hm"},"seq":11}`, 0},
		"an own correction": {`{"id":"x","from":"alice","kind":"chat","correlationId":"own-1","payload":{"message":"hm"},"seq":11}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC)
			m := New(protocol.Welcome{
				You: protocol.You{ID: "alice"}, Space: protocol.SpaceInfo{Name: "lab", Seq: 10},
				Participants: []protocol.Participant{{ID: "ann", Capabilities: reasons}, {ID: "ben", Capabilities: reasons}},
			}, Options{Now: func() time.Time { return now }, NewID: func() protocol.ID { return "own-1" }})
			m.Apply(Typed{"good morning"})
			m.Apply(Sent{ID: "own-1"})
			m.Apply(Ticked{})
			env, err := protocol.DecodeDelivered([]byte(test.reaction))
			if err != nil {
				t.Fatal(err)
			}
			said := func() (n int) {
				for _, b := range m.scrollback.blocks {
					if b.Kind == NoticeBlock && strings.Join(b.Lines.Left, " ") == want {
						n++
					}
				}
				return n
			}
			if m.Apply(Received{env}); said() != 0 {
				t.Error("the notice is shown before the time is over")
			}
			now = now.Add(Silence)
			m.Apply(Ticked{})
			m.Apply(Ticked{})
			if said() != test.want {
				t.Errorf("the notice is shown %d times, want %d", said(), test.want)
			}
		})
	}
}

// A message to an unknown participant is refused with the name that is meant.
func TestMessages_ToUnknown(t *testing.T) {
	s := newStage(t)
	s.play("> /to giude hello")
	id := s.model.outbox.flight
	s.model.Apply(Sent{ID: id, Err: &protocol.Error{Code: protocol.CodeUnknownParticipant, Message: `This space knows no participant "giude".`}})
	c := s.model.scrollback.chats[id].Chat
	if want := `This space knows no participant "giude". Did you mean guide?`; c.State != Refused || c.Why != want {
		t.Errorf("%q, want %q", c.Why, want)
	}
	for _, b := range s.model.scrollback.blocks {
		if strings.Contains(strings.Join(b.Lines.Left, " "), "when it connects") {
			t.Errorf("%q is said about an unknown participant", b.Lines.Left)
		}
	}
	if s.model.Restore != "/to giude hello" || s.model.ActiveThread() != nil {
		t.Errorf("the prompt is %q, the thread %+v", s.model.Restore, s.model.ActiveThread())
	}
	s.play("> /pause giude")
	s.model.Apply(Sent{ID: "own-2", Err: &protocol.Error{Code: protocol.CodeUnknownParticipant, Message: "No."}})
	if got := s.model.scrollback.blocks[len(s.model.scrollback.blocks)-1].Lines.Left[0]; got != "Request to giude failed: No. Did you mean guide?" {
		t.Errorf("%q", got)
	}
}
