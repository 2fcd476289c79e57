package tui_test

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMessages_Offline(t *testing.T) {
	g := meuptest.Start(t, config)
	x := open(t, g, "alice", 80, 24, nil)
	x.sees("● connected")
	g.Stop()
	x.sees("○ reconnecting")
	x.enters("first, into the dark")
	x.sees("Waiting for the connection.")
	x.enters("second")
	x.golden("offline.screen", "2 unsent")
	x.enters("/quit")
	x.sees("2 messages not sent")
	g.Restart()
	x.sees("● connected", "Reconnected.", "thread 1, turn 2")
	x.wait("both are sent", func(screen string) bool {
		return !strings.Contains(screen, "Waiting") && strings.Contains(screen, "you · turn 2")
	})
}

func TestConnectionLost_WhileReasoning(t *testing.T) {
	g := meuptest.Start(t, config)
	sign := make(chan struct{})
	employ(t, g, "guide", agent.Options{Tools: handbook(t), Planner: held(sign, "At last.")})
	x := open(t, g, "alice", 80, 24, nil)
	x.sees("with guide")
	x.enters("take your time")
	x.sees("list_directory → ")
	g.Restart()
	x.sees("Reconnected.", "with guide")
	close(sign)
	x.sees("At last.", "▸ Thought for", "Reasoning (turn 1)")
}

func TestKicked(t *testing.T) {
	g := meuptest.Start(t, config)
	x := open(t, g, "bob", 80, 24, nil)
	x.sees("● connected")
	c := dial(t, g, "alice")
	if _, err := c.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindSpaceKick, Payload: []byte(`{"participant_id":"bob","reason":"enough"}`)}); err != nil {
		t.Fatal(err)
	}
	x.sees("✗ disconnected", "Disconnected: ")
	x.types(ctrlD)
	if err := x.end(); err == nil {
		t.Error("no error says why")
	}
}

func TestTerminated(t *testing.T) {
	g := meuptest.Start(t, config)
	x := open(t, g, "alice", 80, 24, nil)
	x.sees("● connected")
	x.stop()
	if err := x.end(); err != nil {
		t.Error(err)
	}
}
