package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/bridge"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// asking is a server of a revision with a tool that asks its user. Up to 2025-11-25 the question is a
// request, later a result. It returns the number of calls that ended.
func asking(t *testing.T, g *meuptest.Gateway, revision string) *atomic.Int32 {
	t.Helper()
	ended := new(atomic.Int32)
	s := mcp.NewServer(&mcp.Implementation{Name: "asking", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "deploy", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		p := &mcp.ElicitParams{Message: "Which zone?", RequestedSchema: json.RawMessage(`{"type":"object","required":["zone"],"properties":{"zone":{"type":"string","enum":["eu","us"]}}}`)}
		if string(r.Params.Arguments) == `{"link":true}` {
			p = &mcp.ElicitParams{Mode: "url", Message: "Sign in", URL: "https://example.org/in", ElicitationID: "e"}
		}
		answer, answered := r.Params.InputResponses["q"].(*mcp.ElicitResult)
		if revision == "2026-07-28" && !answered {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": p}}, nil
		}
		if !answered {
			var err error
			answer, err = r.Session.Elicit(ctx, p)
			if err != nil {
				return nil, err
			}
		}
		ended.Add(1)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(answer.Action, " ", answer.Content["zone"])}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "other", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	c, err := client.Dial(t.Context(), client.Options{URL: g.URL("lab"), Token: "lamp-token", ServesTools: true})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := mcptools.Start(t.Context(), []mcptools.Server{{Name: "s", InProcess: s}}, mcptools.Options{OnElicit: bridge.Elicit, Protocol: revision})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { // ends with ctx
		defer close(done)
		_ = bridge.New(bridge.Options{Space: c, Server: tools}).Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done; _ = c.Close(); _ = tools.Close() })
	return ended
}

// A client that declares elicitation is asked in its own revision; the answer of another one
// is cancel, at once.
func TestMCP_Elicitation(t *testing.T) {
	for _, revision := range mcpRevisions {
		for _, of := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(revision+" of a server of "+of, func(t *testing.T) { tryElicitation(t, revision, of) })
		}
	}
}

func tryElicitation(t *testing.T, revision, of string) {
	g := meuptest.Start(t, foreignConfig)
	asking(t, g, of)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	var asked []string
	connect := func(o *mcp.ClientOptions, query string) *mcp.ClientSession {
		c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
		session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: g.HTTP() + "/mcp?space=lab" + query, HTTPClient: &http.Client{Transport: withToken("alice-token")}, DisableStandaloneSSE: true,
		}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		return session
	}
	answers := func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked = append(asked, r.Params.Message)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"zone": "eu"}}, nil
	}
	able := connect(&mcp.ClientOptions{ElicitationHandler: answers}, "")
	if text, isError := callTool(t, able, "lamp__deploy", nil); isError || text != "accept eu" {
		t.Errorf("the tool got %s", text)
	}
	if text, isError := callTool(t, connect(&mcp.ClientOptions{ElicitationHandler: answers}, "&participant=lamp"), "deploy", nil); isError || text != "accept eu" {
		t.Errorf("the tool of the participant alone got %s", text)
	}
	if len(asked) != 2 || asked[0] != "Which zone?" {
		t.Errorf("the client was asked %q", asked)
	}
	if of == revision && of == "2026-07-28" {
		return // the server gets the client's capabilities, and asks for nothing else
	}
	if text, isError := callTool(t, able, "lamp__deploy", map[string]any{"link": true}); isError || text != "cancel <nil>" {
		t.Errorf("a link for a client that declares only forms: %s", text)
	}
	if text, isError := callTool(t, connect(nil, ""), "lamp__deploy", nil); isError || text != "cancel <nil>" {
		t.Errorf("without elicitation the tool got %s", text)
	}
	want := "accept eu"
	if revision == "2026-07-28" {
		want = "cancel" // the result of call is a structure
	}
	if text, isError := callTool(t, able, "call", map[string]any{"participant": "lamp", "tool": "deploy"}); isError || !strings.Contains(text, want) {
		t.Errorf("by the tool call: %s, want %s", text, want)
	}
}

// The state of a call is good for this call of this participant alone, and after its end for the
// same result.
func TestMCP_ElicitationState(t *testing.T) {
	g := meuptest.Start(t, foreignConfig)
	ended := asking(t, g, "2025-11-25")
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	connect := func(token string) *mcp.ClientSession {
		c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			Capabilities:   &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
			MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		})
		session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: g.HTTP() + "/mcp?space=lab", HTTPClient: &http.Client{Transport: withToken(token)}, DisableStandaloneSSE: true,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		return session
	}
	alice, bob := connect("alice-token"), connect("bob-token")
	asks, err := alice.CallTool(t.Context(), &mcp.CallToolParams{Name: "lamp__deploy"})
	if err != nil || !asks.NeedsInput() || len(asks.RequestState) > 200 {
		t.Fatalf("the call returns %+v, %v; expected a question with a short state", asks, err)
	}
	answers := make(mcp.InputResponseMap)
	for id := range asks.InputRequests {
		answers[id] = &mcp.ElicitResult{Action: "accept", Content: map[string]any{"zone": "eu"}}
	}
	for name, refused := range map[string]func() (*mcp.CallToolResult, error){
		"of another participant": func() (*mcp.CallToolResult, error) {
			return bob.CallTool(t.Context(), &mcp.CallToolParams{Name: "lamp__deploy", RequestState: asks.RequestState})
		},
		"with an answer of another participant": func() (*mcp.CallToolResult, error) {
			return bob.CallTool(t.Context(), &mcp.CallToolParams{Name: "lamp__deploy", RequestState: asks.RequestState, InputResponses: answers})
		},
		"of another call": func() (*mcp.CallToolResult, error) {
			return alice.CallTool(t.Context(), &mcp.CallToolParams{Name: "lamp__other", RequestState: asks.RequestState, InputResponses: answers})
		},
		"of no call": func() (*mcp.CallToolResult, error) {
			return alice.CallTool(t.Context(), &mcp.CallToolParams{Name: "lamp__deploy", RequestState: asks.RequestState + "0", InputResponses: answers})
		},
	} {
		if r, err := refused(); err == nil || !strings.Contains(err.Error(), "requestState: expected") {
			t.Errorf("the state %s: %+v, %v; expected that it is refused", name, r, err)
		}
	}
	for range 2 {
		r, err := alice.CallTool(t.Context(), &mcp.CallToolParams{Name: "lamp__deploy", RequestState: asks.RequestState, InputResponses: answers})
		if err != nil || r.NeedsInput() || len(r.Content) != 1 || r.Content[0].(*mcp.TextContent).Text != "accept eu" {
			t.Errorf("the call with the answer: %+v, %v", r, err)
		}
	}
	if n := ended.Load(); n != 1 {
		t.Errorf("the tool was called to the end %d times, expected once", n)
	}
}

// Only the participant that is asked answers, and a body that answers nothing is accepted
// and ignored, as before.
func TestMCP_ElicitationForged(t *testing.T) {
	g := meuptest.Start(t, foreignConfig)
	for _, body := range []string{`{"jsonrpc":"2.0","id":"none","result":{"action":"accept"}}`, `{"jsonrpc":"2.0","id":7,"result":{}}`} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.HTTP()+"/mcp?space=lab", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer alice-token")
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusAccepted {
			t.Errorf("%s: status %d", body, resp.StatusCode)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}
