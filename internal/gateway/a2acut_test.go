package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// cutter is an agent whose connections are cut.
type cutter struct {
	t       *testing.T
	g       *meuptest.Gateway
	binding a2a.TransportProtocol

	task     string
	cursor   string
	seen     []string // the cursors of the events that arrived, without the task
	thoughts int
	answers  int
	state    string
}

// request makes a request of an operation, which continues after the cursor.
func (c *cutter) request(ctx context.Context, operation, params string) *http.Request {
	c.t.Helper()
	path, body := "/a2a/lab", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, operation, params)
	if c.binding == a2a.TransportProtocolHTTPJSON {
		body = params
		path += map[string]string{
			"SendMessage": "/message:send", "SendStreamingMessage": "/message:stream", "SubscribeToTask": "/tasks/" + c.task + ":subscribe",
		}[operation]
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.g.HTTP()+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice-token")
	r.Header.Set("A2A-Version", "1.0")
	if c.cursor != "" {
		r.Header.Set("Last-Event-ID", c.cursor)
	}
	return r
}

// stream reads a stream and cuts it after so many bytes; below 0: not.
func (c *cutter) stream(operation, params string, limit int64) {
	c.t.Helper()
	ctx := testkit.Deadline(c.t) // a stream without an end fails the test
	resp, err := http.DefaultClient.Do(c.request(ctx, operation, params))
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	body := io.Reader(resp.Body)
	if limit >= 0 {
		body = io.LimitReader(body, limit)
	}
	text, _ := io.ReadAll(body) // it ends by the limit, the task or the gateway
	if ctx.Err() != nil {
		c.t.Fatalf("the stream has no end:\n%s", text)
	}
	if resp.StatusCode != http.StatusOK {
		c.t.Fatalf("%d %s", resp.StatusCode, text)
	}
	events := strings.Split(string(text), "\n\n")
	for _, event := range events[:len(events)-1] {
		c.event(event)
	}
}

// event takes a complete event.
func (c *cutter) event(event string) {
	c.t.Helper()
	id, data, ok := strings.Cut(event, "\ndata: ")
	if !ok || strings.HasPrefix(id, "event: error") {
		return
	}
	type update struct {
		ID, TaskID string
		Status     struct{ State string }
		Metadata   map[string]any
	}
	type response struct {
		Task, StatusUpdate, ArtifactUpdate *update
		Result                             json.RawMessage
	}
	var r response
	err := json.Unmarshal([]byte(data), &r)
	if err == nil && c.binding == a2a.TransportProtocolJSONRPC {
		err = json.Unmarshal(r.Result, &r)
	}
	if err != nil {
		c.t.Fatalf("%s: %v", event, err)
	}
	if r.Task != nil {
		c.task = r.Task.ID
		return
	}
	u := r.StatusUpdate
	if u == nil {
		u = r.ArtifactUpdate
		c.answers++
	} else {
		c.state = u.Status.State
	}
	cursor, _ := u.Metadata["meup.cursor"].(string)
	if "id: "+cursor != id {
		c.t.Errorf("%s with the cursor %s", id, cursor)
	}
	c.thoughts += strings.Count(data, `"meup.kind":"reasoning.thought"`)
	if u != r.StatusUpdate || c.state == "TASK_STATE_WORKING" { // the end and a proposal come again
		c.seen = append(c.seen, cursor)
	}
	c.cursor = cursor
}

// wait calls SendMessage and cuts the connection when the request was sent.
func (c *cutter) wait(params string) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { cancel() }})
	resp, err := http.DefaultClient.Do(c.request(ctx, "SendMessage", params))
	if err == nil { // the response was faster
		_ = resp.Body.Close()
	} else if !errors.Is(err, context.Canceled) {
		c.t.Fatal(err)
	}
}

// cutsOf returns how many connections a test cuts: n with make slow, otherwise a tenth.
func cutsOf(n int) int {
	if testkit.IsSlow() {
		return n
	}
	return n / 10
}

