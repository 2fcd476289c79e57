package participant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/protocol"
)

// space is a log in memory; after its end, Receive returns errEnd.
type space struct {
	in   []received
	head protocol.Seq
}

type received struct {
	env protocol.Envelope
	err error
}

var errEnd = errors.New("the log ends")

func (s *space) Receive(context.Context) (protocol.Envelope, error) {
	if len(s.in) == 0 {
		return protocol.Envelope{}, errEnd
	}
	next := s.in[0]
	s.in = s.in[1:]
	return next.env, next.err
}

func (*space) Send(context.Context, protocol.Envelope) (client.Receipt, error) {
	return client.Receipt{}, nil
}

func (s *space) Welcome() protocol.Welcome {
	w := protocol.Welcome{Space: protocol.SpaceInfo{Seq: s.head}}
	w.You.ID = "me"
	return w
}

func control(seq protocol.Seq, kind protocol.Kind, to protocol.ParticipantID) received {
	return received{env: protocol.Envelope{Seq: seq, From: "alice", To: []protocol.ParticipantID{to}, Kind: kind}}
}

// A control envelope in the copy of a lost log had its effect long ago.
func TestRun_Control(t *testing.T) {
	const stop, chat = protocol.KindParticipantShutdown, protocol.KindChat
	reset := received{err: &client.GapError{After: 9, Reset: true}}
	at := func(second int64, r received) received {
		r.env.TS = time.Unix(second, 0)
		return r
	}
	for name, test := range map[string]struct {
		in   []received
		want string // seq and age of the handled envelopes, and the end
	}{
		"shutdown":                 {[]received{control(1, chat, "me"), control(2, stop, "me"), control(3, chat, "me")}, "1/false <nil>"},
		"shutdown of another":      {[]received{control(1, stop, "you"), control(2, chat, "me")}, "1/false 2/false the log ends"},
		"shutdown in a copy":       {[]received{control(9, chat, "me"), reset, control(3, stop, "me"), control(5, chat, "me")}, "9/false 3/true 5/false the log ends"},
		"shutdown after the copy":  {[]received{reset, control(3, chat, "me"), control(5, stop, "me")}, "3/true <nil>"},
		"nothing received before":  {[]received{reset, at(3, control(3, stop, "me")), at(4, control(5, stop, "me"))}, "3/true <nil>"},
		"a gap in the same log":    {[]received{{err: &client.GapError{After: 1, Oldest: 4}}, control(4, stop, "me")}, "<nil>"},
		"presence before the copy": {[]received{reset, control(0, chat, "me"), control(4, chat, "me")}, "0/false 4/true the log ends"},
		"shutdown after the restore, before the connection": {
			[]received{at(9, control(9, chat, "me")), reset, at(20, control(0, chat, "me")), at(3, control(3, chat, "me")), at(12, control(4, stop, "me"))},
			"9/false 0/false 3/true <nil>",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(&space{in: test.in, head: 4}, slog.New(slog.DiscardHandler), errGone)
			got := ""
			err := r.Run(t.Context(), func() {}, func(env *protocol.Envelope, old bool) { got += fmt.Sprintf("%d/%t ", env.Seq, old) })
			got += fmt.Sprint(errors.Unwrap(err))
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// Run waits for the goroutines of its group, at most ClosingTime if they end
// with Final.
func TestRun_Closing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(&space{}, slog.New(slog.DiscardHandler), errGone)
		begun := time.Now()
		var cause error
		_ = r.Run(t.Context(), func() {
			r.Group.Go(func() {
				<-r.Work.Done()
				cause = context.Cause(r.Work)
				<-r.Final.Done()
			})
		}, nil)
		if !errors.Is(cause, errGone) || time.Since(begun) != ClosingTime {
			t.Errorf("ended after %s with %v", time.Since(begun), cause)
		}
	})
}

