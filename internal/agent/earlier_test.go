package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

func calls(name string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"path":"x"}}}`, name)
}

// After a restart the planner gets the calls of the earlier attempts with their
// results, or as unknown if the log has none. A response to a canceled call,
// as the agent sends it when it ends or returns, leaves the outcome unknown.
func TestCatchUp_CallsOfEarlierAttempts(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	question, other := ask(t, alice, "shall we deploy?"), ask(t, alice, "something else?")
	me, result := []protocol.ParticipantID{"planner"}, []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"seen"}]}}`)
	leave(t, g,
		protocol.Envelope{ID: "whole", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo(question)},
		protocol.Envelope{ID: "part", Kind: protocol.KindReasoningStart, Context: "whole"},
		protocol.Envelope{ID: "other", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo(other)},
		protocol.Envelope{ID: "write", Kind: protocol.KindMCPRequest, To: me, Context: "whole", Payload: calls("write_file")},
		protocol.Envelope{ID: "read", Kind: protocol.KindMCPRequest, To: me, Context: "whole/part", Payload: calls("read_text_file")},
		protocol.Envelope{Kind: protocol.KindMCPResponse, Context: "whole/part", Correlation: protocol.CorrelateTo("read"), Payload: result},
		protocol.Envelope{ID: "stopped", Kind: protocol.KindMCPRequest, To: me, Context: "whole", Payload: calls("move_file")},
		protocol.Envelope{Kind: protocol.KindMCPResponse, Context: "whole", Correlation: protocol.CorrelateTo("stopped"),
			Payload: []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"cancelled"}}`)},
		protocol.Envelope{ID: "lost", Kind: protocol.KindMCPRequest, To: me, Context: "whole", Payload: calls("list_directory")},
		protocol.Envelope{Kind: protocol.KindMCPResponse, Context: "whole", Correlation: protocol.CorrelateTo("lost"),
			Payload: []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"restarted","data":{"reason":"restarted"}}}`)},
		protocol.Envelope{ID: "peer", Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"carol"}, Context: "whole", Payload: calls("send_mail")},
		protocol.Envelope{ID: "idea", Kind: protocol.KindMCPProposal, Context: "whole", Payload: []byte(`{"method":"tools/call","params":{"name":"delete","arguments":{}}}`)},
		protocol.Envelope{ID: "idea-own", Kind: protocol.KindMCPProposal, Context: "whole", Payload: []byte(`{"method":"tools/call","params":{"name":"erase","arguments":{}},"participant_id":"planner"}`)},
		protocol.Envelope{ID: "not-mine", Kind: protocol.KindMCPRequest, To: me, Context: "other", Payload: calls("copy_file")},
	)
	send(t, alice, protocol.Envelope{Kind: protocol.KindMCPResponse, Correlation: protocol.CorrelateTo("peer"), Payload: result}) // not from the host
	send(t, alice, protocol.Envelope{ID: "done-by-alice", Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"carol"},
		Correlation: protocol.CorrelateTo("idea"), Payload: []byte(`{"method":"tools/call","params":{"name":"delete","arguments":{}}}`)})
	send(t, alice, protocol.Envelope{ID: "approved", Kind: protocol.KindMCPRequest, To: me,
		Correlation: protocol.CorrelateTo("idea-own"), Payload: []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"erase","arguments":{}}}`)})

	const want = "write_file unknown|read_text_file seen|move_file unknown|list_directory unknown|send_mail unknown|delete unknown|erase unknown"
	for attempt := range 2 { // the second restart knows no more than the first
		seen, wait := make(chan planner.State, 2), make(chan struct{})
		stop := employ(t, g, "planner", agent.Options{CatchUp: intake.CatchUpAuto, Tools: tools(t, handbook), OwnToolsOnly: true, MaxSteps: 1,
			Planner: deciding(func(ctx context.Context, s planner.State) (planner.Decision, error) {
				main := s.Question == "shall we deploy?"
				if main {
					seen <- s
				}
				if attempt == 1 || !main {
					return planner.Decision{Action: contextwindow.Finish, Answer: "done", Conclusion: "done"}, nil
				}
				defer close(wait)
				<-ctx.Done()
				return planner.Decision{}, ctx.Err()
			})})
		s := <-seen
		if attempt == 0 {
			stop()
			<-wait
		}
		var got []string
		for i, r := range s.Steps[0].Results {
			got = append(got, s.Steps[0].Calls[i].Tool+" "+strings.TrimSpace(r.Text+" "+string(r.Outcome)))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("attempt %d: %s\nwant %s", attempt, strings.Join(got, "|"), want)
		}
		if len(s.Steps) != 1 || s.MaxSteps != 2 || s.Steps[0].Results[0].OK() {
			t.Errorf("attempt %d: %+v", attempt, s)
		}
	}
	all := conversation(t, alice, answersTo(question, other))
	if !slices.ContainsFunc(all, func(env protocol.Envelope) bool {
		return env.Kind == protocol.KindReasoningStart && strings.Contains(string(env.Payload), `"references":["write","read","stopped","lost","peer","done-by-alice","approved"]`)
	}) {
		t.Errorf("the new start does not refer to the calls\n%s", script(all))
	}
}
