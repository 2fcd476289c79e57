package client_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func join(t *testing.T, g *meuptest.Gateway, who string, change func(*client.Options)) *client.Client {
	t.Helper()
	opts := client.Options{URL: g.URL("lab"), Token: who + "-token", Backoff: client.Backoff{Min: 1e6, Max: 2e7}}
	if change != nil {
		change(&opts)
	}
	c, err := client.Dial(testkit.Deadline(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func next(t *testing.T, c *client.Client, kind protocol.Kind) protocol.Envelope {
	t.Helper()
	for {
		env, err := c.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatalf("waiting for %s: %v", kind, err)
		}
		if env.Kind == kind {
			return env
		}
	}
}

func TestGateway_Conversation(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	alice, bob := join(t, g, "alice", nil), join(t, g, "bob", nil)
	if alice.You() != "alice" || alice.Welcome().Space.Name != "lab" {
		t.Errorf("welcome %+v", alice.Welcome())
	}
	if p := next(t, alice, protocol.KindSystemPresence); p.Seq != 0 {
		t.Errorf("presence has a seq: %d", p.Seq)
	}
	if n := len(alice.Welcome().Participants); n != 2 {
		t.Errorf("%d participants", n)
	}
	receipt, err := alice.Send(testkit.Deadline(t), client.Chat("hello <b> & \u2028"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*client.Client{alice, bob} {
		env := next(t, c, protocol.KindChat)
		if env.ID != receipt.ID || env.Seq != receipt.Seq || env.From != "alice" || env.TS.IsZero() || string(env.Payload) != "{\"message\":\"hello <b> & \u2028\"}" {
			t.Errorf("%s received %+v %s", c.You(), env, env.Payload)
		}
	}
}

func TestGateway_DuplicateSend(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	alice, bob := join(t, g, "alice", nil), join(t, g, "bob", nil)
	first, err := alice.Send(testkit.Deadline(t), message(1))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := alice.Send(testkit.Deadline(t), message(1)); err != nil || again != first {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, err := bob.Send(testkit.Deadline(t), message(1)); !errors.Is(err, &protocol.Error{Code: protocol.CodeDuplicateID}) {
		t.Errorf("from another: %v", err)
	}
}

func TestGateway_Refusals(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	planner := join(t, g, "planner", nil)
	_, err := planner.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindMCPRequest, Payload: []byte(`{"method":"tools/list"}`)})
	var refusal *protocol.Error
	if !errors.As(err, &refusal) || refusal.Code != protocol.CodeCapabilityViolation || len(refusal.YourCapabilities) != 2 {
		t.Errorf("error %v", err)
	}
	if _, err := planner.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindChat, To: []protocol.ParticipantID{"nobody"}, Payload: []byte(`{"message":"x"}`)}); !errors.Is(err, &protocol.Error{Code: protocol.CodeUnknownParticipant}) {
		t.Errorf("error %v", err)
	}
	_, err = client.Dial(testkit.Deadline(t), client.Options{URL: g.URL("lab"), Token: "wrong"})
	var refused *client.DialError
	if !errors.As(err, &refused) || refused.Status != 401 {
		t.Errorf("dial: %v", err)
	}
	_, err = client.Dial(testkit.Deadline(t), client.Options{URL: g.URL("nowhere"), Token: "alice-token"})
	if !errors.As(err, &refused) || refused.Status != 404 {
		t.Errorf("dial: %v", err)
	}
}

func TestGateway_StreamData(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	alice, bob := join(t, g, "alice", nil), join(t, g, "bob", nil)
	if _, err := alice.Send(testkit.Deadline(t), protocol.Envelope{ID: "s-1", Kind: protocol.KindStreamOpen, Payload: []byte(`{"stream_id":"s-1"}`)}); err != nil {
		t.Fatal(err)
	}
	receipt, err := alice.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindStreamData, Payload: []byte(`{"stream_id":"s-1","data":"x"}`)})
	if err != nil || receipt.Seq != 0 {
		t.Errorf("%+v, %v", receipt, err)
	}
	if env := next(t, bob, protocol.KindStreamData); env.Seq != 0 {
		t.Errorf("seq %d", env.Seq)
	}
}

func TestGateway_ResumeAfterRestart(t *testing.T) {
	const count = 60
	g := meuptest.Start(t, meuptest.Config)
	alice, bob := join(t, g, "alice", nil), join(t, g, "bob", nil)
	sent := make(chan error, 1)
	go func() {
		for i := range count {
			if _, err := alice.Send(t.Context(), message(i)); err != nil {
				sent <- fmt.Errorf("message %d: %w", i, err)
				return
			}
		}
		sent <- nil
	}()
	for i := range count {
		if i == 20 || i == 40 {
			g.Restart()
		}
		if env := next(t, bob, protocol.KindChat); env.ID != message(i).ID {
			t.Fatalf("received %s, want %s", env.ID, message(i).ID)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestGateway_Kick(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	alice, bob := join(t, g, "alice", nil), join(t, g, "bob", nil)
	if _, err := alice.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindSpaceKick, Payload: []byte(`{"participant_id":"bob","reason":"test"}`)}); err != nil {
		t.Fatal(err)
	}
	<-bob.Done()
	var closed *client.CloseError
	if !errors.As(bob.Err(), &closed) || closed.Code != protocol.CloseKicked {
		t.Errorf("ended with %v", bob.Err())
	}
}

func TestGateway_GrantRefreshesWelcome(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	alice, planner := join(t, g, "alice", nil), join(t, g, "planner", nil)
	if _, err := alice.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindCapabilityGrant, Payload: []byte(`{"recipient":"planner","capabilities":["mcp.request"]}`)}); err != nil {
		t.Fatal(err)
	}
	next(t, planner, protocol.KindSystemWelcome)
	if n := len(planner.Welcome().You.Capabilities); n != 3 {
		t.Errorf("%d capabilities: %s", n, planner.Welcome().You.Capabilities)
	}
	if _, err := planner.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindMCPRequest, Payload: []byte(`{"method":"tools/list"}`)}); err != nil {
		t.Error(err)
	}
}

