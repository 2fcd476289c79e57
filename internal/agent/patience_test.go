package agent_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// tell sends a request or a notification about a call to its caller.
func tell(t *testing.T, k *keeper, call *protocol.Envelope, payload string) protocol.ID {
	t.Helper()
	receipt, err := k.c.Send(testkit.Deadline(t), protocol.Envelope{
		Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{call.From}, Context: call.Context, Correlation: protocol.CorrelateTo(call.ID), Payload: json.RawMessage(payload),
	})
	if err != nil {
		t.Fatal(err)
	}
	return receipt.ID
}

// The progress of a tool of another participant begins the wait for it anew, up to a maximum.
func TestPeer_Progress(t *testing.T) {
	const each, most = 7 * time.Second, 11 * time.Minute
	for name, test := range map[string]struct {
		ends func(k *keeper, call *protocol.Envelope, first, second, whole chan time.Time)
		want string
	}{
		"result": {func(k *keeper, call *protocol.Envelope, first, _, _ chan time.Time) {
			close(first) // the time before the progress
			k.reply(t.Context(), call, text("three"))
		}, "three"},
		"no further progress": {func(_ *keeper, _ *protocol.Envelope, _, second, _ chan time.Time) { close(second) }, "no answer within 7s\n"},
		"maximum":             {func(_ *keeper, _ *protocol.Envelope, _, _, whole chan time.Time) { close(whole) }, "no answer within 11m0s, in spite of its progress"},
	} {
		t.Run(name, func(t *testing.T) {
			g := meuptest.Start(t, config)
			host := keep(t, joinHost(t, g, "carol"), func(json.RawMessage) string { return "" })
			alice := join(t, g, "alice")
			begun, whole := make(chan chan time.Time, 16), make(chan time.Time)
			employ(t, g, "planner", agent.Options{Planner: deciding(counting), ToolTimeout: each, MaxToolTimeout: most, After: func(d time.Duration) <-chan time.Time {
				switch d {
				case each:
					c := make(chan time.Time)
					begun <- c
					return c
				case most:
					return whole
				}
				return time.After(d)
			}})
			<-host.listed
			question := ask(t, alice, "how many sheep?")
			call := <-host.seen
			token := call.ParsePayload().Get("params").Get("_meta").Get("progressToken").Raw()
			for len(begun) > 1 { // of the list of tools
				<-begun
			}
			first := <-begun
			tell(t, host, &call, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`+string(token)+`,"progress":1}}`)
			test.ends(host, &call, first, <-begun, whole)
			all := conversation(t, alice, answerTo(question))
			if text, _ := decode(t, last(all))["message"].(string); !strings.Contains(text, test.want) {
				t.Errorf("the answer is %q, expected %q", text, test.want)
			}
		})
	}
}

// An agent refuses the questions of a tool about its call, so that the tool does not wait.
func TestPeer_Question(t *testing.T) {
	g := meuptest.Start(t, config)
	host := keep(t, joinHost(t, g, "carol"), func(json.RawMessage) string { return "" })
	carol, alice := join(t, g, "carol"), join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Planner: deciding(counting)})
	<-host.listed
	question := ask(t, alice, "how many sheep?")
	call := <-host.seen
	asked := tell(t, host, &call, `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Which flock?"}}`)
	for {
		env, err := carol.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if env.Kind != protocol.KindMCPResponse || !env.Correlation.Names(asked) {
			continue
		}
		if code, _ := env.ParsePayload().Get("error").Get("code").Int(); code != -32601 {
			t.Errorf("the response is %s, expected the error -32601", env.Payload)
		}
		break
	}
	host.reply(t.Context(), &call, text("three"))
	all := conversation(t, alice, answerTo(question))
	if text, _ := decode(t, last(all))["message"].(string); !strings.Contains(text, "three") {
		t.Errorf("the answer is %q", text)
	}
}
