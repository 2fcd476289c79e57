package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// long is longer than what models write before calls.
var long = strings.Repeat("The gateway listens on port 8080. ", 10)

// carried is a stream as the other participants see it.
type carried struct {
	opened protocol.Envelope
	id     any
	text   string
	closed bool
	reason any
}

// carriedIn returns the streams in an order of envelopes, and checks that the envelopes of
// each have the same context and audience.
func carriedIn(t *testing.T, all []protocol.Envelope) (list []*carried) {
	t.Helper()
	for i := range all {
		env := &all[i]
		if !strings.HasPrefix(string(env.Kind), "stream.") {
			continue
		}
		p := decode(t, env)
		if env.Kind == protocol.KindStreamOpen {
			list = append(list, &carried{opened: *env, id: p["stream_id"]})
			continue
		}
		at := slices.IndexFunc(list, func(s *carried) bool { return s.id == p["stream_id"] })
		if at < 0 {
			t.Fatalf("%s of a stream that is not open\n%s", env.Kind, script(all))
		}
		s := list[at]
		if s.closed || env.Context != s.opened.Context || !slices.Equal(env.To, s.opened.To) {
			t.Errorf("%s in %q to %v; the stream was opened in %q to %v; closed: %t", env.Kind, env.Context, env.To, s.opened.Context, s.opened.To, s.closed)
		}
		if env.Kind == protocol.KindStreamClose {
			s.closed, s.reason = true, p["reason"]
		} else {
			s.text += p["data"].(string)
		}
	}
	return list
}

// shape describes streams: t for a thought, a for the answer, with a minus if it was
// withdrawn, and an ellipsis if it is open.
func shape(list []*carried) string {
	var out []string
	for _, s := range list {
		kind := "t"
		if s.opened.Context == "" {
			kind = "a"
		}
		switch {
		case s.reason == "withdrawn":
			kind = "-" + kind
		case !s.closed:
			kind += "…"
		}
		out = append(out, kind)
	}
	return strings.Join(out, " ")
}

// grows fits the data of a stream beside the contexts.
func grows(env *protocol.Envelope) bool {
	return env.Kind == protocol.KindStreamData && env.Context == ""
}

// thinks fits the data of a stream in a context.
func thinks(env *protocol.Envelope) bool {
	return env.Kind == protocol.KindStreamData && env.Context != ""
}

// puzzled returns a question of alice to an agent that decides by hand, and the state of
// its first decision.
func puzzled(t *testing.T, p planner.Decider, h *handPlanner, to ...protocol.ParticipantID) (alice *client.Client, question protocol.ID, s planner.State) {
	t.Helper()
	g := meuptest.Start(t, mayStream)
	alice = join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Planner: p, Tools: tools(t, handbook), OwnToolsOnly: true})
	question = ask(t, alice, "where does it listen?", to...)
	s = h.state(t)
	s.Asking(true, true)
	return alice, question, s
}

// The text of a response begins as a thought. When it is longer than the thoughts before
// calls, it is the answer from its first word on.
func TestPromoted_Answer(t *testing.T) {
	for name, to := range map[string][]protocol.ParticipantID{"to all": nil, "private": {"planner"}} {
		t.Run(name, func(t *testing.T) {
			h := byHand()
			alice, question, s := puzzled(t, h, h, to...)
			s.Watch(llm.Delta{Text: "It listens. "})
			all := until(t, alice, thinks)
			s.Watch(llm.Delta{Text: long})
			all = append(all, until(t, alice, grows)...)
			s.Watch(llm.Delta{Text: "That is all.\n\nConfidence: 0.9"})
			h.decisions <- finishing("It listens. " + long + "That is all.")
			all = append(all, until(t, alice, answerTo(question))...)
			list := carriedIn(t, all)
			if got := shape(list); got != "-t a" {
				t.Fatalf("streams %q, want a thought that is withdrawn and the answer\n%s", got, script(all))
			}
			chat, said := last(all), decode(t, last(all))
			if said["stream_id"] != list[1].id || said["message"] != list[1].text || !list[1].opened.Correlation.Names(question) {
				t.Errorf("the chat %v does not name the stream %v with %q", said, list[1].id, list[1].text)
			}
			if p := decode(t, &list[0].opened); p["provisional"] != true {
				t.Errorf("the thought begins with %v, which is not marked as provisional", p)
			}
			for _, c := range list {
				if fmt.Sprint(c.opened.To) != fmt.Sprint(chat.To) {
					t.Errorf("a stream goes to %v and the chat to %v", c.opened.To, chat.To)
				}
			}
			if n := strings.Count(script(slices.DeleteFunc(all, func(e protocol.Envelope) bool { return e.Kind != protocol.KindReasoningThought })), "listens"); n > 0 {
				t.Errorf("%d thoughts repeat the answer", n)
			}
		})
	}
}

