package agent_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// overheard is a space that records the stream envelopes that an agent sends.
type overheard struct {
	*client.Client
	opened chan struct{} // notified of every stream.open

	mu    sync.Mutex
	kinds []protocol.Kind
}

// SendAsync records and sends.
func (o *overheard) SendAsync(ctx context.Context, env protocol.Envelope) (*client.Pending, error) {
	if strings.HasPrefix(string(env.Kind), "stream") {
		o.mu.Lock()
		o.kinds = append(o.kinds, env.Kind)
		o.mu.Unlock()
	}
	pending, err := o.Client.SendAsync(ctx, env)
	if env.Kind == protocol.KindStreamOpen {
		o.opened <- struct{}{}
	}
	return pending, err
}

// growingIn runs an agent whose model sends some chunks, the first until its
// stream is about to open. It returns the answer and all other text that alice
// received.
func growingIn(t *testing.T, config string, pieces ...string) (o *overheard, answer *protocol.Envelope, grown string) {
	t.Helper()
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	o = &overheard{Client: join(t, g, "planner"), opened: make(chan struct{}, 16)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	a := agent.New(agent.Options{Space: o, OwnToolsOnly: true, Planner: deciding(func(ctx context.Context, s planner.State) (planner.Decision, error) {
		s.Watch(llm.Delta{Text: pieces[0]})
		select {
		case <-o.opened:
		case <-ctx.Done():
			return planner.Decision{}, ctx.Err()
		}
		for _, piece := range pieces[1:] {
			s.Watch(llm.Delta{Text: piece})
		}
		return planner.Decision{Action: contextwindow.Finish, Answer: strings.Join(pieces, ""), Conclusion: "done"}, nil
	})})
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	q := ask(t, alice, "well?")
	for {
		env, err := alice.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if env.Kind == protocol.KindStreamData {
			grown += decode(t, &env)["data"].(string)
		}
		if answerTo(q)(&env) {
			return o, &env, grown
		}
	}
}

func TestStream_Refused(t *testing.T) {
	o, answer, _ := growingIn(t, config, "one two three ", "four five ")
	if id, ok := decode(t, answer)["stream_id"]; ok {
		t.Errorf("the answer names the stream %v, which nobody saw", id)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.kinds) != 1 {
		t.Errorf("sent %v", o.kinds)
	}
}

func TestStream_AnswerHasID(t *testing.T) {
	_, answer, grown := growingIn(t, mayStream, "one two three ", "four five ")
	if id, ok := decode(t, answer)["stream_id"]; !ok || grown != "one two three four five " {
		t.Errorf("the answer names %v, and %q grew", id, grown)
	}
}

// A chunk after one that was dropped would produce a text that the model never
// generated.
func TestStream_Full(t *testing.T) {
	_, _, grown := growingIn(t, mayStream, "begin ", strings.Repeat("long ", 14_000), "END ")
	if grown != "begin " {
		t.Errorf("streamed %d bytes, %.40q", len(grown), grown)
	}
}

// The answer that a synthesis writes is a stream beside the context, which correlates to
// the question, and the chat names it. Its closing lines are not streamed.
func TestStreams_Answer(t *testing.T) {
	g := meuptest.Start(t, mayStream)
	alice := join(t, g, "alice")
	o := &overheard{Client: join(t, g, "planner"), opened: make(chan struct{}, 16)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	a := agent.New(agent.Options{Space: o, OwnToolsOnly: true, Planner: deciding(func(ctx context.Context, s planner.State) (planner.Decision, error) {
		s.Asking(true, false)
		s.Watch(llm.Delta{Text: "It is"})
		select {
		case <-o.opened:
		case <-ctx.Done():
			return planner.Decision{}, ctx.Err()
		}
		s.Watch(llm.Delta{Text: " fine.\n\nConfidence: 0.8"})
		return planner.Decision{Action: contextwindow.Finish, Answer: "It is fine.", Conclusion: "It is fine."}, nil
	})})
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	q := ask(t, alice, "well?")
	grown, stream := "", ""
	for {
		env, err := alice.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		switch env.Kind {
		case protocol.KindStreamOpen:
			stream = decode(t, &env)["stream_id"].(string)
			if env.Context != "" || !env.Correlation.Names(q) {
				t.Errorf("the stream is in the context %q and correlates to %v, want none, and the question %s", env.Context, env.Correlation.IDs, q)
			}
		case protocol.KindStreamData:
			grown += decode(t, &env)["data"].(string)
		case protocol.KindChat:
			if !answerTo(q)(&env) {
				continue
			}
			if p := decode(t, &env); p["stream_id"] != stream || stream == "" || p["message"] != "It is fine." || grown != "It is fine." {
				t.Errorf("the answer %v after the stream %q with %q", p, stream, grown)
			}
			return
		}
	}
}
