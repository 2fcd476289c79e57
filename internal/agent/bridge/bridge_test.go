package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/bridge"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// A response is addressed to the requester, in the request's context,
// correlates to the request, and contains its JSON-RPC id and the unchanged
// result of the server.
func TestResponse(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := inProcess()
	e := employ(t, g, server, setup{})
	alice := join(t, g, "alice", nil)
	carol := join(t, g, "carol", nil)
	const precise = `{"id":9007199254740993,"price":0.10000000000000000001,"secret":"hush-hush"}`
	for _, id := range []string{`1`, `"one"`, `12345678901234567890123`, `1.50`, `"\u00e9"`} {
		receipt, err := alice.Send(testkit.Deadline(t), protocol.Envelope{
			Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"carol", "files"}, Context: "plan/step-1",
			Payload: json.RawMessage(`{"id":` + id + `,"method":"tools/call","params":{"name":"precise","arguments":` + precise + `}}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		env := await(t, alice, responseTo(receipt.ID))
		if env.From != "files" || len(env.To) != 1 || env.To[0] != "alice" || env.Context != "plan/step-1" || env.Correlation.Array {
			t.Errorf("response %+v", env)
		}
		if p := string(env.Payload); !strings.HasPrefix(p, `{"jsonrpc":"2.0","id":`+id+`,"result":`) || !strings.Contains(p, `"structuredContent":`+precise) {
			t.Errorf("payload %s", p)
		}
	}
	env := await(t, carol, func(env *protocol.Envelope) bool { return env.Kind == protocol.KindMCPRequest })
	if env.From != "alice" {
		t.Errorf("carol got %+v", env)
	}
	if log := e.log.String(); strings.Contains(log, "hush-hush") || strings.Contains(log, "files-token") {
		t.Errorf("log:\n%s", log)
	}
}

// Envelopes that are not addressed to the bridge or are not requests get no
// response.
func TestNotForTheBridge(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := inProcess()
	employ(t, g, server, setup{})
	alice := join(t, g, "alice", nil)
	join(t, g, "carol", nil)
	for _, draft := range []protocol.Envelope{
		{Kind: protocol.KindMCPRequest, Payload: []byte(callOf(1, "pid"))},
		{Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"carol"}, Payload: []byte(callOf(2, "pid"))},
		{Kind: protocol.KindMCPRequest, To: theBridge, Payload: []byte(`{"id":9,"method":"notifications/initialized"}`)},
		{Kind: protocol.KindMCPRequest, To: theBridge, Payload: []byte(`{"method":"notifications/initialized"}`)},
		{Kind: protocol.KindMCPProposal, To: theBridge, Payload: []byte(callOf(3, "pid"))},
		{Kind: protocol.KindChat, To: theBridge, Payload: []byte(`{"message":"hello"}`)},
	} {
		if _, err := alice.Send(testkit.Deadline(t), draft); err != nil {
			t.Fatal(err)
		}
	}
	last := begin(t, alice, `{"id":4,"method":"ping"}`)
	env := await(t, alice, func(env *protocol.Envelope) bool { return env.From == "files" && env.Seq > 0 })
	if !env.Correlation.Names(last) || string(env.Payload) != `{"jsonrpc":"2.0","id":4,"result":{}}` {
		t.Errorf("the bridge says %s", env.Payload)
	}
}

// The envelope's id replaces a JSON-RPC id that a MEW client omits.
func TestBridge_RequestWithoutID(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := inProcess()
	employ(t, g, server, setup{})
	alice := join(t, g, "alice", nil)
	id := begin(t, alice, `{"method":"ping"}`)
	env := await(t, alice, func(env *protocol.Envelope) bool { return env.Kind == protocol.KindMCPResponse })
	if want := `{"jsonrpc":"2.0","id":"` + string(id) + `","result":{}}`; !env.Correlation.Names(id) || string(env.Payload) != want {
		t.Errorf("the bridge answers %s, want %s", env.Payload, want)
	}
}

func TestRefusals(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := inProcess()
	employ(t, g, server, setup{})
	alice := join(t, g, "alice", nil)
	if e := refused(t, alice, "tools/call", tool("refuse")); e.Code != -31999 || e.Message != "not today" || string(e.Data) != `{"until":9007199254740993}` {
		t.Errorf("refusal %+v %s", e, e.Data)
	}
	if e := refused(t, alice, "tools/call", tool("fly")); e.Code != -32602 {
		t.Errorf("unknown tool: %+v", e)
	}
	if e := refused(t, alice, "tasks/list", nil); e.Code != -32601 || !strings.Contains(e.Message, "tasks/list") {
		t.Errorf("unknown method: %+v", e)
	}
	if e := refused(t, alice, "completion/complete", map[string]any{"ref": map[string]any{"type": "ref/prompt", "name": "greet"}, "argument": map[string]any{"name": "a", "value": ""}}); e.Code != -32601 {
		t.Errorf("what the server has not: %+v", e)
	}
	for _, params := range []any{[]int{1}, map[string]any{"name": 7}} {
		if e := refused(t, alice, "tools/call", params); e.Code != -32602 {
			t.Errorf("params %v: %+v", params, e)
		}
	}
	if e := refused(t, alice, "resources/read", map[string]any{"uri": "mood://none"}); e.Code > -32000 {
		t.Errorf("unknown resource: %+v", e)
	}
	if e := refused(t, alice, "tools/call", tool("refuse at length")); !strings.Contains(string(e.Data), `"too_large"`) {
		t.Errorf("a long refusal: %+v %.100s", e, e.Data)
	}
}

// The gateway checks the capabilities.
func TestCapabilities_CheckedByGateway(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := inProcess()
	employ(t, g, server, setup{})
	reader := join(t, g, "reader", nil)
	ask(t, reader, "tools/call", tool("pid"))
	_, err := reader.Request(testkit.Deadline(t), theBridge, "tools/call", tool("huge"), client.RequestOptions{})
	if !errors.Is(err, &protocol.Error{Code: protocol.CodeCapabilityViolation}) {
		t.Errorf("error %v", err)
	}
}

func TestInitialize(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := inProcess()
	employ(t, g, server, setup{})
	alice := join(t, g, "alice", nil)
	for asked, want := range map[string]string{"2025-06-18": "2025-06-18", "2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25"} {
		var got struct {
			ProtocolVersion, Instructions string
			ServerInfo                    struct{ Name, Version string }
			Capabilities                  map[string]any
		}
		if err := json.Unmarshal([]byte(ask(t, alice, "initialize", map[string]any{"protocolVersion": asked, "capabilities": map[string]any{}})), &got); err != nil {
			t.Fatal(err)
		}
		if got.ProtocolVersion != want || got.Instructions != "be gentle" || got.ServerInfo.Name != "moody" || got.Capabilities["tools"] == nil || got.Capabilities["completions"] != nil {
			t.Errorf("%s: %+v", asked, got)
		}
	}
}

func TestPages(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := inProcess()
	employ(t, g, server, setup{})
	alice := join(t, g, "alice", nil)
	var names []string
	cursor, pages := "", 0
	for ; pages == 0 || cursor != ""; pages++ {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		var page struct {
			Tools      []struct{ Name string }
			NextCursor string
		}
		if err := json.Unmarshal([]byte(ask(t, alice, "tools/list", params)), &page); err != nil {
			t.Fatal(err)
		}
		for _, tool := range page.Tools {
			names = append(names, tool.Name)
		}
		cursor = page.NextCursor
	}
	if pages != 2 || fmt.Sprint(names) != "[change grow huge pid precise refuse refuse at length wait]" {
		t.Errorf("%d pages: %q", pages, names)
	}
	if e := refused(t, alice, "tools/list", map[string]any{"cursor": "nonsense"}); e.Code != -32602 {
		t.Errorf("a cursor that is none: %+v", e)
	}
}

// A result that does not fit into an envelope: a tool's text is truncated and
// marked, any other result becomes an error with its size.
func TestTooLarge(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := inProcess()
	employ(t, g, server, setup{})
	alice := join(t, g, "alice", nil)
	got := ask(t, alice, "tools/call", tool("huge"))
	if len(got) < 250<<10 || len(got) > 256<<10 || !strings.Contains(got, `[cut: the first `) || !strings.Contains(got, `"meup/truncated"`) {
		t.Errorf("%d bytes: %.100s", len(got), got)
	}
	e := refused(t, alice, "resources/read", map[string]any{"uri": "mood://huge"})
	var data struct {
		Reason       bridge.Reason
		Bytes, Limit int
	}
	if err := json.Unmarshal(e.Data, &data); err != nil || data.Reason != bridge.TooLarge || data.Bytes < 1<<20 || data.Limit > 256<<10 {
		t.Errorf("%+v %s", e, e.Data)
	}
}

func TestCancelled(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := inProcess()
	employ(t, g, server, setup{})
	alice, carol := join(t, g, "alice", nil), join(t, g, "carol", nil)
	cancel := func(c *client.Client, requestID string) {
		begin(t, c, `{"method":"notifications/cancelled","params":{"requestId":`+requestID+`}}`)
	}
	first, second, third := begin(t, alice, callOf(1, "wait")), begin(t, alice, callOf(`"two"`, "wait")), begin(t, alice, callOf(3, "wait"))
	cancel(carol, `1`)
	cancel(carol, `"`+string(first)+`"`)
	cancel(alice, `3`)
	cancel(alice, `"t\u0077o"`)
	for _, id := range []protocol.ID{third, second} {
		env := await(t, alice, func(env *protocol.Envelope) bool { return env.Kind == protocol.KindMCPResponse })
		if !env.Correlation.Names(second) && !env.Correlation.Names(third) || !strings.Contains(string(env.Payload), `"reason":"cancelled"`) {
			t.Errorf("%s: response %s", id, env.Payload)
		}
	}
	cancel(alice, `"`+string(first)+`"`)
	await(t, alice, responseTo(first))
}

func reasonOf(env *protocol.Envelope) bridge.Reason {
	var p struct {
		Error struct {
			Data struct{ Reason bridge.Reason }
		}
	}
	_ = json.Unmarshal(env.Payload, &p)
	return p.Error.Data.Reason
}

// TestBridge_BusyAsker: one requester gets four of sixteen slots. Its other
// requests are refused at once, another requester's is accepted, and every
// request gets exactly one response.
func TestBridge_BusyAsker(t *testing.T) {
	g := meuptest.Start(t, config)
	m, server := inProcess()
	employ(t, g, server, setup{bridge: bridge.Options{MaxCalls: 2, MaxWaiting: 14}})
	alice := join(t, g, "alice", nil)
	const requests = 400 // more than maxAsync
	for i := range requests {
		begin(t, alice, callOf(i, "wait"))
	}
	seen := make(map[string]int)
	isResponse := func(env *protocol.Envelope) bool { return env.Kind == protocol.KindMCPResponse }
	for range requests - 4 {
		env := await(t, alice, isResponse)
		if reasonOf(&env) != bridge.Busy {
			t.Errorf("response %s", env.Payload)
		}
		seen[string(env.Correlation.First())]++
	}
	if got := ask(t, alice, "ping", nil); got != "{}" {
		t.Errorf("ping %s", got)
	}
	carol := join(t, g, "carol", nil)
	begin(t, carol, callOf(requests, "wait"))
	if got := ask(t, carol, "ping", nil); got != "{}" { // the call was accepted before
		t.Errorf("ping %s", got)
	}
	close(m.release)
	answer := await(t, carol, func(env *protocol.Envelope) bool {
		return isResponse(env) && strings.Contains(string(env.Payload), fmt.Sprintf(`"id":%d,`, requests))
	})
	if !strings.Contains(string(answer.Payload), "released") {
		t.Errorf("response to another asker %s", answer.Payload)
	}
	for range 4 {
		env := await(t, alice, isResponse)
		for env.Correlation.First() == "" || strings.Contains(string(env.Payload), `"result":{}`) {
			env = await(t, alice, isResponse)
		}
		if !strings.Contains(string(env.Payload), "released") {
			t.Errorf("response %s", env.Payload)
		}
		seen[string(env.Correlation.First())]++
	}
	if len(seen) != requests {
		t.Errorf("%d requests answered", len(seen))
	}
}

func TestHangingTool(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := inProcess()
	employ(t, g, server, setup{tools: mcptools.Options{CallTimeout: 200 * time.Millisecond}})
	alice := join(t, g, "alice", nil)
	if e := refused(t, alice, "tools/call", tool("wait")); e.Code != -32001 || !strings.Contains(string(e.Data), `"timeout"`) {
		t.Errorf("%+v", e)
	}
	testkit.Eventually(t, "the answer of another call", func() bool { // a busy machine may need longer than CallTimeout
		env := await(t, alice, responseTo(begin(t, alice, callOf(1, "pid"))))
		return strings.Contains(string(env.Payload), `"content"`)
	})
}

func pidOf(t *testing.T, c *client.Client) string {
	t.Helper()
	var res struct{ Content []struct{ Text string } }
	if err := json.Unmarshal([]byte(ask(t, c, "tools/call", tool("pid"))), &res); err != nil || len(res.Content) != 1 {
		t.Fatalf("pid: %v", err)
	}
	return res.Content[0].Text
}

// The server is killed during a call: the requester receives an error, and the
// next call uses a new process. Subscriptions are renewed.
func TestServerDies(t *testing.T) {
	g := meuptest.Start(t, config)
	employ(t, g, ownProcess(t), setup{})
	alice := join(t, g, "alice", nil)
	ask(t, alice, "resources/subscribe", map[string]any{"uri": "mood://now"})
	ask(t, alice, "prompts/list", nil)
	before := pidOf(t, alice)
	hanging := begin(t, alice, `{"id":1,"method":"tools/call","params":{"name":"wait","_meta":{"progressToken":"p"}}}`)
	env := await(t, alice, saying("notifications/progress"))
	if !strings.Contains(string(env.Payload), `"progressToken":"p"`) || !env.Correlation.Names(hanging) {
		t.Errorf("progress %s", env.Payload)
	}
	kill(t, before)
	env = await(t, alice, responseTo(hanging))
	if reasonOf(&env) != bridge.Gone {
		t.Errorf("response %s", env.Payload)
	}
	if after := pidOf(t, alice); after == before {
		t.Errorf("still %s", after)
	}
	lists, updated := false, false // the latter also says that the subscription is renewed
	await(t, alice, func(env *protocol.Envelope) bool {
		lists = lists || saying("notifications/prompts/list_changed")(env)
		updated = updated || saying("notifications/resources/updated")(env)
		return lists && updated
	})
	testkit.Eventually(t, "an update is heard", func() bool { // the subscription takes effect some time after the request
		ask(t, alice, "tools/call", tool("change"))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		for {
			env, err := alice.Receive(ctx)
			switch {
			case err != nil && ctx.Err() == nil:
				t.Fatal(err)
			case err != nil:
				return false
			case saying("notifications/resources/updated")(&env):
				return true
			}
		}
	})
}
