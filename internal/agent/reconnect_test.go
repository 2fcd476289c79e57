package agent_test

import (
	"context"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestReconnect_NewParticipants(t *testing.T) {
	g := meuptest.Start(t, config)
	lost, there := make(chan struct{}), make(chan struct{})
	var once sync.Once
	patience := testkit.Deadline(t)
	c, err := client.Dial(patience, client.Options{URL: g.URL("lab"), Token: "planner-token", OnState: func(s client.State) {
		if s.Phase == client.Waiting {
			once.Do(func() { // disconnected until carol has joined
				close(lost)
				select {
				case <-there:
				case <-patience.Done():
				}
			})
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	a := agent.New(agent.Options{Space: c, Planner: deciding(counting)})
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		_ = c.Close()
	})
	g.Restart()
	<-lost
	k := keep(t, joinHost(t, g, "carol"), text("42 sheep"))
	close(there)
	select {
	case <-k.listed:
	case <-testkit.Deadline(t).Done():
		t.Fatal("carol was not asked for her tools")
	}
	alice := join(t, g, "alice")
	all := conversation(t, alice, answerTo(ask(t, alice, "how many?")))
	if text := decode(t, last(all))["message"]; text != "success | 42 sheep\n" {
		t.Errorf("answer %q", text)
	}
}
