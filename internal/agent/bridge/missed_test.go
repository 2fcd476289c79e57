package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent/bridge"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// counting is a server with a tool that changes something, and one that reads.
func counting() (*atomic.Int64, mcptools.Server) {
	m, n := newMoody(), new(atomic.Int64)
	m.tool("count", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(strconv.FormatInt(n.Add(1), 10)), nil
	})
	m.AddTool(&mcp.Tool{Name: "peek", InputSchema: json.RawMessage(anything), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text("counted " + strconv.FormatInt(n.Load(), 10)), nil
		})
	return n, mcptools.Server{InProcess: m.Server}
}

// catchingUp configures a bridge that answers the requests of the last minute.
func catchingUp(t *testing.T, g *meuptest.Gateway) setup {
	t.Helper()
	return setup{bridge: bridge.Options{Missed: time.Minute, History: g.API(t, "files")}}
}

// Which requests are old is decided by the gateway's clock: a bridge whose own clock is ahead
// leaves none.
func TestMissed_ClockAhead(t *testing.T) {
	g := meuptest.Start(t, config)
	n, server := counting()
	employ(t, g, server, catchingUp(t, g)).stop()
	begin(t, join(t, g, "alice", nil), callOf(1, "count"))
	with := catchingUp(t, g)
	with.ahead = 2 * time.Hour
	employ(t, g, server, with)
	testkit.Eventually(t, "the missed call is made", func() bool { return n.Load() == 1 })
}

// A gateway that goes while the bridge reads what it has missed is asked again.
func TestMissed_GatewayGoes(t *testing.T) {
	g := meuptest.Start(t, config)
	n, server := counting()
	employ(t, g, server, catchingUp(t, g)).stop()
	begin(t, join(t, g, "alice", nil), callOf(1, "count"))
	with := catchingUp(t, g)
	with.bridge.History = &leaving{History: with.bridge.History, away: 4}
	employ(t, g, server, with)
	testkit.Eventually(t, "the missed call is made", func() bool { return n.Load() == 1 })
}

// leaving is the history of a gateway that is away for some requests.
type leaving struct {
	participant.History
	away int
}

func (l *leaving) Envelopes(ctx context.Context, space string, query api.EnvelopeQuery) (*api.Envelopes, error) {
	l.away--
	if l.away >= 0 {
		return nil, &url.Error{Op: "Get", URL: "http://gateway/", Err: errors.New("connection refused")}
	}
	return l.History.Envelopes(ctx, space, query)
}

// A bridge that was stopped answers the requests that were sent while it was
// down, once, unless they were withdrawn. It does not matter whether the
// requester is still connected.
func TestMissed_AfterAStop(t *testing.T) {
	g := meuptest.Start(t, config)
	n, server := counting()
	first := employ(t, g, server, catchingUp(t, g))
	alice := join(t, g, "alice", nil)
	before := begin(t, alice, callOf(1, "count"))
	await(t, alice, responseTo(before))
	first.stop()

	meanwhile := begin(t, alice, callOf(2, "count"))
	withdrawn := begin(t, alice, callOf(`"w"`, "count"))
	begin(t, alice, `{"method":"notifications/cancelled","params":{"requestId":"w"}}`)
	again := begin(t, alice, callOf(`"w"`, "count")) // the same JSON-RPC id after the cancellation
	carol := join(t, g, "carol", nil)
	ofCarol := begin(t, carol, callOf(4, "count"))
	_ = carol.Close()

	second := employ(t, g, server, catchingUp(t, g))
	want := map[protocol.ID]string{meanwhile: `"content"`, withdrawn: `"code":-32002`, again: `"content"`}
	for range len(want) {
		env := await(t, alice, func(env *protocol.Envelope) bool { return env.Kind == protocol.KindMCPResponse && env.From == "files" })
		if got := want[env.Correlation.First()]; got == "" || !strings.Contains(string(env.Payload), got) {
			t.Errorf("%s got %s", env.Correlation.First(), env.Payload)
		}
		delete(want, env.Correlation.First())
	}
	ask(t, alice, "tools/call", tool("peek"))
	testkit.Eventually(t, "the call of carol, who has left, is made too", func() bool { return n.Load() == 4 })
	second.stop()
	third := employ(t, g, server, catchingUp(t, g))
	if got := ask(t, alice, "tools/call", tool("peek")); !strings.Contains(got, "counted 4") || n.Load() != 4 {
		t.Errorf("%s, %d", got, n.Load())
	}
	third.stop()
	responses := make(map[protocol.ID]int)
	for _, env := range entriesOf(t, g, "mcp.response") {
		responses[env.Correlation.First()]++
	}
	for _, id := range []protocol.ID{before, meanwhile, withdrawn, again, ofCarol} {
		if responses[id] != 1 {
			t.Errorf("%s has %d responses", id, responses[id])
		}
	}
}

