package agent_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// twin runs one of several agents of the participant planner. kill ends its
// connection, so that it can send nothing more.
func twin(t *testing.T, g *meuptest.Gateway, opts agent.Options) (kill, stop func()) {
	t.Helper()
	c := join(t, g, "planner")
	opts.Space, opts.CatchUp, opts.History, opts.OwnToolsOnly = c, intake.CatchUpAuto, g.API(t, "planner"), true
	opts.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	a := agent.New(opts)
	go func() {
		defer close(done)
		_ = a.Run(ctx) // an error of the client that is closed
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return func() { _ = c.Close(); <-done }, stop
}

// countTwins returns the tool calls and the answers of the participant planner.
func countTwins(all []protocol.Envelope, questions map[protocol.ID]int) (calls int) {
	for i := range all {
		env := &all[i]
		switch {
		case env.From != "planner":
		case env.Kind == protocol.KindMCPRequest:
			calls++
		case env.Kind == protocol.KindChat:
			questions[env.Correlation.First()]++
		}
	}
	return calls
}

// Of two processes with one token exactly one calls tools for a question.
func TestTwins_OneSetOfCalls(t *testing.T) {
	const n = 50
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	var ran atomic.Int32
	for range 2 {
		tools := oneTool(t, "count_sheep", func(context.Context) (string, error) { ran.Add(1); return "42", nil })
		twin(t, g, agent.Options{Tools: tools, Planner: once(callOf("count_sheep", `{"query":"x"}`)), MaxQuestions: 8, MaxWaiting: 400})
	}
	idle(t, alice, "planner")
	answers := make(map[protocol.ID]int)
	var questions []protocol.ID
	for range n {
		questions = append(questions, ask(t, alice, "how many sheep?"))
	}
	all := conversation(t, alice, answersTo(questions...))
	all = append(all, idle(t, alice, "planner")...)
	calls := countTwins(all, answers)
	if ran.Load() != n || calls != n {
		t.Errorf("%d questions: %d requests, %d calls", n, calls, ran.Load())
	}
	for _, id := range questions {
		if answers[id] != 1 {
			t.Errorf("%s has %d answers", id, answers[id])
		}
	}
}

// If the process that answers a question ends, the other one takes it over, with
// the calls that were made.
func TestTwins_Takeover(t *testing.T) {
	for _, how := range []string{"killed", "shut down"} {
		t.Run(how, func(t *testing.T) {
			g := meuptest.Start(t, config)
			alice := join(t, g, "alice")
			hanging := make(chan int, 8)
			var end [2]func()
			late := make(chan time.Time)
			for i := range end {
				tools := oneTool(t, "count_sheep", func(ctx context.Context) (string, error) {
					hanging <- i
					<-ctx.Done()
					return "", ctx.Err()
				})
				kill, stop := twin(t, g, agent.Options{Tools: tools, Planner: once(callOf("count_sheep", `{"query":"x"}`)), WatchInterval: 50 * time.Millisecond, After: after(agent.ReplyTime, late)})
				end[i] = kill
				if how == "shut down" {
					end[i] = stop
				}
			}
			idle(t, alice, "planner")
			question := ask(t, alice, "how many sheep?")
			winner := <-hanging
			probes := join(t, g, "planner")
			alive := 0
			for alive < 2 { // the other process probes, and leaves the question to a living one
				env, err := probes.Receive(testkit.Deadline(t))
				if err != nil {
					t.Fatal(err)
				}
				if env.Kind == protocol.KindParticipantStatus && env.From == "planner" && len(env.Correlation.IDs) > 0 {
					alive++
				}
			}
			end[winner]()
			close(late)
			all := conversation(t, alice, answerTo(question))
			answers := make(map[protocol.ID]int)
			if calls := countTwins(all, answers); calls != 1 || answers[question] != 1 || len(hanging) != 0 {
				t.Errorf("%d calls, %d answers\n%s", calls, answers[question], script(all))
			}
			ended := 0
			for i := range all {
				if all[i].From == "planner" && all[i].Kind == protocol.KindReasoningCancel {
					ended++
				}
			}
			starts := 0
			for i := range all {
				if all[i].From == "planner" && all[i].Kind == protocol.KindReasoningStart {
					starts++
				}
			}
			if ended != starts-1 {
				t.Errorf("%d contexts, %d cancelled\n%s", starts, ended, script(all))
			}
		})
	}
}

// A question that many refuse has one refusal.
func TestTwins_OneRefusal(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	tools, hanging, _ := slowTools(t)
	for range 2 {
		twin(t, g, agent.Options{Tools: tools, Planner: once(callOf("search_slowly", `{"query":"x"}`)), MaxQuestions: 1, MaxWaiting: 1})
	}
	idle(t, alice, "planner")
	ask(t, alice, "look slowly")
	<-hanging
	for range 3 {
		ask(t, alice, "look slowly")
	}
	last := ask(t, alice, "look slowly")
	all := conversation(t, alice, answerTo(last))
	for range 2 { // each answers
		receipt, err := alice.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindParticipantRequestStatus, To: []protocol.ParticipantID{"planner"}})
		if err != nil {
			t.Fatal(err)
		}
		replies := 0
		all = append(all, conversation(t, alice, func(env *protocol.Envelope) bool {
			if env.Kind == protocol.KindParticipantStatus && env.Correlation.Names(receipt.ID) {
				replies++
			}
			return replies == 2
		})...)
	}
	if n := answerCount(all, last); n != 1 {
		t.Errorf("%d refusals\n%s", n, script(all))
	}
}

// hosting reports the envelopes that it is given.
type hosting chan protocol.Envelope

