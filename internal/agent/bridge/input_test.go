package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/bridge"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

func zoneForm(message string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(`{"type":"object","required":["zone"],"properties":{"zone":{"type":"string"},"alive":{"type":"boolean"}}}`)}
}

// deploying is a tool without state that asks for input in two rounds, first twice, and returns what
// it got.
func deploying(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	got, err := json.Marshal(req.Params.InputResponses)
	if err != nil {
		return nil, err
	}
	state := req.Params.RequestState + string(got)
	switch _, last := req.Params.InputResponses["3"]; {
	case req.Params.RequestState == "":
		return &mcp.CallToolResult{RequestState: "begun", InputRequests: mcp.InputRequestMap{
			"1": zoneForm("Which zone?"), "2": &mcp.ElicitParams{Mode: "url", Message: "Sign in", URL: "https://example.org/in"},
		}}, nil
	case !last:
		return &mcp.CallToolResult{RequestState: state, InputRequests: mcp.InputRequestMap{"3": zoneForm("Which other zone?")}}, nil
	}
	return text(state + string(req.Params.Arguments)), nil
}

// needy is a server in this process, of the newest revision, with a tool that asks.
func needy(run mcp.ToolHandler) mcptools.Server {
	m, server := inProcess()
	m.tool("deploy", run)
	return server
}

// answering is a setup with a bridge that passes questions on, in the newest revision.
func answering() setup { return setup{tools: mcptools.Options{OnElicit: bridge.Elicit}} }

// nextQuestion receives a question about a call.
func nextQuestion(t *testing.T, c *client.Client, call protocol.ID, message string) *protocol.Envelope {
	t.Helper()
	q := await(t, c, func(env *protocol.Envelope) bool { return saying("elicitation/create")(env) || responseTo(call)(env) })
	if got := q.ParsePayload().Get("params").Get("message").Text(); got != message || !q.Correlation.Names(call) {
		t.Fatalf("the caller got %s %s; expected the question %q", q.Kind, q.Payload, message)
	}
	return &q
}

const deployCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deploy","arguments":{"n":9007199254740993}}}`

// A result input_required becomes questions to the caller, one after the other, and the call
// goes on with the answers.
func TestInputRequired(t *testing.T) {
	m, pipes := inProcess()
	m.tool("deploy", deploying)
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m.Server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)
	for name, server := range map[string]mcptools.Server{"pipes": pipes, "HTTP": {URL: web.URL}} {
		t.Run(name, func(t *testing.T) {
			g := meuptest.Start(t, config)
			employ(t, g, server, answering())
			alice, carol := join(t, g, "alice", nil), join(t, g, "carol", nil)
			id, other := begin(t, alice, deployCall), begin(t, carol, deployCall)
			nextQuestion(t, carol, other, "Which zone?") // each caller is asked about its own call
			q := nextQuestion(t, alice, id, "Which zone?")
			params := q.ParsePayload().Get("params")
			if !strings.Contains(string(params.Raw()), `"required":["zone"],"properties":{"zone":{"type":"string"},"alive"`) {
				t.Errorf("the form has changed: %s", params.Raw())
			}
			if got := params.Get("_meta").Get("meup/server").Get("name").Text(); got != "moody" {
				t.Errorf("the question names the server %q", got)
			}
			reply(t, alice, q, `"result":{"action":"accept","content":{"zone":"eu"}}`)
			reply(t, alice, nextQuestion(t, alice, id, "Sign in"), `"result":{"action":"decline"}`)
			reply(t, alice, nextQuestion(t, alice, id, "Which other zone?"), `"error":{"code":-32601,"message":"Method not found"}`)
			const want = `begun{"1":{"action":"accept","content":{"zone":"eu"}},"2":{"action":"decline"}}{"3":{"action":"cancel"}}{"n":9007199254740993}`
			if got := outcomeOf(t, alice, id); got != want {
				t.Errorf("the server got %s\nexpected %s", got, want)
			}
		})
	}
}