// entriesOf reads the entries of a kind that the bridge may see.
func entriesOf(t *testing.T, g *meuptest.Gateway, kind string) []protocol.Envelope {
	t.Helper()
	page, err := catchingUp(t, g).bridge.History.Envelopes(testkit.Deadline(t), "lab", api.EnvelopeQuery{Kinds: []string{kind}})
	if err != nil {
		t.Fatal(err)
	}
	return page.Envelopes
}

// A bridge that was killed may have made a call without a response. It repeats
// the call only if the tool reads.
func TestMissed_AfterAKill(t *testing.T) {
	for name, ghost := range map[string]protocol.Envelope{
		"before its first response": {Kind: protocol.KindParticipantStatus, To: theBridge, Payload: []byte(`{"status":"started"}`)},
		"after a response":          {Kind: protocol.KindMCPResponse, Correlation: protocol.CorrelateTo("x"), Payload: []byte(`{"id":1,"result":{}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			g := meuptest.Start(t, config)
			killed, alice := join(t, g, "files", nil), join(t, g, "alice", nil)
			if _, err := killed.Send(testkit.Deadline(t), ghost); err != nil {
				t.Fatal(err)
			}
			_ = killed.Close()
			count, peek, list := begin(t, alice, callOf(1, "count")), begin(t, alice, callOf(2, "peek")), begin(t, alice, `{"id":3,"method":"tools/list"}`)
			n, server := counting()
			employ(t, g, server, catchingUp(t, g))
			want := map[protocol.ID]string{count: `"reason":"restarted"`, peek: "counted 0", list: `"tools"`}
			for range len(want) {
				env := await(t, alice, func(env *protocol.Envelope) bool { return env.Kind == protocol.KindMCPResponse })
				if !strings.Contains(string(env.Payload), want[env.Correlation.First()]) {
					t.Errorf("%s", env.Payload)
				}
			}
			if n.Load() != 0 {
				t.Error("the call was repeated")
			}
		})
	}
}

// A bridge that may not write marks cannot tell whether an earlier process received a
// call: it does not repeat it.
func TestMissed_NoMarks(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(config, `, "participant/status"`, "", 1))
	alice := join(t, g, "alice", nil)
	call := begin(t, alice, callOf(1, "count"))
	n, server := counting()
	employ(t, g, server, catchingUp(t, g))
	if env := await(t, alice, responseTo(call)); !strings.Contains(string(env.Payload), `"reason":"restarted"`) || n.Load() != 0 {
		t.Errorf("%s, called %d times", env.Payload, n.Load())
	}
}

// The window bounds the age of the requests; a bridge that never ran answers
// them like one that was stopped. Without a window there are no marks.
func TestMissed_Window(t *testing.T) {
	for _, test := range []struct {
		later time.Duration
		off   bool
		want  int64
	}{{0, false, 1}, {50 * time.Minute, false, 1}, {70 * time.Minute, false, 0}, {0, true, 0}} {
		t.Run(test.later.String(), func(t *testing.T) {
			g := meuptest.Start(t, config)
			alice := join(t, g, "alice", nil)
			request := begin(t, alice, callOf(1, "count"))
			asked := await(t, alice, func(env *protocol.Envelope) bool { return env.ID == request })
			n, server := counting()
			s := catchingUp(t, g)
			s.bridge.Missed = time.Hour // a busy machine may be seconds late to read the gateway's clock
			s.bridge.Now = func() time.Time { return asked.TS.Add(test.later) }
			if test.off {
				s.bridge.Missed = 0
			}
			e := employ(t, g, server, s)
			if test.want > 0 {
				await(t, alice, responseTo(request))
			}
			ask(t, alice, "tools/call", tool("peek"))
			e.stop() // waits for all calls
			if n.Load() != test.want {
				t.Errorf("%d calls", n.Load())
			}
			if marks := entriesOf(t, g, "participant.status"); len(marks) != map[bool]int{false: 2, true: 0}[test.off] {
				t.Errorf("%d marks", len(marks))
			}
		})
	}
}