// Connections are cut again and again in the middle of a stream, a wait and an approval, and
// the gateway restarts three times, once while a proposal waits. Every event arrives once and in order, and the log has
// one question and one decision.
func TestA2A_Cuts(t *testing.T) {
	for _, binding := range a2aBindings {
		t.Run(string(binding), func(t *testing.T) {
			t.Parallel()
			cutA2A(t, binding, cutsOf(100))
		})
	}
}

func cutA2A(t *testing.T, binding a2a.TransportProtocol, cuts int) {
	random, thoughts := testkit.Rand(t), cuts*3/2
	g := meuptest.Start(t, aguiConfig)
	var restarts sync.RWMutex
	a, c := actor{t, g, &restarts}, &cutter{t: t, g: g, binding: binding}
	asks := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"why?"}]}}`
	c.wait(asks) // the question may be asked or not
	c.stream("SendStreamingMessage", asks, 400)
	var played sync.WaitGroup
	played.Go(func() {
		q := a.next(protocol.KindChat, 0)
		a.does("planner", "s", "reasoning.start", "", "", string(q.ID), `{"message":"thinking"}`)
		for i := range thoughts {
			a.does("planner", fmt.Sprint("t", i), "reasoning.thought", "s", "", "", fmt.Sprintf(`{"message":"thought %d of many, with some text to cut in"}`, i))
		}
		a.does("planner", "p", "mcp.proposal", "s", "", "", `{"participant_id":"files",`+writeCall+`}`)
	})
	played.Wait()
	finished := sync.OnceFunc(func() {
		task := c.task
		played.Go(func() {
			decided := a.next("mcp.request", 0)
			a.does("files", "r", "mcp.response", "", string(decided.From), string(decided.ID), `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"written"}]}}`)
			a.concludes("planner", envelopeOf("c", "reasoning.conclusion", "s", "", "", `{"message":"that is it"}`),
				envelopeOf("a", "chat", "", "alice", task, `{"message":"done"}`))
		})
	})
	n, waits := 0, false
	for ; c.state != "TASK_STATE_COMPLETED"; n++ {
		if n > cuts+50 {
			t.Fatalf("the task does not end: %s at %s", c.state, c.cursor)
		}
		limit := random.Int64N(6000)
		if n >= cuts {
			limit = -1
		}
		proposed := c.state == "TASK_STATE_INPUT_REQUIRED"
		if proposed {
			finished()
		}
		if n == cuts/3 || n == cuts*2/3 || proposed && !waits {
			waits = waits || proposed
			restarts.Lock()
			g.Restart()
			restarts.Unlock()
		}
		switch {
		case proposed:
			decision := fmt.Sprintf(`{"message":{"messageId":"d","taskId":%q,"role":"ROLE_USER","parts":[{"data":{"proposal":"p","decision":"approve"}}]}}`, c.task)
			if n%2 == 0 {
				c.wait(decision)
			} else {
				c.stream("SendStreamingMessage", decision, limit)
			}
		case n%5 == 0:
			c.wait(asks)
		case n%5 == 1 || c.task == "": // the first stream may have been cut before the task
			c.stream("SendStreamingMessage", asks, limit)
		default:
			c.stream("SubscribeToTask", fmt.Sprintf(`{"id":%q}`, c.task), limit)
		}
	}
	played.Wait()
	c.check(t, g, thoughts)
}

func (c *cutter) check(t *testing.T, g *meuptest.Gateway, thoughts int) {
	t.Helper()
	var last protocol.Seq
	for _, cursor := range c.seen {
		text, _, _ := strings.Cut(cursor, ".")
		seq, err := protocol.ParseSeq(text)
		if err != nil || seq <= last {
			t.Fatalf("%s after %d", cursor, last)
		}
		last = seq
	}
	_, log := story(t, g, "alice")
	questions, decisions := 0, 0
	for _, e := range log {
		questions += map[bool]int{true: 1}[e.Kind == protocol.KindChat && e.From == "alice"]
		decisions += map[bool]int{true: 1}[e.Kind == protocol.KindMCPRequest && e.Correlation.Names("p")]
	}
	if questions != 1 || decisions != 1 || c.thoughts != thoughts || c.answers != 1 {
		t.Errorf("%d questions, %d decisions, %d thoughts, %d answers", questions, decisions, c.thoughts, c.answers)
	}
}
