package conversation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// stage is a model with its own clock, in the space lab with guide and bob.
type stage struct {
	t     *testing.T
	model *Model
	done  strings.Builder // effects
	ids   int
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t}
	now := time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC)
	s.model = New(protocol.Welcome{
		You: protocol.You{ID: "alice"}, Space: protocol.SpaceInfo{Name: "lab", Seq: 10},
		Participants: []protocol.Participant{{ID: "guide"}, {ID: "bob"}},
	}, Options{
		Now:   func() time.Time { return now },
		NewID: func() protocol.ID { s.ids++; return protocol.ID(fmt.Sprintf("own-%d", s.ids)) },
	})
	return s
}

// play applies an event: {…} is an envelope, "> TEXT" typed text, and "link
// PHASE" a state of the connection.
func (s *stage) play(line string) {
	s.t.Helper()
	switch word, rest, _ := strings.Cut(line, " "); {
	case word == ">":
		s.model.Apply(Typed{rest})
	case word == "link":
		s.model.Apply(Linked{client.State{Phase: client.Phase(rest)}})
	default:
		env, err := protocol.DecodeDelivered([]byte(line))
		if err != nil {
			s.t.Fatalf("%s: %v", line, err)
		}
		s.model.Apply(Received{env})
	}
	for _, e := range s.model.TakeEffects() {
		switch e := e.(type) {
		case Send:
			text, _ := e.Envelope.MarshalJSON()
			fmt.Fprintf(&s.done, "send %s\n", text)
		case ReadProposal:
			s.model.Apply(ProposalRead{Request: e, Proposal: &api.Proposal{MayDecide: true}})
		case ReadTurn:
			fmt.Fprintf(&s.done, "read the turn of %s, show %t\n", e.Envelope, e.Show)
		}
	}
}
