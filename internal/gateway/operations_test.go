package gateway_test

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const operationsConfig = `
limits: {context_depth: 2, message_bytes: 2KiB}
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: [chat, mcp.request]}
      carl: {token: carl-token, capabilities: [chat], limits: {rate: 0.001, burst: 1}}
      dora: {token: dora-token, capabilities: [chat], limits: {connections: 1}}
      dan: {token: dan-token, capabilities: [chat]}
      gone: {token: gone-token, capabilities: [chat]}
  other:
    participants:
      eve: {token: eve-token, capabilities: [chat]}
`

// holder is the bearer of the token of a participant.
func holder(who string) access.Bearer {
	return access.Bearer{Address: netip.MustParseAddr("192.0.2.1"), Token: who + "-token"}
}

// startOperations starts a gateway without the participant gone.
func startOperations(t *testing.T) *meuptest.Gateway {
	t.Helper()
	g := meuptest.Start(t, operationsConfig)
	_, err := g.API(t, "alice").Send(t.Context(), "lab", protocol.Envelope{Kind: protocol.KindSpaceKick, Payload: []byte(`{"participant_id":"gone"}`)})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The operations for adapters refuse what the requests that they stand for refuse.
func TestOperations_RefuseAsRequestsDo(t *testing.T) {
	chat := protocol.Envelope{ID: "chat", Kind: protocol.KindChat, Payload: []byte(`{"message":"hello"}`)}
	with := func(change func(*protocol.Envelope)) protocol.Envelope { e := chat; change(&e); return e }
	for _, c := range []struct {
		name, who, space string
		envelope         protocol.Envelope // sent; without a kind, one is awaited
		query            api.EnvelopeQuery
		want             protocol.Code
	}{
		{"no such token", "zoe", "lab", chat, api.EnvelopeQuery{}, protocol.CodeUnauthorized},
		{"a token of another space", "eve", "lab", chat, api.EnvelopeQuery{}, protocol.CodeForbidden},
		{"no such space", "alice", "none", chat, api.EnvelopeQuery{}, protocol.CodeNotFound},
		{"removed", "gone", "lab", chat, api.EnvelopeQuery{}, protocol.CodeKicked},
		{"not capable", "dan", "lab", with(func(e *protocol.Envelope) {
			e.Kind, e.Payload = protocol.KindMCPRequest, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		}), api.EnvelopeQuery{}, protocol.CodeCapabilityViolation},
		{"a text that is none", "bob", "lab", with(func(e *protocol.Envelope) { e.Payload = []byte(`{"message":1}`) }), api.EnvelopeQuery{}, protocol.CodeInvalidPayload},
		{"an unknown recipient", "bob", "lab", with(func(e *protocol.Envelope) { e.To = []protocol.ParticipantID{"nobody"} }), api.EnvelopeQuery{}, protocol.CodeUnknownParticipant},
		{"a kind of the gateway", "alice", "lab", with(func(e *protocol.Envelope) { e.Kind = protocol.KindSystemWelcome }), api.EnvelopeQuery{}, protocol.CodeReservedKind},
		{"too deep a context", "bob", "lab", with(func(e *protocol.Envelope) { e.Context = "a/b/c" }), api.EnvelopeQuery{}, protocol.CodeInvalidContext},
		{"too long", "bob", "lab", with(func(e *protocol.Envelope) { e.Payload = []byte(`{"message":"` + strings.Repeat("x", 3<<10) + `"}`) }), api.EnvelopeQuery{}, protocol.CodeMessageTooLarge},

		{"awaited without a token", "zoe", "lab", protocol.Envelope{}, api.EnvelopeQuery{}, protocol.CodeUnauthorized},
		{"awaited in another space", "eve", "lab", protocol.Envelope{}, api.EnvelopeQuery{}, protocol.CodeForbidden},
		{"awaited by the removed", "gone", "lab", protocol.Envelope{}, api.EnvelopeQuery{}, protocol.CodeKicked},
		{"awaited in another log", "bob", "lab", protocol.Envelope{}, api.EnvelopeQuery{Log: "another"}, protocol.CodeCursorExpired},
		{"awaited beyond its connections", "dora", "lab", protocol.Envelope{}, api.EnvelopeQuery{}, protocol.CodeTooMany},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := startOperations(t)
			if c.who == "dora" {
				dial(t, g, "dora", "")
			}
			ctx, door, client := testkit.Deadline(t), g.Gateway().API(), g.API(t, c.who)
			var direct, request error
			if c.envelope.Kind != "" {
				_, direct = door.Send(ctx, holder(c.who), c.space, api.EncodeDraft(&c.envelope))
				_, request = client.Send(ctx, c.space, c.envelope)
			} else {
				_, direct = door.Await(ctx, holder(c.who), c.space, c.query)
				request = client.Await(ctx, c.space, c.query)
				if c.query.Log != "" { // the stream goes on in the log that there is
					_, request = client.Envelopes(ctx, c.space, c.query)
				}
			}
			got, want := protocol.AsError(direct), protocol.AsError(request)
			if direct == nil || request == nil || got.Code != c.want || want.Code != c.want || got.Message != want.Message {
				t.Errorf("%v; the request: %v; want %s", direct, request, c.want)
			}
		})
	}
}

