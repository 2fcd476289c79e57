package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestSend_InvalidDrafts(t *testing.T) {
	g := newFaultyGateway(t)
	c := g.dial(t, nil)
	for name, test := range map[string]struct {
		draft protocol.Envelope
		code  protocol.Code
	}{
		"payload not JSON":  {protocol.Envelope{Kind: "chat", Payload: []byte(`{"message":`)}, protocol.CodeInvalidJSON},
		"duplicate key":     {protocol.Envelope{Kind: "chat", Payload: []byte(`{"message":"a","message":"b"}`)}, protocol.CodeInvalidJSON},
		"payload no object": {protocol.Envelope{Kind: "chat", Payload: []byte(`[]`)}, protocol.CodeInvalidEnvelope},
		"bad id":            {protocol.Envelope{ID: "a b", Kind: "chat"}, protocol.CodeInvalidEnvelope},
		"bad context":       {protocol.Envelope{Kind: "chat", Context: "/a"}, protocol.CodeInvalidContext},
		"no kind":           {protocol.Envelope{}, protocol.CodeInvalidEnvelope},
		"no correlation":    {protocol.Envelope{Kind: protocol.KindMCPResponse}, protocol.CodeInvalidEnvelope},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Send(testkit.Deadline(t), test.draft)
			if !errors.Is(err, &protocol.Error{Code: test.code}) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	if n := len(g.entries()); n != 0 {
		t.Errorf("%d envelopes left", n)
	}
}

func TestSend_InFlightBound(t *testing.T) {
	g := newFaultyGateway(t)
	g.onFrame = func(*fakeConn, *protocol.Envelope) bool { return true } // never responds
	c := g.dial(t, func(o *client.Options) { o.InFlight = 1 })
	over, cancel := context.WithCancel(testkit.Deadline(t))
	cancel()
	if _, err := c.Send(over, message(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	held, err := c.SendAsync(testkit.Deadline(t), message(2))
	if err != nil {
		t.Fatalf("the place was not given back: %v", err)
	}
	if _, err := c.SendAsync(over, message(3)); !errors.Is(err, context.Canceled) {
		t.Errorf("one more than the bound: %v", err)
	}
	_ = c.Close()
	if _, err := held.Wait(testkit.Deadline(t)); !errors.Is(err, client.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

func TestRequest_IgnoresOtherResponders(t *testing.T) {
	g := newFaultyGateway(t)
	answers := map[string]string{
		"ok":   `{"result":{"n":1}}`,
		"fail": `{"error":{"code":-32601,"message":"no such method"}}`,
	}
	g.onFrame = func(_ *fakeConn, env *protocol.Envelope) bool {
		var rpc struct{ Method string }
		if json.Unmarshal(env.Payload, &rpc) != nil || env.Kind != protocol.KindMCPRequest {
			return false
		}
		g.append(*env)
		respond := func(from protocol.ParticipantID, body string) {
			g.append(protocol.Envelope{ID: protocol.ID(string(from) + "-" + string(env.ID)), From: from, Kind: protocol.KindMCPResponse,
				Correlation: protocol.CorrelateTo(env.ID), Payload: []byte(body)})
		}
		respond("mallory", `{"result":"forged"}`)
		respond("tools", answers[rpc.Method])
		return false
	}
	c := g.dial(t, nil)
	ask := func(method string) (json.RawMessage, error) {
		return c.Request(testkit.Deadline(t), []protocol.ParticipantID{"tools"}, method, map[string]int{"a": 1}, client.RequestOptions{Context: "c-1"})
	}
	if res, err := ask("ok"); err != nil || string(res) != `{"n":1}` {
		t.Errorf("result %s, %v", res, err)
	}
	var rpc *client.RPCError
	if _, err := ask("fail"); !errors.As(err, &rpc) || rpc.Code != -32601 {
		t.Errorf("error %v", err)
	}
	if got := g.entries()[0]; got.Context != "c-1" || got.To[0] != "tools" {
		t.Errorf("request %+v", got)
	}
}

// TestRequest_WithoutAddressees: the response of any participant would be taken
// for the result.
func TestRequest_WithoutAddressees(t *testing.T) {
	g := newFaultyGateway(t)
	g.onFrame = func(_ *fakeConn, env *protocol.Envelope) bool {
		g.append(*env)
		g.append(protocol.Envelope{ID: "forged", From: "mallory", Kind: protocol.KindMCPResponse,
			Correlation: protocol.CorrelateTo(env.ID), Payload: []byte(`{"result":"forged"}`)})
		return false
	}
	c := g.dial(t, nil)
	for name, to := range map[string][]protocol.ParticipantID{"nil": nil, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			if res, err := c.Request(testkit.Deadline(t), to, "tools/list", nil, client.RequestOptions{}); !errors.Is(err, client.ErrNoAddressees) {
				t.Errorf("result %s, %v", res, err)
			}
		})
	}
	if got := g.entries(); len(got) != 0 {
		t.Errorf("%d envelopes were sent", len(got))
	}
}

// The addressees are notified of a cancellation even if the request was not
// acknowledged yet.
func TestRequest_Canceled(t *testing.T) {
	for name, onFrame := range map[string]func(*fakeConn, *protocol.Envelope) bool{
		"acknowledged": nil,
		"not acknowledged": func(c *fakeConn, env *protocol.Envelope) bool {
			env.From = "me"
			c.g.append(*env)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) { cancelRequest(t, onFrame) })
	}
}

func cancelRequest(t *testing.T, onFrame func(*fakeConn, *protocol.Envelope) bool) {
	g := newFaultyGateway(t)
	g.onFrame = onFrame
	c := g.dial(t, nil)
	ctx, cancel := context.WithCancel(testkit.Deadline(t))
	done := make(chan error, 1)
	go func() {
		_, err := c.Request(ctx, []protocol.ParticipantID{"tools"}, "tools/call", nil, client.RequestOptions{})
		done <- err
	}()
	request, err := c.Receive(testkit.Deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	notice, err := c.Receive(testkit.Deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	var rpc struct {
		ID     any
		Method string
		Params struct{ RequestID protocol.ID }
	}
	if err := json.Unmarshal(notice.Payload, &rpc); err != nil {
		t.Fatal(err)
	}
	if rpc.Method != "notifications/cancelled" || rpc.Params.RequestID != request.ID || rpc.ID != nil || !notice.AddressedTo("tools") {
		t.Errorf("told %s %s", notice.Kind, notice.Payload)
	}
}

func TestFilter_AfterReconnect(t *testing.T) {
	g := newFaultyGateway(t)
	var cut atomic.Bool
	g.deliver = func(*fakeConn, *protocol.Envelope) bool { return !cut.CompareAndSwap(true, false) }
	c := g.dial(t, nil)
	if err := c.Subscribe(testkit.Deadline(t), protocol.Filter{Kinds: []string{"chat"}}); err != nil {
		t.Fatal(err)
	}
	thought := protocol.Envelope{Kind: protocol.KindReasoningThought, Payload: []byte(`{"message":"hm"}`), Context: "c"}
	cut.Store(true)
	for i, env := range []protocol.Envelope{thought, message(1), thought, message(2)} {
		env.ID = protocol.ID("e-" + string(rune('0'+i)))
		g.append(env)
	}
	for _, want := range []protocol.ID{"e-1", "e-3"} {
		if env, err := nextEntry(testkit.Deadline(t), c); err != nil || env.ID != want {
			t.Errorf("received %s, %v; want %s", env.ID, err, want)
		}
	}
	if err := c.Subscribe(testkit.Deadline(t), protocol.Filter{Kinds: []string{"/(/"}}); !errors.Is(err, &protocol.Error{Code: protocol.CodeInvalidPayload}) {
		t.Errorf("bad filter: %v", err)
	}
}

func TestDial_Refusal(t *testing.T) {
	g := newFaultyGateway(t)
	g.upgrade = func(w http.ResponseWriter, _ int) bool {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":"unauthorized","message":"Send a token."}`))
		return true
	}
	opts := g.options()
	opts.RetryDial = true // has no effect on a final refusal
	_, err := client.Dial(testkit.Deadline(t), opts)
	if !errors.Is(err, &protocol.Error{Code: protocol.CodeUnauthorized}) {
		t.Errorf("error %v", err)
	}
	g.Close()
	opts.RetryDial = false
	if _, err := client.Dial(testkit.Deadline(t), opts); err == nil {
		t.Error("joined a gateway that is gone")
	}
}

// An unreachable gateway is named by its address and the cause.
func TestDial_Refused(t *testing.T) {
	address := fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t))
	_, err := client.Dial(testkit.Deadline(t), client.Options{URL: "http://" + address, Space: "lab"})
	if err == nil || !strings.HasSuffix(err.Error(), "dial gateway: connection refused: is the gateway running at "+address+"?") {
		t.Errorf("%v", err)
	}
}

func TestClose_WakesWaiters(t *testing.T) {
	g := newFaultyGateway(t)
	g.onFrame = func(*fakeConn, *protocol.Envelope) bool { return true }
	c := g.dial(t, nil)
	errs := make(chan error, 3)
	go func() { _, err := c.Send(t.Context(), message(1)); errs <- err }()
	go func() { _, err := c.Receive(t.Context()); errs <- err }()
	go func() {
		_, err := c.Request(t.Context(), []protocol.ParticipantID{"tools"}, "ping", nil, client.RequestOptions{})
		errs <- err
	}()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := <-errs; !errors.Is(err, client.ErrClosed) {
			t.Errorf("error %v", err)
		}
	}
	_ = c.Close()
	if _, err := c.Send(t.Context(), message(2)); !errors.Is(err, client.ErrClosed) {
		t.Errorf("send after close: %v", err)
	}
	<-c.Done()
}

func TestClose_WhileDisconnected(t *testing.T) {
	g := newFaultyGateway(t)
	g.deliver = func(*fakeConn, *protocol.Envelope) bool { return false }
	waiting := make(chan struct{}, 1)
	c := g.dial(t, func(o *client.Options) {
		const minutes = 18 * time.Minute
		o.Backoff = client.Backoff{Min: minutes, Max: minutes, Rand: func() float64 { return 0.9 }}
		o.OnState = func(s client.State) {
			if s.Phase == client.Waiting {
				waiting <- struct{}{}
			}
		}
	})
	g.append(message(1))
	<-waiting
	_ = c.Close()
}
