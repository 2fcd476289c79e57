package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

var a2aBindings = []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON}

// An agent with the JavaScript SDK of A2A asks over both bindings, is cut off and
// continues, decides on a proposal, and gets the answer.
func TestA2A_JavaScript(t *testing.T) {
	t.Parallel()
	nodeModules(t, "@a2a-js/sdk")
	var runs []map[string]string
	var played sync.WaitGroup
	t.Cleanup(played.Wait)
	for _, binding := range a2aBindings {
		for _, decision := range []string{"", "approve", "reject"} {
			g := meuptest.Start(t, aguiConfig)
			played.Go(func() { actor{t: t, g: g}.answers(decision != "") })
			runs = append(runs, map[string]string{"ADDRESS": g.HTTP() + "/a2a/lab", "BINDING": string(binding), "DECISION": decision})
		}
	}
	outs := nodeRuns(t, "@a2a-js/sdk", "a2a.mjs", []string{"TOKEN=alice-token"}, runs)
	played.Wait()
	for i, run := range runs {
		t.Run(run["BINDING"]+" "+run["DECISION"], func(t *testing.T) { checkA2A(t, outs[i], run["DECISION"]) })
	}
}

func checkA2A(t *testing.T, out, decision string) {
	t.Helper()
	for _, want := range []string{
		`"skills":["ask"`, `"state":"TASK_STATE_SUBMITTED"`, `{"type":"list","value":{"size":1,"next":"","tasks":["a2a-`,
		`"text is no decision","error":"UnsupportedOperationError"`, `"subscribe to the end","error":"UnsupportedOperationError"`,
		`"cancel the end","error":"TaskNotCancelableError"`, `"no task","error":"TaskNotFoundError"`, `"file","error":"ContentTypeNotSupportedError"`,
		map[string]string{"": `"text":"done"`, "approve": `"text":"written"`, "reject": `"text":"not written"`}[decision],
		map[string]string{"": ``, "approve": `is fulfilled`, "reject": `is rejected: no thanks`}[decision],
	} {
		if !strings.Contains(out, want) && !(decision == "" && strings.HasPrefix(want, `"text is no`)) {
			t.Errorf("missing %s", want)
		}
	}
	events := 0
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var x struct {
			Type  string
			Value struct {
				ID        string
				Status    struct{ State string }
				Artifacts []json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(line), &x); err != nil && !strings.Contains(line, `"cut"`) {
			t.Fatal(err)
		}
		state, answers := x.Value.Status.State, len(x.Value.Artifacts)
		switch x.Type {
		case "event":
			events++
		case "task", "retry":
			if state != "TASK_STATE_COMPLETED" || answers != 1 {
				t.Errorf("%s: %s, %d answers", x.Type, state, answers)
			}
		case "canceled", "canceled again":
			if state != "TASK_STATE_CANCELED" {
				t.Errorf("%s: %s", x.Type, state)
			}
		}
	}
	for _, once := range []string{`"text":"thinking about it"`, `"text":"first I read the file"`, `"call":"call","result"`} {
		if n := strings.Count(out, once); n != 1 {
			t.Errorf("%d times %s", n, once)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// a2aToken adds a token, and the cursor of a context, to the calls of a client.
type a2aToken struct {
	a2aclient.PassthroughInterceptor
	token string
}

type a2aCursor struct{}

func (b a2aToken) Before(ctx context.Context, r *a2aclient.Request) (context.Context, any, error) {
	r.ServiceParams["Authorization"] = []string{"Bearer " + b.token}
	if cursor, ok := ctx.Value(a2aCursor{}).(string); ok {
		r.ServiceParams["Last-Event-ID"] = []string{cursor}
	}
	return ctx, nil, nil
}

// a2aClient returns the Go client of a participant, at an address below /a2a.
func a2aClient(t *testing.T, g *meuptest.Gateway, token, address string, binding a2a.TransportProtocol) *a2aclient.Client {
	t.Helper()
	card, err := agentcard.DefaultResolver.Resolve(t.Context(), g.HTTP()+"/a2a/"+address)
	if err != nil {
		t.Fatal(err)
	}
	config := a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{binding}}
	c, err := a2aclient.NewFromCard(t.Context(), card, a2aclient.WithConfig(config), a2aclient.WithCallInterceptors(a2aToken{token: token}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Destroy(); http.DefaultClient.CloseIdleConnections() })
	return c
}

func a2aText(id, text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: &a2a.Message{ID: id, Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}}
}

// An agent with the Go client asks an agent of the space, approves a proposal, asks
// again in the same conversation, lists and cancels.
func TestA2A_Go(t *testing.T) {
	for _, binding := range a2aBindings {
		t.Run(string(binding), func(t *testing.T) {
			g := meuptest.Start(t, aguiConfig)
			c, a := a2aClient(t, g, "alice-token", "lab/agents/planner", binding), actor{t: t, g: g}
			var played sync.WaitGroup
			defer played.Wait()
			played.Go(func() { a.answers(true) })
			ctx := t.Context()
			// The first result is the proposal, the second one the answer.
			result, err := c.SendMessage(ctx, a2aText("m1", "why?"))
			if err != nil {
				t.Fatal(err)
			}
			task := result.(*a2a.Task)
			asked, _ := task.Status.Message.Parts[1].Data().(map[string]any)
			if task.Status.State != a2a.TaskStateInputRequired || asked["proposal"] != "p" {
				t.Fatalf("%+v", task.Status)
			}
			if got, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID}); err != nil || got.Status.State != a2a.TaskStateInputRequired {
				t.Errorf("%+v %v", got, err)
			}
			decide := &a2a.SendMessageRequest{Message: a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewDataPart(map[string]any{"proposal": "p", "decision": "approve"}))}
			result, err = c.SendMessage(ctx, decide)
			if err != nil {
				t.Fatal(err)
			}
			task = result.(*a2a.Task)
			if task.Status.State != a2a.TaskStateCompleted || len(task.Artifacts) != 1 || task.Artifacts[0].Parts[0].Text() != "written" {
				t.Errorf("%+v", task)
			}
			// The next question is in the same thread, and can be canceled.
			next := a2aText("m2", "and then?")
			next.Message.ContextID, next.Config = task.ContextID, &a2a.SendMessageConfig{ReturnImmediately: true}
			result, err = c.SendMessage(ctx, next)
			if err != nil {
				t.Fatal(err)
			}
			second := result.(*a2a.Task)
			turn, err := g.API(t, "alice").TurnOf(ctx, "lab", protocol.ID(second.ID))
			if err != nil || second.ContextID != task.ContextID || turn.ThreadID != protocol.ID(task.ID) || turn.Turn.TurnNumber != 2 {
				t.Errorf("%+v in %+v %v", second, turn, err)
			}
			listA2A(t, c, task, second)
			second, err = c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: second.ID})
			if err != nil || second.Status.State != a2a.TaskStateCanceled {
				t.Errorf("%+v %v", second, err)
			}
			_, err = c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID})
			if !errors.Is(err, a2a.ErrTaskNotCancelable) {
				t.Error(err)
			}
		})
	}
}