// One requester has at most a quarter of the places; a held request has none.
func TestRequests_Places(t *testing.T) {
	r := Requests[*int]{Places: 8}
	admit := func(id protocol.ID, from protocol.ParticipantID) Admission {
		return r.Admit(&protocol.Envelope{ID: id, From: from}, new(int))
	}
	held := new(int)
	r.Hold(&protocol.Envelope{ID: "h", From: "alice"}, held)
	for i, step := range []struct {
		id   protocol.ID
		from protocol.ParticipantID
		want Admission
	}{
		{"a1", "alice", Accepted}, {"a1", "alice", Duplicate}, {"a2", "alice", Accepted}, {"a3", "alice", Overloaded},
		{"b1", "bob", Accepted}, {"b2", "bob", Accepted}, {"c1", "carol", Accepted}, {"c2", "carol", Accepted},
		{"h", "dave", Duplicate}, {"d1", "dave", Accepted}, {"d2", "dave", Accepted}, {"e1", "eve", Overloaded},
	} {
		if got := admit(step.id, step.from); got != step.want {
			t.Errorf("step %d: %s is %d, want %d", i, step.id, got, step.want)
		}
	}
	h := &protocol.Envelope{ID: "h", From: "alice"}
	if r.Admit(h, held) != Overloaded || r.Get("h") != held {
		t.Error("a held request was admitted without a place, or lost")
	}
	r.Remove("a1")
	if r.Admit(h, held) != Accepted || r.Admit(h, held) != Duplicate || len(r.All()) != 8 {
		t.Errorf("a held request was not admitted once; %d requests", len(r.All()))
	}
}

func TestResponse_InvalidData(t *testing.T) {
	got := Response([]byte(`"x"`), nil, &client.RPCError{Code: 7, Message: "no", Data: []byte(`{`)})
	if want := `{"jsonrpc":"2.0","id":"x","error":{"code":7,"message":"no"}}`; string(got) != want {
		t.Errorf("got %s", got)
	}
}

