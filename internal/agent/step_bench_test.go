package agent_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// instantly is a tool without cost, so that only the agent and the gateway are
// measured.
type instantly struct{}

func (instantly) Tools() []mcptools.Tool { return []mcptools.Tool{{Name: "look"}} }

func (instantly) Call(context.Context, string, json.RawMessage) (mcptools.Result, error) {
	return mcptools.Result{JSON: []byte(`{"content":[{"type":"text","text":"seen"}]}`), Text: "seen"}, nil
}

// BenchmarkStep is one step of an agent whose planner and tool return at once:
// a thought, the reason, the request and the response, each durable in the log
// before the next one depends on it. The log is the embedded one, synced.
func BenchmarkStep(b *testing.B) {
	for _, calls := range []int{1, 4} {
		b.Run(map[int]string{1: "one call", 4: "four calls at once"}[calls], func(b *testing.B) { benchmarkStep(b, calls) })
	}
}

func benchmarkStep(b *testing.B, calls int) {
	g := meuptest.Start(b, config)
	dial := func(who string) *client.Client {
		c, err := client.Dial(b.Context(), client.Options{URL: g.URL("lab"), Token: who + "-token"})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = c.Close() })
		return c
	}
	alice := dial("alice")
	step := planner.Decision{Action: contextwindow.UseTools, Thought: "I have seen something, and look again."}
	for range calls {
		step.Calls = append(step.Calls, callOf("look", `{"at":"it"}`))
	}
	steps := b.N
	a := agent.New(agent.Options{Space: dial("planner"), Tools: instantly{}, MaxSteps: steps + 1, OwnToolsOnly: true,
		Planner: deciding(func(context.Context, planner.State) (planner.Decision, error) {
			steps--
			if steps >= 0 {
				return step, nil
			}
			return planner.Decision{Action: contextwindow.Finish, Answer: "done", Conclusion: "done"}, nil
		})})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	b.ReportAllocs()
	b.ResetTimer()
	chat := client.Chat("look")
	if _, err := alice.Send(b.Context(), chat); err != nil {
		b.Fatal(err)
	}
	for env, err := range alice.All(b.Context()) {
		if err != nil {
			b.Fatal(err)
		}
		if env.From == "planner" && env.Kind == protocol.KindChat {
			return
		}
	}
}