// listA2A lists a completed task and one that was submitted after it, in pages and
// with filters.
func listA2A(t *testing.T, c *a2aclient.Client, completed, submitted *a2a.Task) {
	t.Helper()
	var ids []a2a.TaskID
	for q := (&a2a.ListTasksRequest{PageSize: 1}); ; {
		page, err := c.ListTasks(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range page.Tasks {
			ids = append(ids, task.ID)
		}
		q.PageToken = page.NextPageToken
		if q.PageToken == "" {
			break
		}
	}
	if len(ids) != 2 || ids[0] != submitted.ID || ids[1] != completed.ID {
		t.Errorf("%v, not %s and %s", ids, submitted.ID, completed.ID)
	}
	past, future := completed.Status.Timestamp.Add(-time.Hour), completed.Status.Timestamp.Add(time.Hour)
	for _, test := range []struct {
		q    a2a.ListTasksRequest
		want int
	}{
		{a2a.ListTasksRequest{Status: a2a.TaskStateCompleted}, 1},
		{a2a.ListTasksRequest{Status: a2a.TaskStateFailed}, 0},
		{a2a.ListTasksRequest{ContextID: completed.ContextID}, 2},
		{a2a.ListTasksRequest{ContextID: "another"}, 0},
		{a2a.ListTasksRequest{StatusTimestampAfter: &past}, 2},
		{a2a.ListTasksRequest{StatusTimestampAfter: &future}, 0},
	} {
		if page, err := c.ListTasks(t.Context(), &test.q); err != nil || len(page.Tasks) != test.want || page.TotalSize != test.want {
			t.Errorf("%+v: %+v %v", test.q, page, err)
		}
	}
}

// A task of another participant's private question is not found. A public one is found,
// but only its asker cancels it.
func TestA2A_Visibility(t *testing.T) {
	g := meuptest.Start(t, aguiConfig)
	alice, guest := a2aClient(t, g, "alice-token", "lab/agents/planner", a2aBindings[0]), a2aClient(t, g, "guest-token", "lab", a2aBindings[1])
	all := a2aClient(t, g, "alice-token", "lab", a2aBindings[0])
	ask := func(c *a2aclient.Client, id string) a2a.TaskID {
		m := a2aText(id, "why?")
		m.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
		result, err := c.SendMessage(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		return result.(*a2a.Task).ID
	}
	private, public, own := ask(alice, "1"), ask(all, "1"), ask(guest, "1")
	if private == public || public == own {
		t.Errorf("%s %s %s", private, public, own)
	}
	for _, id := range []a2a.TaskID{private, "nothing", "no id", a2a.TaskID(strings.Repeat("x", 1000))} {
		if _, err := guest.GetTask(t.Context(), &a2a.GetTaskRequest{ID: id}); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("%s: %v", id, err)
		}
		if _, err := guest.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: id}); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("cancel %s: %v", id, err)
		}
		for _, err := range guest.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: id}) {
			if !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("subscribe %s: %v", id, err)
			}
		}
	}
	if task, err := guest.GetTask(t.Context(), &a2a.GetTaskRequest{ID: public}); err != nil || task.ID != public {
		t.Errorf("%+v %v", task, err)
	}
	if _, err := guest.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: public}); !errors.Is(err, a2a.ErrTaskNotCancelable) {
		t.Error(err)
	}
	if page, err := guest.ListTasks(t.Context(), new(a2a.ListTasksRequest)); err != nil || len(page.Tasks) != 1 || page.Tasks[0].ID != own {
		t.Errorf("%+v %v", page, err)
	}
}

