package client_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// nextEntry returns the next envelope of the log.
func nextEntry(ctx context.Context, c *client.Client) (protocol.Envelope, error) {
	for {
		if env, err := c.Receive(ctx); err != nil || env.Seq != 0 {
			return env, err
		}
	}
}

// What expires does so by the gateway's clock.
func TestWelcome_Clock(t *testing.T) {
	g := newFaultyGateway(t)
	g.ahead = time.Hour
	before := time.Now()
	w := g.dial(t, nil).Welcome()
	at, err := time.Parse(time.RFC3339, w.ExpiresAt(time.Minute))
	if wait := at.Sub(before); err != nil || wait < 59*time.Minute || wait > time.Hour+time.Minute+time.Since(before) {
		t.Errorf("%s is in %s: %v", at, wait, err)
	}
	w = protocol.Welcome{}
	if w.ExpiresAt(time.Minute) == "" {
		t.Error("no time")
	}
}

// Participants that joined while a connection was lost are in the welcome of
// the next one.
func TestWelcome_AfterReconnect(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	lost, there := make(chan struct{}), make(chan struct{})
	var once sync.Once
	patience := testkit.Deadline(t)
	alice := join(t, g, "alice", func(o *client.Options) {
		o.OnState = func(s client.State) {
			if s.Phase == client.Waiting {
				once.Do(func() { // disconnected until bob has joined
					close(lost)
					select {
					case <-there:
					case <-patience.Done():
					}
				})
			}
		}
	})
	first, err := alice.Send(testkit.Deadline(t), message(1))
	if err != nil {
		t.Fatal(err)
	}
	g.Restart()
	<-lost
	bob := join(t, g, "bob", nil)
	if _, err := bob.Send(testkit.Deadline(t), message(2)); err != nil {
		t.Fatal(err)
	}
	close(there)

	var got []protocol.Envelope
	for len(got) == 0 || got[len(got)-1].ID != message(2).ID {
		env, err := alice.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if env.Kind != protocol.KindSystemPresence {
			got = append(got, env)
		}
	}
	if len(got) != 3 || got[0].ID != first.ID || got[1].Kind != protocol.KindSystemWelcome || got[1].Seq != 0 {
		t.Fatalf("received %+v", got)
	}
	var w protocol.Welcome
	if err := json.Unmarshal(got[1].Payload, &w); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(w.Participants, func(p protocol.Participant) bool { return p.ID == "bob" }) {
		t.Errorf("the welcome names %v", w.Participants)
	}
}

// A buffer for one envelope that fills again after each reconnect: the welcomes
// do not block the envelopes of the log.
func TestWelcome_SmallBuffer(t *testing.T) {
	const backlog = 20
	for name, small := range map[string]func(*client.Options){
		"count": func(o *client.Options) { o.Buffer = 1 },
		"bytes": func(o *client.Options) { o.BufferBytes = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			g := newFaultyGateway(t)
			for i := range backlog {
				g.append(message(i))
			}
			c := g.dial(t, func(o *client.Options) { o.Since = client.After(0); small(o) })
			ctx := testkit.Deadline(t)
			welcomes := 0
			for last := protocol.Seq(0); last < backlog; {
				env, err := c.Receive(ctx)
				if err != nil {
					t.Fatalf("%v, behind %d", err, last)
				}
				if env.Kind == protocol.KindSystemWelcome {
					welcomes++
				} else {
					last++
					if env.Seq != last {
						t.Fatalf("received %d, want %d", env.Seq, last)
					}
				}
				// While a caller waits, the reader drops envelopes that do not
				// fit.
				if _, err := c.Send(ctx, client.Chat("answer")); err != nil {
					t.Fatal(err)
				}
			}
			if n := g.dialCount(); welcomes > n-1 || n < 2 {
				t.Errorf("%d welcomes on %d connections", welcomes, n)
			}
		})
	}
}

func TestWelcome_Discard(t *testing.T) {
	g := newFaultyGateway(t)
	var once sync.Once
	g.onFrame = func(c *fakeConn, _ *protocol.Envelope) (cut bool) {
		once.Do(func() { cut = true; _ = c.CloseNow() })
		return cut
	}
	c := g.dial(t, func(o *client.Options) { o.Discard = true })
	if _, err := c.Send(testkit.Deadline(t), message(1)); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if env, err := c.Receive(testkit.Deadline(t)); err == nil {
		t.Errorf("received %s", env.Kind)
	}
}