// A session in one space needs a token that is good for it; without a space it has all.
func TestOperations_Session(t *testing.T) {
	g := startOperations(t)
	for _, c := range []struct {
		who, space string
		want       protocol.Code // "": the participant is in the session
	}{
		{"bob", "lab", ""}, {"bob", "", ""}, {"eve", "lab", protocol.CodeForbidden}, {"gone", "lab", protocol.CodeKicked}, {"zoe", "", protocol.CodeUnauthorized},
	} {
		s, err := g.Gateway().API().Session(t.Context(), holder(c.who), c.space)
		if c.want != "" {
			if err == nil || protocol.AsError(err).Code != c.want {
				t.Errorf("%s in %q: %v, want %s", c.who, c.space, err, c.want)
			}
			continue
		}
		if err != nil || s.In("lab") != protocol.ParticipantID(c.who) || s.Participant != protocol.ParticipantID(c.who) {
			t.Errorf("%s in %q: %+v, %v", c.who, c.space, s, err)
		}
	}
}

// The limits of envelopes and of reads hold for operations.
func TestOperations_Limits(t *testing.T) {
	g := startOperations(t)
	ctx, door := testkit.Deadline(t), g.Gateway().API()
	for name, operation := range map[string]func() error{
		"send": func() error {
			_, err := door.Send(ctx, holder("carl"), "lab", []byte(`{"kind":"chat","payload":{"message":"hello"}}`))
			return err
		},
		"await": func() error { // the removal of another, which is in the log
			_, err := door.Await(ctx, holder("bob"), "lab", api.EnvelopeQuery{})
			return err
		},
	} {
		err := operation()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for err == nil { // until a burst is used up
			err = operation()
		}
		if code := protocol.AsError(err).Code; code != protocol.CodeRateLimited {
			t.Errorf("%s: %v, want %s", name, err, protocol.CodeRateLimited)
		}
	}
}

// What is awaited is what the bearer may see, of others, after the position, and what the query
// selects.
func TestOperations_Await(t *testing.T) {
	g := startOperations(t)
	ctx, door := testkit.Deadline(t), g.Gateway().API()
	send := func(who string, e protocol.Envelope) protocol.Seq {
		t.Helper()
		if e.Payload == nil {
			e.Payload = []byte(`{"message":"hello"}`)
		}
		if e.Kind == "" {
			e.Kind = protocol.KindChat
		}
		receipt, err := door.Send(ctx, holder(who), "lab", api.EncodeDraft(&e))
		if err != nil {
			t.Fatal(err)
		}
		return receipt.Seq
	}
	first := send("alice", protocol.Envelope{ID: "1"})
	if again := send("alice", protocol.Envelope{ID: "1"}); again != first {
		t.Errorf("a retry is at %d, want %d", again, first)
	}
	send("alice", protocol.Envelope{ID: "2", To: []protocol.ParticipantID{"alice"}})
	send("bob", protocol.Envelope{ID: "3"})
	send("alice", protocol.Envelope{ID: "4", Kind: protocol.KindReasoningStart, Context: "plan"})
	last := send("dora", protocol.Envelope{ID: "5", Context: "plan"})
	for _, c := range []struct {
		name  string
		query api.EnvelopeQuery
		want  string
	}{
		{"all", api.EnvelopeQuery{}, "1 4 5"},
		{"after a position", api.EnvelopeQuery{Since: first}, "4 5"},
		{"a kind", api.EnvelopeQuery{Kinds: []string{"chat"}}, "1 5"},
		{"kinds in one text", api.EnvelopeQuery{Since: first, Kinds: []string{"chat, reasoning/*"}}, "4 5"},
		{"of a participant", api.EnvelopeQuery{From: []protocol.ParticipantID{"dora"}}, "5"},
		{"of a context", api.EnvelopeQuery{Contexts: []string{"plan"}}, "4 5"},
		{"of the main conversation", api.EnvelopeQuery{Main: true}, "1"},
		{"of the main conversation, as a context", api.EnvelopeQuery{Contexts: []string{""}}, "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.query.Kinds == nil {
				c.query.Kinds = []string{"chat", "reasoning/*"} // not the removal
			}
			page, err := door.Await(ctx, holder("bob"), "lab", c.query)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range page.Envelopes {
				got = append(got, string(page.Envelopes[i].ID))
			}
			if strings.Join(got, " ") != c.want || page.Next != page.Envelopes[len(got)-1].Seq || page.Log == "" {
				t.Errorf("%v to %d of %q, want %s", got, page.Next, page.Log, c.want)
			}
		})
	}

	ws := dial(t, g, "alice", "")
	ended := errors.New("ended")
	ctx, cancel := context.WithCancelCause(ctx)
	for _, c := range []struct {
		name, who string // who has not been present before
		end       func()
		want      error // nil: any
	}{
		{"until it is removed", "dan", func() {
			send("alice", protocol.Envelope{ID: "6", Kind: protocol.KindSpaceKick, Payload: []byte(`{"participant_id":"dan"}`)})
		}, nil},
		{"until ctx ends", "dora", func() { cancel(ended) }, ended},
	} {
		t.Run(c.name, func(t *testing.T) {
			done := make(chan error)
			go func() { // ends with the wait
				_, err := door.Await(ctx, holder(c.who), "lab", api.EnvelopeQuery{Since: last, Kinds: []string{"mcp.response"}})
				done <- err
			}()
			for waits := false; !waits; {
				_, frame, err := ws.Read(ctx)
				if err != nil {
					t.Fatal(err)
				}
				waits = strings.Contains(string(frame), `"system.presence"`) && strings.Contains(string(frame), `"`+c.who+`"`)
			}
			c.end()
			if err := <-done; err == nil || !errors.Is(err, cmp.Or(c.want, err)) {
				t.Errorf("it ended with %v, want %v", err, c.want)
			}
		})
	}
}
