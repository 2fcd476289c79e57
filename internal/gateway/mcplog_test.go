package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// A call gets the log messages that are for its caller or about it, also if the
// caller may observe those for others.
func TestMCP_LogsOfOthers(t *testing.T) {
	g := meuptest.Start(t, `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*", observe]}
      bob: {token: bob-token, capabilities: ["*"]}
      lamp: {token: lamp-token, capabilities: ["*"]}
`)
	defer watch(t, g, "bob-token")()
	lamp, err := client.Dial(t.Context(), client.Options{URL: g.URL("lab"), Token: "lamp-token", ServesTools: true})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		for env, err := range lamp.All(t.Context()) {
			if err == nil && env.Kind == protocol.KindMCPRequest {
				err = answerAndLog(t.Context(), lamp, &env)
			}
			if err != nil {
				served <- err
				return
			}
		}
		served <- nil
	}()
	defer func() {
		_ = lamp.Close()
		t.Log("lamp:", <-served)
	}()
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	logs := make(chan string, 10)
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { logs <- fmt.Sprint(r.Params.Data) }, //nolint:staticcheck // deprecated from 2026-07-28 on, but servers use it
	})
	recording := &recorder{RoundTripper: withToken("alice-token")}
	alice, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: g.HTTP() + "/mcp?space=lab", HTTPClient: &http.Client{Transport: recording}, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2026-07-28"})
	if err != nil {
		t.Fatal(err)
	}
	defer alice.Close()
	params := &mcp.CallToolParams{Meta: mcp.Meta{mcp.MetaKeyLogLevel: "info"}, Name: "lamp__blink"}
	params.SetProgressToken("p")
	if r, err := alice.CallTool(t.Context(), params); err != nil || r.IsError {
		t.Fatalf("%+v %v", r, err)
	}
	for _, want := range []string{"to alice", "map[about:9.007199254740992e+15 n:1]"} {
		select {
		case got := <-logs:
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		case <-testkit.Deadline(t).Done():
			t.Errorf("no %q", want)
		}
	}
	if all, want := recording.text(), `"data":{"about":9007199254740993,"n":1.0}`; !strings.Contains(all, want) {
		t.Errorf("the numbers of a log message were changed: no %s in %s", want, all)
	}
}

// recorder keeps the bodies of the responses.
type recorder struct {
	http.RoundTripper

	mu  sync.Mutex
	all bytes.Buffer
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(resp.Body, r), resp.Body}
	}
	return resp, err
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.Write(p)
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.String()
}

// answerAndLog sends log messages and the response to a request.
func answerAndLog(ctx context.Context, c *client.Client, request *protocol.Envelope) error {
	result := `{"tools":[{"name":"blink","inputSchema":{"type":"object"}}]}`
	if request.ParsePayload().Get("method").Text() == "tools/call" {
		result = `{"content":[]}`
		for _, log := range []struct {
			to    protocol.ParticipantID
			about protocol.Correlation
			data  string
		}{
			{to: "bob", data: `"to bob"`},
			{to: request.From, data: `"to alice"`},
			{to: "bob", about: protocol.CorrelateTo(request.ID), data: `{"about":9007199254740993,"n":1.0}`},
		} {
			if _, err := c.Send(ctx, protocol.Envelope{
				Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{log.to}, Correlation: log.about,
				Payload: fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%s}}`, log.data),
			}); err != nil {
				return err
			}
		}
	}
	_, err := c.Send(ctx, protocol.Envelope{
		Kind: protocol.KindMCPResponse, To: []protocol.ParticipantID{request.From}, Correlation: protocol.CorrelateTo(request.ID),
		Payload: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"result":%s}`, request.ID, result),
	})
	return err
}
