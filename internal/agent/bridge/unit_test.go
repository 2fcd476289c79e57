package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/protocol"
)

func parsed(t testing.TB, text string) protocol.Value {
	t.Helper()
	doc, err := protocol.ParseJSON([]byte(text), protocol.MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

// Only fields spelled as the gateway reads them reach a decoder that folds
// case.
func TestParams_ExactNames(t *testing.T) {
	c := parsed(t, `{"REF":{"type":"ref/prompt","name":"b"},"ref":{"TYPE":"x","type":"ref/prompt","name":"a"},"argument":{"name":"n","VALUE":"w","value":"v"}}`)
	got, err := decode[mcp.CompleteParams](c, shape{"ref": {"type": nil, "name": nil, "uri": nil}, "argument": {"name": nil, "value": nil}})
	if err != nil || got.Ref.Name != "a" || got.Ref.Type != "ref/prompt" || got.Argument.Value != "v" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := decode[mcp.CompleteParams](parsed(t, `{"argument":{"name":5}}`), shape{"argument": {"name": nil}}); err == nil || !strings.Contains(err.Error(), "invalid params: argument.name: expected a string, not a number") {
		t.Errorf("a number as name: %v", err)
	}
	p, err := decode[mcp.CallToolParams](parsed(t, `{"NAME":"delete_all"}`), shape{"name": nil})
	if err != nil || p.Name != "" {
		t.Errorf("%+v, %v", p, err)
	}
}

// The keys of _meta that describe the requester's connection are not forwarded,
// and the progress tokens of two requesters are distinct.
func TestMeta(t *testing.T) {
	b := New(Options{Space: &space{}, Server: refusing{}})
	meta := `{"_meta":{"io.modelcontextprotocol/protocolVersion":"1999-01-01","traceparent":"00-1","progressToken":7}}`
	tokens := make(map[any]bool)
	for _, asker := range []protocol.ParticipantID{"alice", "carol"} {
		var params mcp.ReadResourceParams
		done := b.forwardMeta(&call{asker: asker, Request: participant.Request{Params: parsed(t, meta)}}, &params)
		if len(params.Meta) != 2 || string(params.Meta["traceparent"].(json.RawMessage)) != `"00-1"` {
			t.Errorf("_meta %v", params.Meta)
		}
		token, _ := params.Meta[progressToken].(string)
		v, _ := b.progress.Load(token)
		if x, ok := v.(*progress); !ok || x.asker != asker || string(x.token) != "7" {
			t.Errorf("expected %+v", x)
		}
		tokens[token] = true
		done()
		if _, known := b.progress.Load(token); known {
			t.Error("progress of a call that has ended is passed on")
		}
	}
	if len(tokens) != 2 {
		t.Errorf("tokens %v", tokens)
	}
}

func TestNoticesAreBounded(t *testing.T) {
	n := NewNotices()
	for range 3 * maxNotices {
		n.Put(logMessage, nil)
		n.Put(toolsChanged, nil)
		n.Put(resourceUpdated, &mcp.ResourceUpdatedNotificationParams{URI: "a"})
	}
	list, restarted, dropped := n.drain()
	if len(list) != maxNotices || restarted || dropped == 0 {
		t.Errorf("%d wait, %d dropped", len(list), dropped)
	}
	list, _, dropped = n.drain()
	if len(list) != 0 || dropped != 0 {
		t.Errorf("%d wait, %d dropped", len(list), dropped)
	}
	for range 3 {
		n.Put(toolsChanged, nil)
		n.Put(resourceUpdated, &mcp.ResourceUpdatedNotificationParams{URI: "a"})
		n.Put(resourceUpdated, &mcp.ResourceUpdatedNotificationParams{URI: "b"})
	}
	list, _, _ = n.drain()
	if len(list) != 3 {
		t.Errorf("%d wait", len(list))
	}
	for step := range maxProgress + 3 {
		n.Put(progressMade, &mcp.ProgressNotificationParams{ProgressToken: "1", Progress: float64(step)})
	}
	n.Put(progressMade, &mcp.ProgressNotificationParams{ProgressToken: "2"})
	var steps []float64
	list, _, _ = n.drain()
	for _, x := range list[:len(list)-1] {
		steps = append(steps, x.params.(*mcp.ProgressNotificationParams).Progress)
	}
	if want := []float64{0, 1, 2, 3, 4, 5, 6, maxProgress + 2}; !slices.Equal(steps, want) {
		t.Errorf("progress %v, want %v", steps, want)
	}
}

func TestListenersAreBounded(t *testing.T) {
	l := newListeners()
	for i := range 2 * maxListeners {
		l.listen(toolsChanged, protocol.ParticipantID(fmt.Sprint(i)))
		l.listen(toolsChanged, "faithful")
	}
	list := l.of(toolsChanged)
	if len(list) != maxListeners || list[len(list)-1] != "faithful" {
		t.Errorf("%d listeners, the last is %s", len(list), list[len(list)-1])
	}
	for i := range maxSubscriptions {
		if !l.subscribe(subscription{uri: fmt.Sprint("x://", i), asker: "alice", envelope: "1"}) {
			t.Fatal("refused")
		}
	}
	if l.subscribe(subscription{uri: "x://more", asker: "alice"}) || !l.subscribe(subscription{uri: "x://7", asker: "alice", envelope: "2"}) {
		t.Error("not the bound that was meant")
	}
	if got := l.subscribers("x://7/part"); len(got) != 1 || got[0].envelope != "2" {
		t.Errorf("subscribers of a part: %v", got)
	}
	if l.unsubscribe("x://7", "alice") || !l.unsubscribe("x://7", "alice") {
		t.Error("not subscribed twice")
	}
	for i := range maxSubscriptions {
		l.subscribed(fmt.Sprint("x://", i))
		l.subscribed(fmt.Sprint("x://", i))
	}
	if got := l.subscribed("x://new"); got != "x://7" || len(l.remote) != maxSubscriptions { // the only one without a subscriber
		t.Errorf("%s was removed of %d", got, len(l.remote))
	}
	l.forget("alice")
	if len(l.restarted()) != 0 {
		t.Error("remembers who is unknown")
	}
}

// space is a log in memory that a bridge reads to its end.
type space struct {
	mu   sync.Mutex
	in   []received
	head protocol.Seq
	sent []protocol.Envelope
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

func (s *space) Send(_ context.Context, env protocol.Envelope) (client.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, env)
	return client.Receipt{}, nil
}

func (s *space) Welcome() protocol.Welcome {
	w := protocol.Welcome{Space: protocol.SpaceInfo{Seq: s.head}}
	w.You.ID, w.You.Limits.MessageBytes = "files", 64<<10
	return w
}

// refusing is a server that refuses every request.
type refusing struct{}

func (refusing) Tools() []mcptools.Tool { return nil }

func (refusing) SharesListen(*mcp.ClientSession) bool { return true }

func (refusing) Do(context.Context, mcptools.Op) (mcptools.Result, error) {
	return mcptools.Result{}, &jsonrpc.Error{Code: -1, Message: "no"}
}

func request(seq protocol.Seq, payload string) received {
	return received{env: protocol.Envelope{
		ID: protocol.ID(fmt.Sprint("r", seq)), Seq: seq, From: "alice", To: []protocol.ParticipantID{"files"},
		Kind: protocol.KindMCPRequest, Payload: json.RawMessage(payload),
	}}
}

// A lost log may be replaced by a copy of it. The requests in the copy were
// answered.
func TestRestoredLog(t *testing.T) {
	const ping = `{"id":1,"method":"ping"}`
	s := &space{head: 4, in: []received{
		request(9, ping), {err: &client.GapError{After: 9, Reset: true}},
		request(3, ping), request(4, ping), request(5, ping), {err: &client.GapError{After: 5, Oldest: 7}}, request(7, ping),
	}}
	if err := New(Options{Space: s, Server: refusing{}}).Run(t.Context()); !errors.Is(err, errEnd) {
		t.Errorf("ended with %v", err)
	}
	answered := make(map[protocol.ID]bool)
	for _, env := range s.sent {
		answered[env.Correlation.First()] = true
	}
	if len(s.sent) != 3 || !answered["r9"] || !answered["r5"] || !answered["r7"] {
		t.Errorf("answered %v", answered)
	}
}

// Each request gets one response, with its own id or, if it has none, the
// envelope's id; notifications get none.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"method":"ping"}`, `{"id":"x","method":"tools/call","params":{"name":"a","arguments":{"n":1e400},"_meta":{"progressToken":[1]}}}`,
		`{"method":"notifications/cancelled","params":{"requestId":1}}`, `{"id":{},"method":"resources/subscribe","params":{"uri":"\u0000"}}`,
		`{"id":2,"method":"completion/complete","params":{"ref":[],"argument":{"name":{}}}}`, `{"id":3,"method":"tools/list","params":[]}`,
		`{"id":4,"method":"logging/setLevel","params":{"level":7}}`, `{"id":5,"method":"initialize","params":null}`, `[]`, `{`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		s := &space{in: []received{request(1, payload)}}
		if err := New(Options{Space: s, Server: refusing{}}).Run(t.Context()); !errors.Is(err, errEnd) {
			t.Fatal(err)
		}
		doc, err := protocol.ParseJSON([]byte(payload), protocol.MaxDepth)
		want, id := 0, []byte(`"r1"`)
		if err == nil {
			method := doc.Root().Get("method").Text()
			if x := doc.Root().Get("id"); x.Exists() {
				id = x.Raw()
			} else if method == "" {
				id = nil
			}
			if id != nil && !strings.HasPrefix(method, "notifications/") {
				want = 1
			}
		}
		if len(s.sent) != want {
			t.Fatalf("%d responses", len(s.sent))
		}
		if want == 0 {
			return
		}
		answer, err := protocol.ParseJSON(s.sent[0].Payload, protocol.MaxDepth+4)
		if err != nil {
			t.Fatalf("%v: %s", err, s.sent[0].Payload)
		}
		if string(answer.Root().Get("id").Raw()) != string(id) {
			t.Errorf("id %s came back in %s", id, s.sent[0].Payload)
		}
	})
}

// A server's error that the gateway would reject loses its data, not its code.
func TestRefusalsThatDoNotFit(t *testing.T) {
	b := New(Options{Space: &space{}, Server: refusing{}})
	for _, data := range []string{`{"a":1,"a":2}`, `"` + strings.Repeat("x", 70<<10) + `"`, strings.Repeat("[", 100) + strings.Repeat("]", 100)} {
		got := b.fit(&call{Request: participant.Request{ID: json.RawMessage("1")}}, outcome{fault: &client.RPCError{Code: 7, Message: "no", Data: json.RawMessage(data)}})
		if got.fault.Code != 7 || got.fault.Message != "no" || len(got.fault.Data) > 200 {
			t.Errorf("%.50s became %+v", data, got.fault)
		}
	}
	for _, result := range []string{`{"a":1,"a":2}`, `{"a":"\ud800"}`} {
		if got := b.fit(&call{}, outcome{result: json.RawMessage(result)}); got.fault == nil || !strings.Contains(string(got.fault.Data), string(Unusable)) {
			t.Errorf("%s became %+v", result, got)
		}
	}
}