// rpcA2A posts a request of JSON-RPC, and returns the code of its error; 0: none.
func rpcA2A(t *testing.T, g *meuptest.Gateway, token, path, body string, header ...string) (status, code int, text string) {
	t.Helper()
	status, text = postAs(t, g, token, path, body, header...)
	var response struct{ Error struct{ Code int } }
	if err := json.Unmarshal([]byte(text), &response); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return status, response.Error.Code, text
}

// Bad requests have the errors of the specification.
func TestA2A_Errors(t *testing.T) {
	g := meuptest.Start(t, aguiConfig)
	version := []string{"A2A-Version", "1.0"}
	call := func(method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","method":%q,"params":%s}`, method, params)
	}
	said := func(fields string) string { return call("SendMessage", `{"message":{`+fields+`}}`) }
	for _, test := range []struct {
		name, body string
		header     []string
		code       int
	}{
		{"no JSON", `{`, version, -32700},
		{"batch", `[]`, version, -32600},
		{"no version of JSON-RPC", `{"id":1,"method":"GetTask"}`, version, -32600},
		{"id", `{"jsonrpc":"2.0","id":{},"method":"GetTask"}`, version, -32600},
		{"method", call("Nothing", `{}`), version, -32601},
		{"params", call("GetTask", `[]`), version, -32602},
		{"earlier method", call("message/send", `{}`), version, -32009},
		{"no version", call("GetTask", `{"id":"x"}`), nil, -32009},
		{"version", call("GetTask", `{"id":"x"}`), []string{"A2A-Version", "2.0"}, -32009},
		{"tenant", call("GetTask", `{"id":"x","tenant":"another"}`), version, -32602},
		{"history", call("GetTask", `{"id":"x","historyLength":-1}`), version, -32602},
		{"page", call("ListTasks", `{"pageSize":101}`), version, -32602},
		{"page token", call("ListTasks", `{"pageToken":"1.x"}`), version, -32602},
		{"state", call("ListTasks", `{"status":"DONE"}`), version, -32602},
		{"no message", call("SendMessage", `{}`), version, -32602},
		{"role", said(`"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]`), version, -32602},
		{"no parts", said(`"messageId":"m","role":"ROLE_USER"`), version, -32602},
		{"context", said(`"messageId":"m","role":"ROLE_USER","contextId":"a b","parts":[{"text":"x"}]`), version, -32602},
		{"file", said(`"messageId":"m","role":"ROLE_USER","parts":[{"raw":"AA=="}]`), version, -32005},
		{"output", call("SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"acceptedOutputModes":["image/png"]}}`), version, -32005},
		{"push", call("SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"taskPushNotificationConfig":{"url":"https://example.org"}}}`), version, -32003},
		{"push configuration", call("CreateTaskPushNotificationConfig", `{"taskId":"x"}`), version, -32003},
		{"decision without a task", said(`"messageId":"m","role":"ROLE_USER","parts":[{"data":{"proposal":"p","decision":"approve"}}]`), version, -32602},
		{"decision", said(`"messageId":"m","taskId":"x","role":"ROLE_USER","parts":[{"data":{"proposal":"p","decision":true}}]`), version, -32602},
		{"task", said(`"messageId":"m","taskId":"x","role":"ROLE_USER","parts":[{"text":"yes"}]`), version, -32001},
		{"cursor", call("SubscribeToTask", `{"id":"x"}`), append([]string{"Last-Event-ID", "1.-1"}, version...), -32602},
	} {
		t.Run(test.name, func(t *testing.T) {
			if status, code, text := rpcA2A(t, g, "alice-token", "/a2a/lab", test.body, test.header...); status != 200 || code != test.code {
				t.Errorf("%d %s", status, text)
			}
		})
	}
	big := said(`"messageId":"m","role":"ROLE_USER","parts":[{"text":"` + strings.Repeat("x", 1<<20) + `"}]`)
	for _, test := range []struct {
		name, token, path, body string
		status                  int
	}{
		{"no token", "", "/a2a/lab", call("GetTask", `{}`), 401},
		{"wrong token", "wrong", "/a2a/lab", call("GetTask", `{}`), 401},
		{"no space", "alice-token", "/a2a/nowhere", call("GetTask", `{}`), 404},
		{"long", "alice-token", "/a2a/lab", big, 413},
		{"recipient", "alice-token", "/a2a/lab/agents/a%20b", said(`"messageId":"m"`), 404},
		{"path", "alice-token", "/a2a/lab/nothing", `{}`, 404},
		{"task", "alice-token", "/a2a/lab/tasks/x:cancel", `{}`, 404},
		{"push", "alice-token", "/a2a/lab/tasks/x/pushNotificationConfigs", `{}`, 400},
		{"body", "alice-token", "/a2a/lab/message:send", `[]`, 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, text := postAs(t, g, test.token, test.path, test.body, version...)
			if status != test.status || !strings.Contains(text, `"ErrorInfo"`) && !strings.Contains(text, `google.rpc.ErrorInfo`) {
				t.Errorf("%d %s", status, text)
			}
		})
	}
	if status, text := postAs(t, g, "alice-token", "/a2a/lab", call("ListTasks", `{}`), append([]string{"Host", "rebound.example.org"}, version...)...); status != 403 {
		t.Errorf("another host: %d %s", status, text)
	}
	// Without a space in the path it is the tenant, or the only one of the token.
	for _, params := range []string{`{"tenant":"lab"}`, `{}`} {
		if status, code, text := rpcA2A(t, g, "alice-token", "/a2a", call("ListTasks", params), version...); status != 200 || code != 0 {
			t.Errorf("%s: %d %s", params, status, text)
		}
	}
	if _, log := story(t, g, "alice"); len(log) > 0 {
		t.Errorf("%d envelopes", len(log))
	}
}

// The card without a token names nothing but the space, and is the same for a space that
// does not exist. With a token it names the participants.
func TestA2A_Card(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(aguiConfig, "planner-token,", "planner-token, description: Answers questions.,", 1))
	planner, err := client.Dial(t.Context(), client.Options{URL: g.URL("lab"), Token: "planner-token"})
	if err != nil {
		t.Fatal(err)
	}
	defer planner.Close()
	get := func(path, token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.HTTP()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set("A2A-Version", "1.0")
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	const card = "/.well-known/agent-card.json"
	_, lab := get("/a2a/lab"+card, "")
	_, nowhere := get("/a2a/nowhere"+card, "")
	if strings.Contains(lab, "planner") || strings.ReplaceAll(nowhere, "nowhere", "lab") != lab || !strings.Contains(lab, `"pushNotifications"`) == strings.Contains(lab, `"pushNotifications":true`) {
		t.Errorf("%s\n%s", lab, nowhere)
	}
	for _, path := range []string{"/a2a/lab" + card, "/a2a/lab/extendedAgentCard"} {
		if status, text := get(path, "alice-token"); status != 200 || !strings.Contains(text, `"agents/planner"`) ||
			!strings.Contains(text, `"description":"Answers questions.\nAsk planner alone, `) {
			t.Errorf("%d %s", status, text)
		}
	}
	const agent = "/a2a/lab/agents/planner"
	if _, text := get(agent+card, ""); strings.Contains(text, "Answers questions.") {
		t.Errorf("without a token: %s", text)
	}
	for _, path := range []string{agent + card, agent + "/extendedAgentCard"} {
		if status, text := get(path, "alice-token"); status != 200 || strings.Contains(text, `"agents/`) ||
			strings.Count(text, `"description":"Answers questions.\nAsk planner, a participant `) != 2 {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	for path, want := range map[string]int{"/a2a/a%20b" + card: 404, "/a2a/lab/agents/a%20b" + card: 404, "/a2a/lab/extendedAgentCard": 401} {
		if status, text := get(path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, text := get("/a2a/nowhere"+card, "alice-token"); status != 404 {
		t.Errorf("%d %s", status, text)
	}
}

// A participant has as many streams as connections; another one is refused for now.
func TestA2A_Bound(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(aguiConfig, "limits: {", "limits: {connections: 2, ", 1))
	c := a2aClient(t, g, "alice-token", "lab", a2aBindings[1])
	ctx, cancel := context.WithCancel(t.Context())
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	subscribed := make(chan struct{}, 2)
	for i := range 2 {
		open.Go(func() {
			for event, err := range c.SendStreamingMessage(ctx, a2aText(fmt.Sprint("m", i), "why?")) {
				if update, ok := event.(*a2a.TaskStatusUpdateEvent); ok && update.Status.State == a2a.TaskStateWorking {
					subscribed <- struct{}{} // the turn is followed
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	a := actor{t: t, g: g}
	for i := range 2 { // both questions, in either order
		q := a.next(protocol.KindChat, protocol.Seq(i))
		a.does("planner", fmt.Sprint("s", i), "reasoning.start", "", "", string(q.ID), `{"message":"thinking"}`)
	}
	for range 2 {
		<-subscribed
	}
	status, text := postAs(t, g, "alice-token", "/a2a/lab/message:send", `{"message":{"messageId":"m2","role":"ROLE_USER","parts":[{"text":"why?"}]}}`, "A2A-Version", "1.0")
	if status != 429 || !strings.Contains(text, "RESOURCE_EXHAUSTED") {
		t.Errorf("%d %s", status, text)
	}
}

// A participant decides only on proposals of the task, and only on calls that it may make. A
// decision that is sent again is one decision.
func TestA2A_Decisions(t *testing.T) {
	g := meuptest.Start(t, aguiConfig)
	a := actor{t: t, g: g}
	a.does("planner", "old", "mcp.proposal", "", "", "", `{"participant_id":"files",`+writeCall+`}`)
	alice := a2aClient(t, g, "alice-token", "lab", a2aBindings[1])
	m := a2aText("m", "why?")
	m.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	result, err := alice.SendMessage(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	task := result.(*a2a.Task).ID
	var played sync.WaitGroup
	defer played.Wait()
	played.Go(func() { a.answers(true) })
	p := a.next(protocol.KindMCPProposal, 2)
	decide := func(token, proposal, word string) (int, string) {
		return postAs(t, g, token, "/a2a/lab/message:send", fmt.Sprintf(
			`{"message":{"messageId":%q,"taskId":%q,"role":"ROLE_USER","parts":[{"data":{"proposal":%q,"decision":%q}}]}}`, token+word, task, proposal, word), "A2A-Version", "1.0")
	}
	for _, test := range []struct {
		token, proposal string
		status          int
	}{{"alice-token", "old", 400}, {"alice-token", "nothing", 400}, {"alice-token", string(task), 400}, {"guest-token", string(p.ID), 403}} {
		if status, text := decide(test.token, test.proposal, "approve"); status != test.status {
			t.Errorf("%s of %s: %d %s", test.proposal, test.token, status, text)
		}
	}
	// The guest is not asked.
	if got, err := a2aClient(t, g, "guest-token", "lab", a2aBindings[0]).GetTask(t.Context(), &a2a.GetTaskRequest{ID: task}); err != nil || got.Status.State != a2a.TaskStateWorking {
		t.Errorf("%+v %v", got, err)
	}
	for _, word := range []string{"approve", "approve", "reject"} { // the later ones change nothing
		if status, text := decide("alice-token", string(p.ID), word); status != 200 || !strings.Contains(text, `"text":"written"`) {
			t.Errorf("%s: %d %s", word, status, text)
		}
	}
	_, log := story(t, g, "alice")
	decisions := 0
	for _, e := range log {
		decisions += map[bool]int{true: 1}[e.Correlation.Names(p.ID)]
	}
	if decisions != 1 {
		t.Errorf("%d decisions", decisions)
	}
}