// Prompts and resources may ask, too.
func TestInputRequired_PromptAndResource(t *testing.T) {
	g := meuptest.Start(t, config)
	m, server := inProcess()
	m.AddPrompt(&mcp.Prompt{Name: "deploy"}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if r.Params.RequestState == "" {
			return &mcp.GetPromptResult{RequestState: "s", InputRequests: mcp.InputRequestMap{"1": zoneForm("Which zone?")}}, nil
		}
		return &mcp.GetPromptResult{Description: "asked", Messages: []*mcp.PromptMessage{}}, nil
	})
	m.AddResource(&mcp.Resource{URI: "mood://secret", Name: "secret"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if r.Params.RequestState == "" {
			return &mcp.ReadResourceResult{RequestState: "s", InputRequests: mcp.InputRequestMap{"1": zoneForm("Which zone?")}}, nil
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "mood://secret", Text: "asked"}}}, nil
	})
	employ(t, g, server, answering())
	alice := join(t, g, "alice", nil)
	for _, request := range []string{`"method":"prompts/get","params":{"name":"deploy"}`, `"method":"resources/read","params":{"uri":"mood://secret"}`} {
		id := begin(t, alice, `{"jsonrpc":"2.0","id":1,`+request+`}`)
		reply(t, alice, nextQuestion(t, alice, id, "Which zone?"), `"result":{"action":"accept","content":{"zone":"eu"}}`)
		if got := outcomeOf(t, alice, id); !strings.Contains(got, `"asked"`) {
			t.Errorf("%s: %s", request, got)
		}
	}
}

// A server may want the request later, without a question.
func TestInputRequired_Later(t *testing.T) {
	g := meuptest.Start(t, config)
	employ(t, g, needy(func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(r.Params.RequestState) < 3 {
			return &mcp.CallToolResult{RequestState: r.Params.RequestState + "x", InputRequests: mcp.InputRequestMap{}}, nil
		}
		return text(r.Params.RequestState), nil
	}), answering())
	alice := join(t, g, "alice", nil)
	if got := outcomeOf(t, alice, begin(t, alice, deployCall)); got != "xxx" {
		t.Errorf("the result is %s", got)
	}
}

// Input that the bridge does not offer, or an endless sequence of questions, ends the call with an
// error that says why.
func TestInputRequired_Refused(t *testing.T) {
	for name, test := range map[string]struct {
		result mcp.CallToolResult
		want   string
	}{
		"sampling":     {mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"0": zoneForm("Which zone?"), "1": &mcp.CreateMessageWithToolsParams{MaxTokens: 1}}}, "sampling/createMessage is refused"}, //nolint:staticcheck // servers may still send it
		"roots":        {mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"1": new(mcp.ListRootsParams)}}, "roots/list is refused"},                                                                  //nolint:staticcheck // servers may still send it
		"endless":      {mcp.CallToolResult{RequestState: "s", InputRequests: mcp.InputRequestMap{}}, "asked 10 times"},
		"nothing":      {mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}}, "does not say which"},
		"no flat form": {mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"1": &mcp.ElicitParams{Message: strings.Repeat("x", 9<<10)}}}, "question not passed on"},
	} {
		t.Run(name, func(t *testing.T) {
			g := meuptest.Start(t, config)
			employ(t, g, needy(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				r := test.result
				return &r, nil
			}), answering())
			alice := join(t, g, "alice", nil)
			e := refused(t, alice, "tools/call", tool("deploy"))
			if !strings.Contains(e.Message, test.want) || !strings.Contains(string(e.Data), `"reason":"failed"`) {
				t.Errorf("the error is %q, %s; expected %q", e.Message, e.Data, test.want)
			}
		})
	}
}

// A caller that declares capabilities of revision 2026-07-28 answers the result itself.
func TestInputRequired_Returned(t *testing.T) {
	g := meuptest.Start(t, config)
	employ(t, g, needy(deploying), answering())
	alice := join(t, g, "alice", nil)
	params := tool("deploy")
	params["_meta"] = map[string]any{mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{}}}
	if got := ask(t, alice, "tools/call", params); !strings.Contains(got, `"input_required"`) {
		t.Errorf("the caller got %s", got)
	}
	params["requestState"], params["inputResponses"] = "begun", map[string]any{"3": map[string]string{"action": "decline"}}
	if got := ask(t, alice, "tools/call", params); !strings.Contains(got, `begun{\"3\":{\"action\":\"decline\"}}`) {
		t.Errorf("with the answer the caller got %s", got)
	}
}