func (hosting) Begin(context.Context, *participant.Runtime, []protocol.Envelope) {}
func (h hosting) Handle(env *protocol.Envelope)                                  { h <- *env }
func (hosting) End(context.Context, protocol.Seq)                                {}

// The host of an agent's tools gets the marks of another process, and no other envelope of
// the participant itself.
func TestTwins_Host(t *testing.T) {
	g := meuptest.Start(t, config)
	handled := make(hosting, 10)
	employ(t, g, "planner", agent.Options{Host: handled})
	other := join(t, g, "planner")
	for _, env := range []protocol.Envelope{
		{Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"planner"}, Payload: []byte(`{"id":1,"method":"tools/call","params":{"name":"own"}}`)},
		{Kind: protocol.KindParticipantStatus, To: []protocol.ParticipantID{"planner"}, Payload: []byte(`{"status":"started"}`)},
	} {
		send(t, other, env)
	}
	if env := <-handled; env.Kind != protocol.KindParticipantStatus || string(env.Payload) != `{"status":"started"}` {
		t.Errorf("%s %s", env.Kind, env.Payload)
	}
}

// A process that starts leaves a question to one that works on it: it neither closes its context
// nor counts it as an attempt that ended with its process.
func TestTwins_StartBesideWorking(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	question := ask(t, alice, "how many sheep?")
	interrupted(t, g, question, 2)
	hanging, goOn := make(chan struct{}), make(chan struct{})
	tools := oneTool(t, "count_sheep", func(context.Context) (string, error) { close(hanging); <-goOn; return "42", nil })
	twin(t, g, agent.Options{Tools: tools, Planner: once(callOf("count_sheep", `{"query":"x"}`))})
	<-hanging
	probes := join(t, g, "planner")
	twin(t, g, agent.Options{Planner: deciding(func(context.Context, planner.State) (planner.Decision, error) {
		t.Error("the second process works on the question, too")
		return planner.Decision{Action: contextwindow.Finish, Answer: "43", Conclusion: "43"}, nil
	}), MaxQuestions: 1, After: after(agent.ReplyTime, nil)})
	conversation(t, probes, func(env *protocol.Envelope) bool { // the reply to the probe
		return env.Kind == protocol.KindParticipantStatus && len(env.Correlation.IDs) > 0
	})
	close(goOn)
	all := conversation(t, alice, answerTo(question))
	all = append(all, idle(t, alice, "planner")...)
	cancelled := 0
	for i := range all {
		if all[i].Kind == protocol.KindReasoningCancel {
			cancelled++
		}
	}
	if n := answerCount(all, question); n != 1 || cancelled != 2 { // of the two attempts before
		t.Errorf("%d answers, %d contexts cancelled\n%s", n, cancelled, script(all))
	}
}

// A process that starts while another one is connected that does not work on a question, or
// that it may not ask, answers it.
func TestTwins_StartBesideIdle(t *testing.T) {
	for _, who := range []string{"planner", "critic"} { // critic may not send participant.status
		t.Run(who, func(t *testing.T) {
			g := meuptest.Start(t, config)
			alice, ghost := join(t, g, "alice"), join(t, g, who)
			question := ask(t, alice, "@"+who+" how many sheep?")
			send(t, ghost, protocol.Envelope{ID: "attempt", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo(question), Payload: []byte(`{"message":"…"}`)})
			part := protocol.Envelope{ID: "part", Kind: protocol.KindReasoningStart, Payload: []byte(`{"message":"…","participant_id":"` + who + `"}`), Context: "whole"}
			send(t, alice, protocol.Envelope{ID: "whole", Kind: protocol.KindReasoningStart, Payload: []byte(`{"message":"…"}`)})
			send(t, alice, part)
			employ(t, g, who, agent.Options{CatchUp: intake.CatchUpAuto, OwnToolsOnly: true, After: atOnce(agent.ReplyTime),
				Planner: deciding(func(context.Context, planner.State) (planner.Decision, error) {
					return planner.Decision{Action: contextwindow.Finish, Answer: "42", Conclusion: "42"}, nil
				})})
			closed := map[protocol.ContextPath]bool{}
			answered := false
			conversation(t, alice, func(env *protocol.Envelope) bool {
				if env.Kind == protocol.KindReasoningCancel {
					closed[env.Context] = true
				}
				answered = answered || answerTo(question)(env)
				return answered && closed["attempt"] && closed["whole/part"]
			})
		})
	}
}

// The context that a process left is closed if the question is withdrawn while the others ask
// whether it works on it.
func TestTwins_WithdrawnMeanwhile(t *testing.T) {
	g := meuptest.Start(t, config)
	alice, ghost := join(t, g, "alice"), join(t, g, "planner")
	question := ask(t, alice, "how many sheep?")
	send(t, ghost, protocol.Envelope{ID: "attempt", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo(question), Payload: []byte(`{"message":"…"}`)})
	late := make(chan time.Time)
	employ(t, g, "planner", agent.Options{CatchUp: intake.CatchUpAuto, OwnToolsOnly: true, After: after(agent.ReplyTime, late),
		Planner: deciding(func(context.Context, planner.State) (planner.Decision, error) {
			t.Error("the agent works on the question")
			return planner.Decision{Action: contextwindow.Finish, Answer: "42", Conclusion: "42"}, nil
		})})
	conversation(t, ghost, func(env *protocol.Envelope) bool { return agent.AskedAbout(env) == question })
	send(t, alice, protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(question)})
	close(late)
	conversation(t, alice, func(env *protocol.Envelope) bool {
		return env.Kind == protocol.KindReasoningCancel && env.Context == "attempt"
	})
}
