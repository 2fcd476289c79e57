package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// holding is an MCP server with the tool hold, which ends only when it is canceled.
// begun has an element for each call that has started, canceled for each that was
// canceled.
func holding() (server *mcp.Server, begun, canceled chan string) {
	begun, canceled = make(chan string, 100), make(chan string, 100)
	server = mcp.NewServer(&mcp.Implementation{Name: "lamp", Version: "3"}, nil)
	server.AddTool(&mcp.Tool{Name: "hold", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		begun <- string(r.Params.Arguments)
		if token := r.Params.GetProgressToken(); token != nil {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1})
		}
		<-ctx.Done()
		canceled <- string(r.Params.Arguments)
		return nil, ctx.Err()
	})
	return server, begun, canceled
}

func expectCall(t *testing.T, calls <-chan string, want, what string) {
	t.Helper()
	select {
	case got := <-calls:
		if got != want {
			t.Fatalf("%s: call %s, expected %s", what, got, want)
		}
	case <-testkit.Deadline(t).Done():
		t.Fatalf("the call %s was not %s at the tool's server", want, what)
	}
}

// A call that its client cancels is canceled at the tool's server, in each form of a call.
func TestMCP_CancelReachesTheServer(t *testing.T) {
	for _, revision := range mcpRevisions {
		t.Run(revision, func(t *testing.T) {
			g := meuptest.Start(t, foreignConfig)
			server, begun, canceled := holding()
			bridgeTo(t, g, "lamp-token", server)
			for _, form := range []struct{ name, query, tool string }{
				{"shown", "", "lamp__hold"}, {"call", "", "call"}, {"participant", "&participant=lamp", "hold"},
			} {
				for _, streamed := range []bool{false, true} {
					t.Run(fmt.Sprint(form.name, " streamed ", streamed), func(t *testing.T) {
						t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
						alice, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
							Endpoint: g.HTTP() + "/mcp?space=lab" + form.query, HTTPClient: &http.Client{Transport: withToken("alice-token")}, DisableStandaloneSSE: true,
						}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
						if err != nil {
							t.Fatal(err)
						}
						defer alice.Close()
						toolsOf(t, alice)
						arguments := fmt.Sprintf(`{"of":%q}`, t.Name())
						params := &mcp.CallToolParams{Name: form.tool, Arguments: json.RawMessage(arguments)}
						if form.tool == "call" {
							params.Arguments = json.RawMessage(fmt.Sprintf(`{"participant":"lamp","tool":"hold","seconds":50,"arguments":%s}`, arguments))
						}
						if streamed {
							params.SetProgressToken("p")
						}
						ctx, cancel := context.WithCancel(t.Context())
						ended := make(chan error, 1)
						go func() {
							_, err := alice.CallTool(ctx, params)
							ended <- err
						}()
						expectCall(t, begun, arguments, "started")
						cancel()
						expectCall(t, canceled, arguments, "canceled")
						if err := <-ended; err == nil {
							t.Error("the canceled call has a result")
						}
					})
				}
			}
		})
	}
}

// A call whose client hangs up is canceled, unless a key lets the client send it again.
func TestMCP_HangUpCancels(t *testing.T) {
	g := meuptest.Start(t, foreignConfig)
	server, begun, canceled := holding()
	bridgeTo(t, g, "lamp-token", server)
	for _, form := range []struct{ name, query, params string }{
		{"plain", "", `"name":"lamp__hold","arguments":%s`},
		{"streamed", "", `"name":"lamp__hold","_meta":{"progressToken":1},"arguments":%s`},
		{"participant", "&participant=lamp", `"name":"hold","arguments":%s`},
		{"key", "", `"name":"lamp__hold","_meta":{"meup/key":"k"},"arguments":%s`},
	} {
		t.Run(form.name, func(t *testing.T) {
			arguments := fmt.Sprintf(`{"of":%q}`, form.name)
			ctx, hangUp := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = sendMCP(ctx, g, form.query, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+fmt.Sprintf(form.params, arguments)+`}}`)
			}()
			expectCall(t, begun, arguments, "started")
			hangUp()
			<-ended
			if form.name != "key" {
				expectCall(t, canceled, arguments, "canceled")
				return
			}
			again := make(chan struct{})
			go func() { // joins the first call
				defer close(again)
				_, _ = sendMCP(t.Context(), g, form.query, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{`+fmt.Sprintf(form.params, arguments)+`}}`)
			}()
			testkit.Eventually(t, "the request with a key is canceled by its client", func() bool {
				_, err := sendMCP(t.Context(), g, form.query, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
				if err != nil {
					t.Fatal(err)
				}
				select {
				case <-again:
					return true
				default:
					return false
				}
			})
			expectCall(t, canceled, arguments, "canceled")
			if len(begun) > 0 || len(canceled) > 0 {
				t.Errorf("%d more calls have started, %d were canceled", len(begun), len(canceled))
			}
		})
	}
}

// A batch cancels the requests that it names, and no others.
func TestMCP_CancelInBatch(t *testing.T) {
	g := meuptest.Start(t, foreignConfig)
	server, begun, canceled := holding()
	bridgeTo(t, g, "lamp-token", server)
	ctx, hangUp := context.WithCancel(t.Context())
	ended := make(chan string, 3)
	for _, id := range []string{`1`, `"two"`, `3`} {
		go func() {
			_, _ = sendMCP(ctx, g, "", `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"lamp__hold","arguments":{"id":`+id+`}}}`)
			ended <- id
		}()
		expectCall(t, begun, `{"id":`+id+`}`, "started")
	}
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`
	if status, err := sendMCP(t.Context(), g, "", "["+cancel+`"two"}},{"jsonrpc":"2.0","id":3,"method":"ping"},`+cancel+"9}}]"); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, error %v, want 200", status, err)
	}
	expectCall(t, canceled, `{"id":"two"}`, "canceled") // not by the end of their time, which is that of 1 first
	if status, err := sendMCP(t.Context(), g, "", "["+cancel+"1}}]"); err != nil || status != http.StatusAccepted {
		t.Fatalf("status %d, error %v, want 202", status, err)
	}
	expectCall(t, canceled, `{"id":1}`, "canceled")
	hangUp()
	expectCall(t, canceled, `{"id":3}`, "canceled")
	for range 3 {
		<-ended
	}
}

// sendMCP sends a message to /mcp as alice, and returns the status of the response.
func sendMCP(ctx context.Context, g *meuptest.Gateway, query, body string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.HTTP()+"/mcp?space=lab"+query, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer alice-token")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2025-11-25")
	if strings.HasPrefix(body, "[") {
		r.Header.Set("MCP-Protocol-Version", "2025-03-26") // the only one with batches
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}
