package agent_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// meanwhile is a log to which envelopes are added after each read of its entries.
type meanwhile struct {
	participant.History
	mu   sync.Mutex
	then []func()
}

func (m *meanwhile) add(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.then = append(m.then, f)
}

func (m *meanwhile) Envelopes(ctx context.Context, space string, q api.EnvelopeQuery) (*api.Envelopes, error) {
	page, err := m.History.Envelopes(ctx, space, q)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(q.From) == 0 && len(m.then) > 0 {
		m.then[0]()
		m.then = m.then[1:]
	}
	return page, err
}

// earlierCalls is a planner that reports the calls of earlier attempts at a question.
func earlierCalls(question string, seen chan<- string) agent.Planner {
	return deciding(func(_ context.Context, s planner.State) (planner.Decision, error) {
		if s.Question == question {
			var calls []string
			for _, step := range s.Steps {
				for i, r := range step.Results {
					calls = append(calls, step.Calls[i].Tool+" "+string(r.Outcome))
				}
			}
			seen <- strings.Join(calls, "|")
		}
		return planner.Decision{Action: contextwindow.Finish, Answer: "done", Conclusion: "done"}, nil
	})
}

var (
	proposedErase = protocol.Envelope{ID: "erase", Kind: protocol.KindMCPProposal, Context: "whole", Payload: calls("erase")}
	proposedWipe  = protocol.Envelope{ID: "wipe", Kind: protocol.KindMCPProposal, Context: "whole", Payload: calls("wipe")}
)

// approve makes the call of a proposal.
func approve(proposal protocol.Envelope) protocol.Envelope {
	return protocol.Envelope{
		Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"carol"}, Correlation: protocol.CorrelateTo(proposal.ID), Payload: proposal.Payload,
	}
}

// TestCatchUp_ApprovedMeanwhile checks that the planner gets a call that was approved
// after the log was read and before the proposal was withdrawn. A proposal that another
// process sent meanwhile, in a context that is closed now, is withdrawn, too.
func TestCatchUp_ApprovedMeanwhile(t *testing.T) {
	for name, test := range map[string]struct {
		then      []protocol.Envelope // one after each read
		want      string
		withdrawn []protocol.ID
	}{
		"not approved":                 {nil, "", []protocol.ID{"erase"}},
		"approved":                     {[]protocol.Envelope{approve(proposedErase)}, "erase unknown", nil},
		"proposed late":                {[]protocol.Envelope{proposedWipe}, "", []protocol.ID{"erase", "wipe"}},
		"proposed late, then approved": {[]protocol.Envelope{proposedWipe, approve(proposedWipe)}, "wipe unknown", []protocol.ID{"erase"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := meuptest.Start(t, config)
			alice := join(t, g, "alice")
			question := ask(t, alice, "shall we deploy?")
			leave(t, g, protocol.Envelope{ID: "whole", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo(question)}, proposedErase)
			log := &meanwhile{History: g.API(t, "planner")}
			for _, env := range test.then {
				log.add(func() {
					if env.Kind == protocol.KindMCPProposal {
						leave(t, g, env)
					} else {
						send(t, alice, env)
					}
				})
			}
			seen := make(chan string, 2)
			employ(t, g, "planner", agent.Options{CatchUp: intake.CatchUpAuto, History: log, OwnToolsOnly: true, Planner: earlierCalls("shall we deploy?", seen)})
			all := conversation(t, alice, answerTo(question))
			if got := <-seen; got != test.want {
				t.Errorf("the planner got %q, want %q", got, test.want)
			}
			var withdrawn []protocol.ID
			for i := range all {
				if all[i].Kind == protocol.KindMCPWithdraw {
					withdrawn = append(withdrawn, all[i].Correlation.First())
				}
			}
			if len(withdrawn) != len(test.withdrawn) {
				t.Errorf("withdrawn: %q, want %q\n%s", withdrawn, test.withdrawn, script(all))
			}
			if _, err := alice.Send(testkit.Deadline(t), approve(proposedErase)); err == nil {
				t.Error("the earlier proposal can be approved now")
			}
		})
	}
}

// TestTwins_ApprovedMeanwhile checks the same for a process that takes over the question
// of another one.
func TestTwins_ApprovedMeanwhile(t *testing.T) {
	g := meuptest.Start(t, config)
	alice, ghost := join(t, g, "alice"), join(t, g, "planner")
	busy, seen, late := make(chan struct{}), make(chan string, 2), make(chan time.Time)
	next := earlierCalls("shall we deploy?", seen)
	log := &meanwhile{History: g.API(t, "planner")}
	employ(t, g, "planner", agent.Options{
		CatchUp: intake.CatchUpAuto, History: log, OwnToolsOnly: true, MaxQuestions: 1, WatchInterval: time.Millisecond, After: after(agent.ReplyTime, late),
		Planner: deciding(func(ctx context.Context, s planner.State) (planner.Decision, error) {
			if s.Question == "wait" {
				select {
				case <-busy:
				case <-ctx.Done():
				}
			}
			return next.Next(ctx, s)
		}),
	})
	idle(t, alice, "planner")
	log.add(func() { close(busy); send(t, alice, approve(proposedErase)) })
	ask(t, alice, "wait")
	conversation(t, alice, isKind(protocol.KindReasoningStart))
	question := ask(t, alice, "shall we deploy?") // waits, so that the other process is the first
	send(t, ghost, protocol.Envelope{ID: "whole", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo(question), Payload: []byte(`{"message":"…"}`)})
	send(t, ghost, proposedErase)
	close(late)
	conversation(t, alice, answerTo(question))
	if got := <-seen; got != "erase unknown" {
		t.Errorf("the planner got %q", got)
	}
}
