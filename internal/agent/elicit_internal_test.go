package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/protocol"
)

// asked returns an agent without a connection, whose call "r" of critic waits, and the end of
// the call.
func asked(t *testing.T, answer func(context.Context) (json.RawMessage, error)) (*Agent, <-chan error) {
	t.Helper()
	a := &Agent{you: "agent", opts: Options{Space: connected{}, ToolTimeout: 30 * time.Second, MaxToolTimeout: time.Hour, After: time.After}, replies: make(chan protocol.Envelope, 1), log: slog.New(slog.DiscardHandler), runtime: new(participant.Runtime)}
	if answer != nil {
		a.opts.OnElicitation = func(ctx context.Context, _ protocol.ParticipantID, _ json.RawMessage) (json.RawMessage, error) {
			return answer(ctx)
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := a.await(t.Context(), "r", []protocol.ParticipantID{"critic"})
		ended <- err
	}()
	synctest.Wait()
	return a, ended
}

// askAbout delivers a question of critic about the call "r", with members of its params, and
// returns the reply.
func askAbout(a *Agent, id protocol.ID, params string) protocol.Envelope {
	a.inbox.Deliver(&protocol.Envelope{
		ID: id, From: "critic", To: []protocol.ParticipantID{"agent"}, Kind: protocol.KindMCPRequest, Correlation: protocol.CorrelateTo("r"),
		Payload: []byte(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"Which?"` + params + `}}`),
	})
	return <-a.replies
}

// The time limit of a call does not pass while a question about it is answered, and begins
// anew afterwards. Without a handler, a question is declined at once. The panic of a handler is
// the action cancel, as is the end of the time for the answer, also if the handler goes on: the
// time that the question names, or the longest time of a call.
func TestAwait_QuestionAboutTheCall(t *testing.T) {
	forever := func(context.Context) (json.RawMessage, error) {
		<-time.After(48 * time.Hour)
		return nil, nil
	}
	const canceled = `"result":{"action":"cancel"}`
	for name, test := range map[string]struct {
		params string
		answer func(context.Context) (json.RawMessage, error) // nil: no handler
		takes  time.Duration
		want   string
	}{
		"answered": {"", func(context.Context) (json.RawMessage, error) {
			<-time.After(5 * time.Minute)
			return json.RawMessage(`{"action":"accept"}`), nil
		}, 5 * time.Minute, `"result":{"action":"accept"}`},
		"panics":            {"", func(context.Context) (json.RawMessage, error) { panic("asked to fail") }, 0, canceled},
		"nobody there":      {"", nil, 0, `"error":{"code":-32601,`},
		"without an end":    {"", forever, time.Hour, canceled},
		"with an end":       {`,"_meta":{"meup/expires_at":"2000-01-01T00:02:00Z"}`, forever, 2 * time.Minute, canceled},
		"after its end":     {`,"_meta":{"meup/expires_at":"1999-12-31T00:02:00Z"}`, forever, 0, canceled},
		"with a remote end": {`,"_meta":{"meup/expires_at":"2999-12-31T00:02:00Z"}`, forever, 24 * time.Hour, canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, ended := asked(t, test.answer)
				begun := time.Now()
				reply := askAbout(a, "q", test.params)
				if took := time.Since(begun); took != test.takes || !reply.Correlation.Names("q") || !strings.Contains(string(reply.Payload), test.want) {
					t.Errorf("after %v: %s to %v; want %s after %v", took, reply.Payload, reply.Correlation.IDs, test.want, test.takes)
				}
				if err := <-ended; err == nil || time.Since(begun) != test.takes+a.opts.ToolTimeout {
					t.Errorf("the call ended after %v: %v; want the end of its time limit, %v after the answer", time.Since(begun), err, a.opts.ToolTimeout)
				}
				a.runtime.Group.Wait()
			})
		})
	}
}

// A question beyond the bound is declined at once, and its host waits no longer.
func TestAwait_TooManyQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, ended := asked(t, func(context.Context) (json.RawMessage, error) { return json.RawMessage(`{"action":"accept"}`), nil })
		for i := range maxElicitations + 2 {
			want := `"result":{"action":"accept"}`
			if i >= maxElicitations {
				want = `"error":{"code":-32000,`
			}
			if reply := askAbout(a, protocol.ID(fmt.Sprint("q", i)), ""); !strings.Contains(string(reply.Payload), want) {
				t.Errorf("question %d: %s, want %s", i+1, reply.Payload, want)
			}
		}
		if err := <-ended; err == nil {
			t.Error("the call has a response, want the end of its time limit")
		}
		a.runtime.Group.Wait()
	})
}
