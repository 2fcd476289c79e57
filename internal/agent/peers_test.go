package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// keeper is a participant that offers the tool count_sheep until the test ends
// or stop is called.
type keeper struct {
	c    *client.Client
	stop func()
	seen chan protocol.Envelope // requests except tools/list

	listed chan struct{} // closed after it has listed its tools
	once   sync.Once
}

// keep answers requests: tools/list in two pages, and calls by answer; an empty
// result means no response.
func keep(t *testing.T, c *client.Client, answer func(params json.RawMessage) string) *keeper {
	t.Helper()
	k := &keeper{c: c, seen: make(chan protocol.Envelope, 16), listed: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	k.stop = func() { cancel(); <-done; _ = c.Close() }
	t.Cleanup(k.stop)
	go func() {
		defer close(done)
		for env, err := range c.All(ctx) {
			if err != nil {
				return
			}
			if env.Kind == protocol.KindMCPRequest && env.AddressedTo(c.You()) {
				k.reply(ctx, &env, answer)
			}
		}
	}()
	return k
}

func (k *keeper) reply(ctx context.Context, env *protocol.Envelope, answer func(json.RawMessage) string) {
	var rpc struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	_ = json.Unmarshal(env.Payload, &rpc)
	result := `{"tools":[],"nextCursor":"2"}`
	switch {
	case rpc.Method == "tools/list" && strings.Contains(string(rpc.Params), "cursor"):
		result = `{"tools":[{"name":"count_sheep","description":"counts","inputSchema":{"type":"object","properties":{"flock":{"type":"integer"}}}}]}`
	case rpc.Method == "tools/list":
	default:
		k.seen <- *env
		result = answer(rpc.Params)
		if result == "" || len(rpc.ID) == 0 {
			return
		}
	}
	defer func() {
		if strings.Contains(result, "count_sheep") {
			k.once.Do(func() { close(k.listed) })
		}
	}()
	_, _ = k.c.Send(ctx, protocol.Envelope{
		Kind: protocol.KindMCPResponse, To: []protocol.ParticipantID{env.From}, Context: env.Context, Correlation: protocol.CorrelateTo(env.ID),
		Payload: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, rpc.ID, result),
	})
}

func text(s string) func(json.RawMessage) string {
	return func(json.RawMessage) string { return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, s) }
}

// counting calls count_sheep once it is offered.
func counting(ctx context.Context, s planner.State) (planner.Decision, error) {
	for _, tool := range append(s.Tools, planner.Tool{}) {
		if tool.Name == "count_sheep" || len(s.Steps) > 0 {
			return once(callOf("count_sheep", `{"flock":1}`))(ctx, s)
		}
	}
	return planner.Decision{Action: contextwindow.Finish, Answer: "no sheep", Conclusion: "none"}, nil
}

func TestPeerTools(t *testing.T) {
	g := meuptest.Start(t, config)
	k := keep(t, joinHost(t, g, "carol"), text("42 sheep"))
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Planner: deciding(counting)})
	<-k.listed
	question := ask(t, alice, "how many sheep?")
	all := conversation(t, alice, answerTo(question))
	checkShape(t, question, all)
	if text := decode(t, last(all))["message"]; text != "success | 42 sheep\n" {
		t.Errorf("answer %q\n%s", text, script(all))
	}
	calls := 0
	for i := range all {
		if all[i].Kind == protocol.KindMCPRequest || all[i].Kind == protocol.KindMCPResponse {
			calls++
		}
	}
	if calls != 2 {
		t.Errorf("who asked sees %d of call and response\n%s", calls, script(all))
	}
	request := <-k.seen
	if fmt.Sprint(request.To) != "[carol]" || request.Context == "" || !strings.Contains(string(request.Payload), `"arguments":{"flock":1}`) {
		t.Errorf("request %s", script([]protocol.Envelope{request}))
	}
}

