package conversation

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

func TestDraft_Unanswered_SeveralAgents(t *testing.T) {
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
		"is addressed":     {Draft{Text: "good morning", To: []protocol.ParticipantID{"alice"}, Begins: true}, all, ""},
		"one agent":        {Draft{Text: "good morning", Begins: true}, all[:2], ""},
		"you are an agent": {Draft{Text: "good morning", Begins: true}, all[1:], ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.draft.Unanswered(test.connected[0].ID, test.connected, func(id string) string { return "--to " + id })
			if strings.Join(got, "|") != test.want {
				t.Errorf("%q", got)
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
	if s.model.Restore != "/to giude hello" || s.model.ActiveThread() != nil {
		t.Errorf("the prompt is %q, the thread %+v", s.model.Restore, s.model.ActiveThread())
	}
	s.play("> /pause giude")
	s.model.Apply(Sent{ID: "own-2", Err: &protocol.Error{Code: protocol.CodeUnknownParticipant, Message: "No."}})
	if got := s.model.scrollback.blocks[len(s.model.scrollback.blocks)-1].Lines.Left[0]; got != "Request to giude failed: No. Did you mean guide?" {
		t.Errorf("%q", got)
	}
}