// Without a bridge that passes questions on, the call ends.
func TestInputRequired_NotOffered(t *testing.T) {
	g := meuptest.Start(t, config)
	employ(t, g, needy(deploying), setup{})
	if e := refused(t, join(t, g, "alice", nil), "tools/call", tool("deploy")); !strings.Contains(e.Message, `"elicitation/create" is refused`) {
		t.Errorf("the error is %q", e.Message)
	}
}

func TestInputRequired_NoAnswer(t *testing.T) {
	g := meuptest.Start(t, config)
	server := needy(func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer, ok := r.Params.InputResponses["1"].(*mcp.ElicitResult); ok {
			return text(answer.Action), nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"1": zoneForm("Which zone?")}}, nil
	})
	alice := join(t, g, "alice", nil)
	id := unanswered(t, g, server, answering(), alice, deployCall)
	if got := outcomeOf(t, alice, id); got != "cancel" {
		t.Errorf("the server got %s", got)
	}
}

func TestInputRequired_CallCancelled(t *testing.T) {
	g := meuptest.Start(t, config)
	s := answering()
	s.bridge.MaxCalls = 1
	employ(t, g, needy(deploying), s)
	alice := join(t, g, "alice", nil)
	id := begin(t, alice, deployCall)
	q := nextQuestion(t, alice, id, "Which zone?")
	if got := ask(t, alice, "tools/call", tool("pid")); !strings.Contains(got, "content") { // the place is lent
		t.Errorf("another call: %s", got)
	}
	begin(t, alice, `{"method":"notifications/cancelled","params":{"requestId":"`+string(id)+`"}}`)
	if withdrawn := await(t, alice, saying("notifications/cancelled")); !withdrawn.Correlation.Names(q.ID) {
		t.Errorf("withdrawn: %s", withdrawn.Payload)
	}
	if got := outcomeOf(t, alice, id); !strings.Contains(got, "cancelled") {
		t.Errorf("the call ends with %s", got)
	}
}

// The rounds are independent: a server that ends while the caller is asked gets the answer after
// its restart.
func TestInputRequired_ServerRestarted(t *testing.T) {
	g := meuptest.Start(t, config)
	employ(t, g, ownProcess(t), answering())
	alice := join(t, g, "alice", nil)
	pid := outcomeOf(t, alice, begin(t, alice, callOf(1, "pid")))
	id := begin(t, alice, deployCall)
	first := nextQuestion(t, alice, id, "Which zone?")
	kill(t, pid)
	if again := outcomeOf(t, alice, begin(t, alice, callOf(1, "pid"))); again == pid {
		t.Fatal("the server has not been restarted")
	}
	reply(t, alice, first, `"result":{"action":"decline"}`)
	reply(t, alice, nextQuestion(t, alice, id, "Sign in"), `"result":{"action":"decline"}`)
	reply(t, alice, nextQuestion(t, alice, id, "Which other zone?"), `"result":{"action":"decline"}`)
	const want = `begun{"1":{"action":"decline"},"2":{"action":"decline"}}{"3":{"action":"decline"}}`
	if got := outcomeOf(t, alice, id); !strings.HasPrefix(got, want) {
		t.Errorf("the server got %s\nexpected %s", got, want)
	}
}

// A server of an earlier revision that requests sampling is told why it gets none.
func TestSampling_RefusedAsRequest(t *testing.T) {
	g := meuptest.Start(t, config)
	server := needy(func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1}) //nolint:staticcheck // deprecated, and refused
		return text(fmt.Sprint(err)), nil
	})
	employ(t, g, server, questioning())
	alice := join(t, g, "alice", nil)
	if got := outcomeOf(t, alice, begin(t, alice, deployCall)); !strings.Contains(got, "sampling/createMessage is refused") {
		t.Errorf("the server gets %q", got)
	}
}