// A short answer is not known to be one before its end: it grows as a thought, and the chat
// takes its place.
func TestPromoted_ShortIsNot(t *testing.T) {
	h := byHand()
	alice, question, s := puzzled(t, h, h)
	s.Watch(llm.Delta{Text: "On port 8080."})
	all := until(t, alice, thinks)
	h.decisions <- finishing("On port 8080.")
	all = append(all, until(t, alice, answerTo(question))...)
	list := carriedIn(t, all)
	if got := shape(list); got != "t" || decode(t, last(all))["stream_id"] != list[0].id {
		t.Errorf("streams %q, and the chat is %s; want one thought, which it names", got, last(all).Payload)
	}
}

// A text that can only be the answer is shown as the answer from its first word on; one that
// cannot be it, and one with notes, never is.
func TestPromoted_Prospects(t *testing.T) {
	for name, test := range map[string]struct {
		answer, calls bool
		text, want    string
	}{
		"only the answer": {true, false, "On port 8080.", "a"},
		"only a thought":  {false, true, long, "t"},
		"notes":           {true, true, "Observation: it listens.\n" + long, "t"},
	} {
		t.Run(name, func(t *testing.T) {
			h := byHand()
			alice, question, s := puzzled(t, h, h)
			s.Asking(test.answer, test.calls)
			s.Watch(llm.Delta{Text: test.text})
			all := until(t, alice, func(env *protocol.Envelope) bool { return env.Kind == protocol.KindStreamData })
			h.decisions <- finishing(test.text)
			all = append(all, until(t, alice, answerTo(question))...)
			if got := shape(carriedIn(t, all)); got != test.want {
				t.Errorf("streams %q, want %q\n%s", got, test.want, script(all))
			}
		})
	}
}

// If a call follows, the answer is withdrawn, at the latest with the decision, and the
// text is a thought.
func TestPromoted_ThenACall(t *testing.T) {
	for name, announced := range map[string]bool{"as the call begins": true, "with the decision": false} {
		t.Run(name, func(t *testing.T) {
			h := byHand()
			alice, question, s := puzzled(t, h, h)
			s.Watch(llm.Delta{Text: long})
			all := until(t, alice, grows)
			if announced {
				s.Watch(llm.Delta{Kind: llm.CallDelta})
				all = append(all, until(t, alice, isKind(protocol.KindStreamClose))...)
			}
			d := using(callOf("list_allowed_directories", `{}`))
			d.Thought = strings.TrimSpace(long)
			h.decisions <- d
			s = h.state(t)
			s.Asking(true, true)
			s.Watch(llm.Delta{Text: "In short: " + long})
			all = append(all, until(t, alice, grows)...)
			h.decisions <- finishing("In short: " + long)
			all = append(all, until(t, alice, answerTo(question))...)
			list := carriedIn(t, all)
			if got := shape(list); got != "-a a" {
				t.Fatalf("streams %q, want an answer that is withdrawn, and another one\n%s", got, script(all))
			}
			thoughts := 0
			for i := range all {
				if all[i].Kind != protocol.KindReasoningThought {
					continue
				}
				if p := decode(t, &all[i]); p["message"] == strings.TrimSpace(long) && p["stream_id"] == list[0].id {
					thoughts++
				}
			}
			if said := decode(t, last(all)); thoughts != 1 || said["stream_id"] != list[1].id {
				t.Errorf("%d thoughts with the withdrawn text that name its stream, and the chat names %v; want 1, and %v", thoughts, said["stream_id"], list[1].id)
			}
		})
	}
}

// The end of a question ends its answer where it is.
func TestPromoted_Canceled(t *testing.T) {
	h := byHand()
	alice, question, s := puzzled(t, h, h)
	s.Watch(llm.Delta{Text: long})
	all := until(t, alice, grows)
	send(t, alice, protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(question)})
	all = append(all, until(t, alice, isKind(protocol.KindStreamClose))...)
	all = append(all, until(t, alice, isKind(protocol.KindReasoningCancel))...)
	if got := shape(carriedIn(t, all)); got != "a" {
		t.Errorf("streams %q, want the answer, which is closed\n%s", got, script(all))
	}
}

