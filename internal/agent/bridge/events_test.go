package bridge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/bridge"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// A participant that requested a list is notified when it changes; no other
// participant is.
func TestListChanged(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := inProcess()
	employ(t, g, server, setup{})
	alice, carol := join(t, g, "alice", nil), join(t, g, "carol", nil)
	ask(t, alice, "tools/list", nil)
	ask(t, alice, "prompts/list", nil)
	ask(t, carol, "resources/templates/list", nil)
	ask(t, carol, "tools/call", tool("grow"))
	told := make(map[string]bool)
	for range 2 {
		env := await(t, alice, func(env *protocol.Envelope) bool {
			return saying("notifications/tools/list_changed")(env) || saying("notifications/prompts/list_changed")(env)
		})
		if len(env.To) != 1 || env.To[0] != "alice" || strings.Contains(string(env.Payload), `"id"`) {
			t.Errorf("notification %+v %s", env, env.Payload)
		}
		told[string(env.Payload)] = true
	}
	if len(told) != 2 {
		t.Errorf("alice was told %v", told)
	}
	env := await(t, carol, func(env *protocol.Envelope) bool { return env.Kind == protocol.KindMCPRequest && env.From == "files" })
	if string(env.Payload) != `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}` {
		t.Errorf("carol was told %s", env.Payload)
	}
	if list := ask(t, carol, "prompts/list", nil); !strings.Contains(list, `"grown"`) {
		t.Errorf("prompts %s", list)
	}
}

func TestSubscriptions(t *testing.T) {
	g := meuptest.Start(t, config)
	m, server := inProcess()
	employ(t, g, server, setup{})
	alice, carol := join(t, g, "alice", nil), join(t, g, "carol", nil)
	now := map[string]any{"uri": "mood://now"}
	ask(t, alice, "resources/subscribe", now)
	ask(t, carol, "resources/subscribe", now)
	<-m.subscribed // the bridge subscribes once
	ask(t, alice, "tools/call", tool("change"))
	for _, c := range []*client.Client{alice, carol} {
		env := await(t, c, saying("notifications/resources/updated"))
		if len(env.To) != 1 || env.To[0] != c.You() || !strings.Contains(string(env.Payload), `"params":{"uri":"mood://now"}`) || env.Correlation.First() == "" {
			t.Errorf("notification %+v %s", env, env.Payload)
		}
	}
	ask(t, alice, "resources/unsubscribe", now)
	ask(t, carol, "tools/call", tool("change"))
	await(t, carol, saying("notifications/resources/updated"))
	ask(t, carol, "resources/unsubscribe", now)
	ask(t, carol, "tools/call", tool("change"))
	begin(t, alice, `{"id":1,"method":"ping"}`)
	env := await(t, alice, func(env *protocol.Envelope) bool {
		return env.From == "files" && (strings.Contains(string(env.Payload), `"id":1`) || saying("notifications/resources/updated")(env))
	})
	if env.Kind != protocol.KindMCPResponse {
		t.Errorf("alice is told still: %s", env.Payload)
	}
	if e := refused(t, alice, "resources/subscribe", map[string]any{"uri": strings.Repeat("x", 10_000)}); e.Code != -32602 {
		t.Errorf("a long uri: %+v", e)
	}
}

// The end of a subscription does not end the notifications of changed lists.
func TestUnsubscribe_ListsStillChange(t *testing.T) {
	for revision, ends := range map[string]int{"2026-07-28": 0, "2025-11-25": 1} {
		t.Run(revision, func(t *testing.T) {
			g := meuptest.Start(t, config)
			m, server := inProcess()
			employ(t, g, server, setup{tools: mcptools.Options{Protocol: revision}})
			alice, carol := join(t, g, "alice", nil), join(t, g, "carol", nil)
			ask(t, alice, "tools/list", nil)
			now := map[string]any{"uri": "mood://now"}
			ask(t, carol, "resources/subscribe", now)
			ask(t, carol, "resources/unsubscribe", now)
			ask(t, carol, "tools/call", tool("pid"))
			if len(m.unsubscribed) != ends {
				t.Errorf("%d subscriptions ended at the server", len(m.unsubscribed))
			}
			ask(t, carol, "tools/call", tool("grow"))
			await(t, alice, saying("notifications/tools/list_changed"))
		})
	}
}

// Two clients that act as one participant subscribe, and one of them ends.
func TestUnsubscribe_OneOfTwo(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := inProcess()
	employ(t, g, server, setup{tools: mcptools.Options{Protocol: "2025-11-25"}})
	alice := join(t, g, "alice", nil)
	now := map[string]any{"uri": "mood://now"}
	for _, method := range []string{"resources/subscribe", "resources/subscribe", "resources/unsubscribe"} {
		ask(t, alice, method, now)
	}
	ask(t, alice, "tools/call", tool("change"))
	await(t, alice, saying("notifications/resources/updated"))
}

// Status, pause and shutdown work as for any participant of this project.
func TestControlRequests(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := inProcess()
	e := employ(t, g, server, setup{})
	alice := join(t, g, "alice", nil)
	order := func(kind protocol.Kind, payload string) protocol.ID {
		t.Helper()
		r, err := alice.Send(testkit.Deadline(t), protocol.Envelope{Kind: kind, To: theBridge, Payload: json.RawMessage(payload)})
		if err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	status := func() string {
		id := order(protocol.KindParticipantRequestStatus, `{}`)
		env := await(t, alice, func(env *protocol.Envelope) bool {
			return env.Kind == protocol.KindParticipantStatus && env.Correlation.Names(id)
		})
		return string(env.Payload)
	}
	if got := status(); got != `{"status":"idle","calls":0,"waiting":0,"paused":false}` {
		t.Errorf("status %s", got)
	}
	order(protocol.KindParticipantPause, `{}`)
	held := begin(t, alice, callOf(1, "pid"))
	if got := status(); got != `{"status":"working","calls":0,"waiting":1,"paused":true}` {
		t.Errorf("status %s", got)
	}
	order(protocol.KindParticipantResume, `{}`)
	await(t, alice, responseTo(held))
	order(protocol.KindParticipantPause, `{"timeout_seconds":0.05}`)
	ask(t, alice, "tools/call", tool("pid"))

	hanging := begin(t, alice, callOf(2, "wait"))
	order(protocol.KindParticipantShutdown, `{}`)
	env := await(t, alice, responseTo(hanging))
	if reasonOf(&env) != bridge.Shutdown {
		t.Errorf("response %s", env.Payload)
	}
	if err := <-e.done; err != nil {
		t.Errorf("ended with %v", err)
	}
	e.done <- nil // for stop
}
