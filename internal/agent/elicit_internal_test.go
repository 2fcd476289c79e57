package agent

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/participant"
	"github.com/meup-protocol/meup/protocol"
)

// The time limit of a call does not pass while a question about it is answered, and begins
// anew afterwards. A question that nobody answers is declined at once, and the panic of a
// handler is the action cancel.
func TestAwait_QuestionAboutTheCall(t *testing.T) {
	const limit = 30 * time.Second
	for name, test := range map[string]struct {
		answer func() // takes a while; nil: nobody answers
		takes  time.Duration
		want   string
	}{
		"answered":     {func() { <-time.After(5 * time.Minute) }, 5 * time.Minute, `"result":{"action":"accept"}`},
		"panics":       {func() { panic("asked to fail") }, 0, `"result":{"action":"cancel"}`},
		"nobody there": {nil, 0, `"error":{"code":-32601,`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &Agent{you: "agent", opts: Options{Space: connected{}, ToolTimeout: limit, MaxToolTimeout: time.Hour, After: time.After}, replies: make(chan protocol.Envelope, 1), log: slog.New(slog.DiscardHandler), runtime: new(participant.Runtime)}
				if test.answer != nil {
					a.opts.OnElicitation = func(context.Context, protocol.ParticipantID, json.RawMessage) (json.RawMessage, error) {
						test.answer()
						return json.RawMessage(`{"action":"accept"}`), nil
					}
				}
				ended := make(chan error, 1)
				go func() {
					_, err := a.await(t.Context(), "r", []protocol.ParticipantID{"critic"})
					ended <- err
				}()
				synctest.Wait()
				begun := time.Now()
				a.inbox.Deliver(&protocol.Envelope{
					ID: "q", From: "critic", To: []protocol.ParticipantID{"agent"}, Kind: protocol.KindMCPRequest, Correlation: protocol.CorrelateTo("r"),
					Payload: []byte(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"Which?"}}`),
				})
				reply := <-a.replies
				if took := time.Since(begun); took != test.takes || !reply.Correlation.Names("q") || !strings.Contains(string(reply.Payload), test.want) {
					t.Errorf("after %v: %s to %v; want %s after %v", took, reply.Payload, reply.Correlation.IDs, test.want, test.takes)
				}
				if err := <-ended; err == nil || time.Since(begun) != test.takes+limit {
					t.Errorf("the call ended after %v: %v; want the end of its time limit, %v after the answer", time.Since(begun), err, limit)
				}
				a.runtime.Group.Wait()
			})
		})
	}
}