func TestGateway_Filters(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	alice := join(t, g, "alice", nil)
	bob := join(t, g, "bob", func(o *client.Options) { o.Filter = protocol.Filter{Contexts: []string{""}}; o.NoEcho = true })
	send := func(env protocol.Envelope) protocol.ID {
		t.Helper()
		r, err := alice.Send(testkit.Deadline(t), env)
		if err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	start := send(protocol.Envelope{Kind: protocol.KindReasoningStart, Payload: []byte(`{}`)})
	thought := protocol.Envelope{Kind: protocol.KindReasoningThought, Context: protocol.ContextPath(start), Payload: []byte(`{"message":"hm"}`)}
	send(thought)
	work := send(protocol.Envelope{Kind: protocol.KindMCPRequest, Context: protocol.ContextPath(start), Payload: []byte(`{"method":"tools/list","id":1}`)})
	next(t, bob, protocol.KindReasoningStart)
	if env, err := bob.Receive(testkit.Deadline(t)); err != nil || env.ID != work {
		t.Errorf("received %s, %v", env.Kind, err)
	}
	if err := bob.Subscribe(testkit.Deadline(t), protocol.Filter{}); err != nil {
		t.Fatal(err)
	}
	want := send(thought)
	if env := next(t, bob, protocol.KindReasoningThought); env.ID != want {
		t.Errorf("received %s, want %s", env.ID, want)
	}
}

func TestGateway_Request(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	alice, bob := join(t, g, "alice", nil), join(t, g, "bob", nil)
	served := make(chan error, 1)
	go func() {
		for env, err := range bob.All(t.Context()) {
			if err != nil {
				served <- err
				return
			}
			if env.Kind == protocol.KindMCPRequest {
				_, err := bob.Send(t.Context(), protocol.Envelope{Kind: protocol.KindMCPResponse, To: []protocol.ParticipantID{env.From},
					Correlation: protocol.CorrelateTo(env.ID), Payload: []byte(`{"result":{"tools":[]}}`)})
				served <- err
				return
			}
		}
	}()
	res, err := alice.Request(testkit.Deadline(t), []protocol.ParticipantID{"bob"}, "tools/list", nil, client.RequestOptions{})
	if err != nil || string(res) != `{"tools":[]}` {
		t.Errorf("%s, %v", res, err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestGateway_Observer(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	alice := join(t, g, "alice", nil)
	watcher := join(t, g, "watcher", func(o *client.Options) { o.Observe = true; o.Filter = protocol.Filter{Kinds: []string{"chat"}} })
	if _, err := watcher.Send(testkit.Deadline(t), client.Chat("hi")); !errors.Is(err, &protocol.Error{Code: protocol.CodeCapabilityViolation}) {
		t.Errorf("send: %v", err)
	}
	if _, err := alice.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"bob"}, Payload: []byte(`{"method":"x"}`)}); err != nil {
		t.Fatal(err)
	}
	want, err := alice.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindChat, To: []protocol.ParticipantID{"bob"}, Payload: []byte(`{"message":"psst"}`)})
	if err != nil {
		t.Fatal(err)
	}
	for {
		env, err := watcher.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if env.Seq == 0 {
			continue
		}
		if env.ID != want.ID {
			t.Errorf("received %s", env.Kind)
		}
		return
	}
}

func TestGateway_Discard(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	alice := join(t, g, "alice", func(o *client.Options) { o.Discard, o.Buffer = true, 1 })
	bob := join(t, g, "bob", nil)
	for i := range 20 {
		if _, err := alice.Send(testkit.Deadline(t), message(i)); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		for env, err := range bob.All(t.Context()) {
			if err != nil {
				return
			}
			if env.Kind == protocol.KindMCPRequest {
				_, _ = bob.Send(t.Context(), protocol.Envelope{Kind: protocol.KindMCPResponse, Correlation: protocol.CorrelateTo(env.ID), Payload: []byte(`{"result":1}`)})
			}
		}
	}()
	if res, err := alice.Request(testkit.Deadline(t), []protocol.ParticipantID{"bob"}, "x", nil, client.RequestOptions{}); err != nil || string(res) != "1" {
		t.Errorf("%s, %v", res, err)
	}
	_ = alice.Close()
	if env, err := alice.Receive(testkit.Deadline(t)); !errors.Is(err, client.ErrClosed) {
		t.Errorf("received %s, %v", env.Kind, err)
	}
}

// The address of a gateway is enough: a client finds its socket, also below the path
// of a proxy.
func TestGateway_Address(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	for _, address := range []string{"http://%s", "http://%s/", "http://%s/ws", "ws://%s/ws"} {
		t.Run(address, func(t *testing.T) {
			c := join(t, g, "alice", func(o *client.Options) {
				o.URL, o.Space = fmt.Sprintf(address, g.Addr()), "lab"
			})
			if c.You() != "alice" {
				t.Error(c.You())
			}
		})
	}
}