// While remarks wait, a text is no answer: the decision is made again. Remarks that arrive
// after the first word of the answer do not take it back.
func TestPromoted_Remarks(t *testing.T) {
	h := byHand()
	alice, question, s := puzzled(t, h, h)
	s.Watch(llm.Delta{Text: "It listens. "})
	all := until(t, alice, thinks)
	in := last(all).Context
	write(t, alice, protocol.KindReasoningThought, in, "Mind the second port.")
	settled(t, alice, "planner")
	s.Watch(llm.Delta{Text: long})
	h.decisions <- finishing("It listens. " + long)
	s = h.state(t)
	s.Asking(true, true)
	s.Watch(llm.Delta{Text: "Two ports. " + long})
	all = append(all, until(t, alice, grows)...)
	asked := write(t, alice, protocol.KindReasoningQuestion, in, "Is it one port?")
	settled(t, alice, "planner")
	h.decisions <- finishing("Two ports. " + long)
	all = append(all, until(t, alice, answerTo(question))...)
	list := carriedIn(t, all)
	if got := shape(list); got != "t a" || decode(t, last(all))["stream_id"] != list[1].id {
		t.Errorf("streams %q, and the chat is %.80s; want a thought, and the answer, which it names\n%s", got, last(all).Payload, script(all))
	}
	if !slices.ContainsFunc(all, func(e protocol.Envelope) bool {
		return e.Kind == protocol.KindReasoningThought && e.Correlation.Names(asked)
	}) {
		t.Errorf("the question in the reasoning has no reply\n%s", script(all))
	}
}

// breaking fails in place of an empty decision.
type breaking struct{ *handPlanner }

func (b breaking) Next(ctx context.Context, s planner.State) (planner.Decision, error) {
	d, err := b.handPlanner.Next(ctx, s)
	if err == nil && d.Action == "" {
		err = errors.New("cut off")
	}
	return d, err
}

// The answer of a model that breaks off is withdrawn when another decider decides.
func TestPromoted_Fallback(t *testing.T) {
	for name, again := range map[string]bool{"to the rules": false, "to a model": true} {
		t.Run(name, func(t *testing.T) {
			h, other := byHand(), byHand()
			alice, question, s := puzzled(t, planner.WithFallback(breaking{h}, other), h)
			s.Watch(llm.Delta{Text: long})
			all := until(t, alice, grows)
			h.decisions <- planner.Decision{}
			s = other.state(t)
			if again {
				s.Asking(true, true)
				s.Watch(llm.Delta{Text: "Anew: " + long})
				all = append(all, until(t, alice, grows)...)
			}
			other.decisions <- finishing("Anew: " + long)
			all = append(all, until(t, alice, answerTo(question))...)
			said := decode(t, last(all))
			if got := shape(carriedIn(t, all)); !strings.HasPrefix(got, "-a") || strings.Contains(got, "…") || said["message"] != strings.TrimSpace("Anew: "+long) && said["message"] != "Anew: "+long {
				t.Errorf("streams %q, and the chat is %v\n%s", got, said, script(all))
			}
			if id, named := said["stream_id"]; named && id == carriedIn(t, all)[0].id {
				t.Error("the chat names the stream of the model that broke off")
			}
		})
	}
}

// A model whose answer breaks off in the middle is asked again: what was shown of the answer and of
// the thinking is withdrawn, and the chat has the second answer.
func TestPromoted_BrokenOff(t *testing.T) {
	gate := make(chan struct{}, 80)
	for range cap(gate) {
		gate <- struct{}{}
	}
	model := llmtest.Start(t, llmtest.Turns(
		llmtest.Turn{Thinking: "The first port.", Text: long + long, CutAfter: 100, Gate: gate},
		llmtest.Turn{Thinking: "Another port.", Text: "Anew: " + long},
	))
	p, err := planner.Open(planner.Options{ModelName: "vllm:scripted", BaseURL: model.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	g := meuptest.Start(t, mayStream)
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Planner: p, OwnToolsOnly: true, ShowThinking: true})
	question := ask(t, alice, "where does it listen?")
	all := until(t, alice, grows)
	close(gate)
	all = append(all, until(t, alice, answerTo(question))...)
	list, said := carriedIn(t, all), decode(t, last(all))
	if got := shape(list); !strings.Contains(got, "-a") || strings.Contains(got, "…") || said["message"] != strings.TrimSpace("Anew: "+long) {
		t.Errorf("streams %q, and the chat is %v\n%s", got, said, script(all))
	}
	for _, s := range list {
		if strings.Contains(s.text, "first port") && s.reason != protocol.StreamWithdrawn {
			t.Errorf("the thinking of the answer that broke off is not withdrawn: %q closed with %v", s.text, s.reason)
		}
	}
}