// A call that does not fit the schema of a peer's tool is an error with the reason, which the planner can
// correct: the peer is not asked, nor is anybody about a proposal of it.
func TestPeerTools_WrongArguments(t *testing.T) {
	for name, caps := range map[string]string{
		"may call":    `[chat, "reasoning/*", "mcp/*", "participant/*"]`,
		"may propose": `[chat, "reasoning/*", mcp.response, mcp.proposal, mcp.withdraw, {kind: mcp.request, payload: {method: tools/list}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			g := meuptest.Start(t, strings.Replace(config, `[chat, "reasoning/*", "mcp/*", "participant/*"]`, caps, 1))
			k := keep(t, joinHost(t, g, "carol"), text("42 sheep"))
			alice := join(t, g, "alice")
			employ(t, g, "planner", agent.Options{Planner: deciding(func(ctx context.Context, s planner.State) (planner.Decision, error) {
				if len(s.Steps) == 0 && !slices.ContainsFunc(s.Tools, func(t planner.Tool) bool { return t.Name == "count_sheep" }) {
					return planner.Decision{Action: contextwindow.Finish, Answer: "no sheep", Conclusion: "none"}, nil
				}
				return once(callOf("count_sheep", `{"flock":"black"}`))(ctx, s)
			})})
			<-k.listed
			all := conversation(t, alice, answerTo(ask(t, alice, "how many sheep?")))
			want := "error | invalid_payload: The arguments do not fit the tool's input schema at /payload/params/arguments/flock: expected integer, but got string.\n"
			if text := decode(t, last(all))["message"]; text != want {
				t.Errorf("answer %q\n%s", text, script(all))
			}
			if len(k.seen) > 0 {
				t.Errorf("the peer was asked: %s", (<-k.seen).Payload)
			}
		})
	}
}

func TestPeerTools_AddedLater(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Planner: deciding(counting), After: atOnce(agent.RelistPause)})
	first := conversation(t, alice, answerTo(ask(t, alice, "how many sheep?")))
	if text := decode(t, last(first))["message"]; text != "no sheep" {
		t.Errorf("answer %q", text)
	}
	k := keep(t, joinHost(t, g, "carol"), text("7"))
	<-k.listed
	// Ask as soon as the agent has received the presence of the new
	// participant.
	for {
		env, err := alice.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if env.Kind == protocol.KindSystemPresence {
			break
		}
	}
	second := conversation(t, alice, answerTo(ask(t, alice, "and now?")))
	if text := decode(t, last(second))["message"]; text != "success | 7\n" {
		t.Errorf("answer %q\n%s", text, script(second))
	}
}

func TestOwnToolsOnly(t *testing.T) {
	g := meuptest.Start(t, config)
	keep(t, joinHost(t, g, "carol"), text("42 sheep"))
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{OwnToolsOnly: true, Planner: deciding(counting)})
	all := conversation(t, alice, answerTo(ask(t, alice, "how many sheep?")))
	if text := decode(t, last(all))["message"]; text != "no sheep" {
		t.Errorf("answer %q", text)
	}
}

func TestPeer_Timeout(t *testing.T) {
	g := meuptest.Start(t, config)
	silent := keep(t, joinHost(t, g, "carol"), func(json.RawMessage) string { return "" })
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Planner: deciding(counting), ToolTimeout: 500 * time.Millisecond})
	<-silent.listed
	all := conversation(t, alice, answerTo(ask(t, alice, "how many sheep?")))
	if text := decode(t, last(all))["message"]; text != "error | no answer within 500ms\n" {
		t.Errorf("answer %q", text)
	}
	<-silent.seen // the call
	if notice := <-silent.seen; !strings.Contains(string(notice.Payload), "notifications/cancelled") {
		t.Errorf("told %s", notice.Payload)
	}
}

func TestPeer_Leaves(t *testing.T) {
	g := meuptest.Start(t, config)
	silent := keep(t, joinHost(t, g, "carol"), func(json.RawMessage) string { return "" })
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Planner: deciding(counting), After: atOnce(agent.AwayTimeout)})
	<-silent.listed
	question := ask(t, alice, "how many sheep?")
	<-silent.seen
	silent.stop()
	all := conversation(t, alice, answerTo(question))
	if text := decode(t, last(all))["message"]; text != "error | carol left the space\n" {
		t.Errorf("answer %q", text)
	}
}

func TestPeer_Cancellation(t *testing.T) {
	g := meuptest.Start(t, config)
	silent := keep(t, joinHost(t, g, "carol"), func(json.RawMessage) string { return "" })
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Planner: deciding(counting)})
	<-silent.listed
	question := ask(t, alice, "how many sheep?")
	call := <-silent.seen
	send(t, alice, protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(question)})
	notice := <-silent.seen
	if !strings.Contains(string(notice.Payload), "notifications/cancelled") || !strings.Contains(string(notice.Payload), string(call.ID)) {
		t.Errorf("told %s", notice.Payload)
	}
}

func TestPeerTools_AfterGrant(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(config, `[chat, "reasoning/*", "mcp/*", "participant/*"]`, `[chat, "reasoning/*"]`, 1))
	k := keep(t, joinHost(t, g, "carol"), text("42 sheep"))
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Planner: deciding(counting), After: atOnce(agent.RelistPause)})
	first := conversation(t, alice, answerTo(ask(t, alice, "how many sheep?")))
	if text := decode(t, last(first))["message"]; text != "no sheep" {
		t.Errorf("answer %q", text)
	}
	send(t, alice, protocol.Envelope{Kind: protocol.KindCapabilityGrant, Payload: []byte(`{"recipient":"planner","capabilities":["mcp.request"]}`)})
	<-k.listed
	second := conversation(t, alice, answerTo(ask(t, alice, "and now?")))
	if text := decode(t, last(second))["message"]; text != "success | 42 sheep\n" {
		t.Errorf("answer %q\n%s", text, script(second))
	}
}