// A capability allows a call without a question only if it names the participant, and
// nothing else but the tool.
func TestNamesCall(t *testing.T) {
	for capability, want := range map[string]bool{
		`"*"`: false, `"mcp.request"`: false, `{"kind":"mcp.request"}`: false, `{"kind":"mcp.request","to":"other"}`: false, `7`: false,
		`{"kind":"mcp.request","to":"me"}`: true, `{"kind":"mcp/*","to":["other","me"]}`: true, `{"kind":"chat","to":"me"}`: false,
		`{"kind":"mcp.request","to":"me","payload":{"method":"tools/call","params":{"name":"write"}}}`:    true,
		`{"kind":"mcp.request","to":"me","payload":{"params":{"name":["read","wr*"]}}}`:                   true,
		`{"kind":"mcp.request","to":"me","payload":{"params":{"name":"*"}}}`:                              true,
		`{"kind":"mcp.request","to":"me","payload":{"params":{"name":"read_*"}}}`:                         false,
		`{"kind":"mcp.request","to":"me","payload":{"params":{"name":"!read"}}}`:                          false,
		`{"kind":"mcp.request","to":"me","payload":{"params":{"name":"/write/"}}}`:                        false,
		`{"kind":"mcp.request","to":"me","payload":{"params":{"name":"w**e"}}}`:                           false,
		`{"kind":"mcp.request","to":"me","payload":{"params":{"name":"write","arguments":{"path":"a"}}}}`: false,
		`{"kind":"mcp.request","to":"me","payload":{"**":"write"}}`:                                       false,
		`{"kind":"mcp.request","to":"me","payload":{"method":"tools/list"}}`:                              false,
		`{"kind":"mcp.request","to":"me","payload":[1]}`:                                                  false,
		`{"kind":"mcp.request","to":"me","payload":{"params":7}}`:                                         false,
		`{"kind":"mcp.request","to":"me","deny":true}`:                                                    false,
		`{"kind":"mcp.request","to":"me","context":"a"}`:                                                  false,
	} {
		t.Run(capability, func(t *testing.T) {
			if got := NamesCall([]json.RawMessage{json.RawMessage(capability)}, "me", "write"); got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// A capability without a readable condition that excludes the call could allow it.
func TestMayCall(t *testing.T) {
	for capabilities, want := range map[string]bool{
		`[]`: false, `["*"]`: true, `["mcp.request"]`: true, `["mcp/*",{"kind":"mcp.request","deny":true}]`: false, `["chat","reasoning/*"]`: false, `[7]`: false,
		`[{"kind":"mcp.request","to":"me"}]`: true, `[{"kind":"mcp.request","to":["other","them"]}]`: false, `[{"kind":"mcp.request","to":"!me"}]`: true,
		`[{"kind":"mcp.request","payload":{"method":"tools/list"}}]`:                                               false,
		`[{"kind":"mcp.request","payload":{"method":"tools/*"}}]`:                                                  true,
		`[{"kind":"mcp.request","payload":{"method":"tools/call"}}]`:                                               true,
		`[{"kind":"mcp.request","payload":{"method":"tools/call","params":{"name":["list_*","search_*"]}}}]`:       false,
		`[{"kind":"mcp.request","payload":{"method":"tools/call","params":{"name":["list_*","read_*"]}}}]`:         true,
		`[{"kind":"mcp.request","payload":{"params":{"name":"*_*_file"}}}]`:                                        true,
		`[{"kind":"mcp.request","payload":{"params":{"name":"/^list/"}}}]`:                                         true,
		`[{"kind":"mcp.request","payload":{"params":{"name":"!read_file"}}}]`:                                      true,
		`[{"kind":"mcp.request","payload":{"params":{"name":{"a":1}}}}]`:                                           true,
		`[{"kind":"mcp.request","payload":{"params":{"name":"read_file","arguments":{"path":"/a"}}}}]`:             true,
		`["mcp.request",{"kind":"mcp.request","payload":{"params":{"arguments":{"**":"/private/"}}},"deny":true}]`: true,
	} {
		t.Run(capabilities, func(t *testing.T) {
			var list []json.RawMessage
			if err := json.Unmarshal([]byte(capabilities), &list); err != nil {
				t.Fatal(err)
			}
			if got := MayCall(list, "me", "read_file"); got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// A request that waits for decisions has no place until the last one is made.
func TestPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := make(chan struct{}, 1)
		one, two := NewPlace(places), NewPlace(places)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		take := func(p *Place) {
			t.Helper()
			if err := p.Take(ctx); err != nil {
				t.Fatal(err)
			}
		}
		take(one)
		first, second := one.Lend(ctx), one.Lend(ctx)
		take(two)
		first()
		done := make(chan struct{})
		go func() { second(); close(done) }()
		synctest.Wait()
		select {
		case <-done:
			t.Error("both have the only place")
		default:
		}
		two.Leave()
		<-done
		if len(places) != 1 {
			t.Error("the place was not taken back")
		}
		takeBack := one.Lend(ctx) // while another part of the request goes on
		take(one)
		takeBack()
		one.Leave()
		one.Leave()
		if len(places) != 0 {
			t.Error("the place was not given back")
		}

		if err := one.Take(ctx); err == nil || len(places) != 0 {
			t.Errorf("after the end of the request: %v, %d places are held", err, len(places))
		}

		takeBack = one.Lend(ctx)
		take(NewPlace(places))
		cancel(errGone)
		takeBack()
		if err := one.Take(ctx); !errors.Is(err, errGone) {
			t.Errorf("%v", err)
		}
		one.Leave()
		if len(places) != 1 {
			t.Error("a request without a place gave one back")
		}
	})
}

// Two parts of a request that go on at once hold one place.
// TestPlace_PartsWait: of two parts of a request that wait for its place, the second does not
// wait for the one that the first has taken.
func TestPlace_PartsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := make(chan struct{}, 1)
		one, two := NewPlace(places), NewPlace(places)
		if err := one.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		var parts sync.WaitGroup
		decided := one.Lend(t.Context())
		if err := two.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		parts.Go(decided)
		synctest.Wait()
		decided = one.Lend(t.Context())
		parts.Go(decided)
		synctest.Wait()
		two.Leave()
		parts.Wait() // a deadlock fails the test
		if len(places) != 1 {
			t.Errorf("%d places are taken, want 1", len(places))
		}
	})
}

func TestPlace_TakenTwice(t *testing.T) {
	places := make(chan struct{}, 2)
	p := NewPlace(places)
	for range 2 {
		if err := p.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(places) != 1 {
		t.Errorf("%d places", len(places))
	}
}
