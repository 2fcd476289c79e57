package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

const mcpConfig = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: [chat]}
      eve: {token: eve-token, capabilities: [chat]}
  attic:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
  team-*:
    participants:
      carol: {token: carol-token, capabilities: ["*"]}
`

// withToken sends a token with each request.
type withToken string

func (t withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(t))
	return http.DefaultTransport.RoundTrip(r)
}

func mcpClient(t *testing.T, g *meuptest.Gateway, token, query string) *mcp.ClientSession {
	t.Helper()
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: g.HTTP() + "/mcp" + query, HTTPClient: &http.Client{Transport: withToken(token)}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func callTool(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) (text string, isError bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Content {
		text += c.(*mcp.TextContent).Text
	}
	return text, r.IsError
}

func postAs(t *testing.T, g *meuptest.Gateway, token, path, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.HTTP()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
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

func TestMCP_Memory(t *testing.T) {
	g := meuptest.Start(t, mcpConfig)
	for _, e := range []string{
		`{"id":"q1","kind":"chat","payload":{"message":"where is the zebra?"}}`,
		`{"id":"c1","kind":"reasoning.start","correlationId":"q1","payload":{"message":"looking for the zebra"}}`,
		`{"id":"s1","kind":"chat","to":["bob"],"payload":{"message":"the zebra is hidden"}}`,
		`{"id":"z1","kind":"chat","payload":{"message":"这次部署用的端口是 5433"}}`,
	} {
		if status, body := postAs(t, g, "alice-token", "/api/spaces/lab/envelopes", e); status != http.StatusOK {
			t.Fatal(status, body)
		}
	}
	(&visit{t, g}).search("alice", "q=zebra") // the index has them
	bob, eve := mcpClient(t, g, "bob-token", ""), mcpClient(t, g, "eve-token", "?space=lab")
	tools, err := bob.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 12 {
		t.Fatal(tools, err)
	}
	for _, test := range []struct {
		name, tool string
		session    *mcp.ClientSession
		args       map[string]any
		want       string
		without    string
		isError    bool
	}{
		{name: "all that bob may see", tool: "context.fts_search", session: bob, args: map[string]any{"query": "zebra"}, want: "3 envelopes found."},
		{name: "nothing addressed to others", tool: "context.fts_search", session: eve, args: map[string]any{"query": "zebra"}, want: "2 envelopes found.", without: "hidden"},
		{name: "by kind", tool: "context.fts_search", session: bob, args: map[string]any{"query": "zebra", "kinds": []string{"reasoning/*"}}, want: "id c1: reasoning.start from alice at "},
		{name: "no match", tool: "context.fts_search", session: eve, args: map[string]any{"query": "hidden"}, want: "No results: no envelope has any of the words."},
		{name: "a question", tool: "context.fts_search", session: eve, args: map[string]any{"query": "Who is looking after our zebra today?"}, want: "None has all words; the ones with more and rarer words come first. Written by", without: "hidden"},
		{name: "more with some words", tool: "context.fts_search", session: bob, args: map[string]any{"query": "looking zebra"}, want: "\nThese have some of the words:\n\n- id "},
		{name: "a full page", tool: "context.fts_search", session: bob, args: map[string]any{"query": "looking zebra", "limit": 1}, want: "1 envelope found. Written by", without: "some of the words"},
		{name: "a long question", tool: "context.fts_search", session: bob, args: map[string]any{"query": strings.Repeat("what else was there ", 50) + "zebra"}, want: "3 envelopes found. None has"},
		{name: "a sentence without spaces", tool: "context.fts_search", session: bob, args: map[string]any{"query": "部署的端口是多少"}, want: "id z1: chat from alice"},
		{name: "stop words", tool: "context.fts_search", session: bob, args: map[string]any{"query": "the of and"}, want: "found. None has all words"},
		{name: "punctuation", tool: "context.fts_search", session: bob, args: map[string]any{"query": "?!… -- \"\""}, want: "no word to find", isError: true},
		{name: "only exclusions", tool: "context.fts_search", session: bob, args: map[string]any{"query": "-zebra"}, want: "no word to find", isError: true},
		{name: "more than 4 KiB", tool: "context.fts_search", session: bob, args: map[string]any{"query": strings.Repeat("zebra ", 1000)}, want: "at most 4096 bytes", isError: true},
		{name: "a cursor of another query", tool: "context.fts_search", session: bob, args: map[string]any{"query": "zebra", "cursor": "AQEAAAAAAAAAAA"}, want: "cursor does not belong to this query", isError: true},
		{name: "no cursor", tool: "context.fts_search", session: bob, args: map[string]any{"query": "zebra", "cursor": strings.Repeat("x", 1000)}, want: "cursor does not belong to this query", isError: true},
		{name: "no results allowed", tool: "context.fts_search", session: bob, args: map[string]any{"query": "zebra", "limit": 0}, want: "limit: minimum: 0", isError: true},
		{name: "a negative number", tool: "context.fts_search", session: bob, args: map[string]any{"query": "zebra", "limit": -1}, want: "limit: minimum: -1", isError: true},
		{name: "a fraction", tool: "context.fts_search", session: bob, args: map[string]any{"query": "zebra", "limit": 1.5}, want: "limit: type", isError: true},
		{name: "a text as number", tool: "context.fts_search", session: bob, args: map[string]any{"query": "zebra", "limit": "5"}, want: "limit: type", isError: true},
		{name: "a number as query", tool: "context.fts_search", session: bob, args: map[string]any{"query": 5}, want: "query: type", isError: true},
		{name: "an unknown argument", tool: "context.fts_search", session: bob, args: map[string]any{"query": "zebra", "top": 5}, want: `"top"`, isError: true},
		{name: "a path that is none", tool: "context.fts_search", session: bob, args: map[string]any{"query": "zebra", "context": "a//b"}, want: "not a context path", isError: true},
		{name: "very many senders", tool: "context.fts_search", session: bob, args: map[string]any{"query": "zebra", "from": slices.Repeat([]string{"alice"}, 5000)}, want: "from, kinds: expected at most 64", isError: true},
		{name: "no id", tool: "context.read", session: bob, args: map[string]any{"id": ""}, want: "id: expected the id", isError: true},
		{name: "no id of a thread", tool: "context.thread", session: bob, args: map[string]any{"id": ""}, want: "id: expected the id", isError: true},
		{name: "an id with slashes", tool: "context.read", session: bob, args: map[string]any{"id": "../../healthz"}, want: "read envelope", isError: true},
		{name: "no query", tool: "context.fts_search", session: bob, args: map[string]any{"query": " "}, want: "query: expected words", isError: true},
		{name: "a bad time", tool: "context.fts_search", session: bob, args: map[string]any{"query": "x", "since": "yesterday"}, want: "since: expected a time", isError: true},
		{name: "too many", tool: "context.fts_search", session: bob, args: map[string]any{"query": "x", "limit": 51}, want: "limit: maximum: 51", isError: true},
		{name: "an envelope", tool: "context.read", session: bob, args: map[string]any{"id": "s1"}, want: `"the zebra is hidden"`},
		{name: "an envelope to others", tool: "context.read", session: eve, args: map[string]any{"id": "s1"}, want: "read envelope s1", without: "hidden", isError: true},
		{name: "by its listed name", tool: "context_read", session: bob, args: map[string]any{"id": "s1"}, want: `"the zebra is hidden"`},
		{name: "a thread", tool: "context.thread", session: eve, args: map[string]any{"id": "c1"}, want: "where is the zebra?"},
		{name: "no thread", tool: "context.thread", session: eve, args: map[string]any{"id": "nothing"}, want: "nothing", isError: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, isError := callTool(t, test.session, test.tool, test.args)
			if !strings.Contains(text, test.want) || isError != test.isError || test.without != "" && strings.Contains(text, test.without) {
				t.Errorf("%v %s\nwant %q", isError, text, test.want)
			}
		})
	}
}

func TestMCP_Refusals(t *testing.T) {
	g := meuptest.Start(t, mcpConfig)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, test := range []struct {
		name, token, query, body string
		header                   []string
		status                   int
		want                     string
	}{
		{name: "no token", body: list, status: http.StatusUnauthorized, want: "unauthorized"},
		{name: "an unknown token", token: "no-such-token", body: list, status: http.StatusUnauthorized, want: "unauthorized"},
		{name: "two spaces", token: "alice-token", body: list, status: http.StatusBadRequest, want: "add ?space=NAME"},
		{name: "one of two spaces", token: "alice-token", query: "?space=attic", body: list, status: http.StatusOK, want: "context_fts_search"},
		{name: "a space that does not exist", token: "bob-token", query: "?space=nope", body: list, status: http.StatusNotFound, want: "nope"},
		{name: "a space of a glob", token: "carol-token", query: "?space=team-7", body: list, status: http.StatusOK, want: "context_fts_search"},
		{name: "a name that is none", token: "bob-token", query: "?space=" + url.QueryEscape("../lab"), body: list, status: http.StatusNotFound},
		{name: "a space of others", token: "bob-token", query: "?space=attic", body: list, status: http.StatusForbidden, want: "not good for this space"},
		{name: "a page under another host name", token: "bob-token", body: list, header: []string{"Host", "evil.example:80"}, status: http.StatusForbidden, want: "localhost"},
		{name: "a page of another origin", token: "bob-token", body: list, header: []string{"Origin", "https://evil.example"}, status: http.StatusForbidden, want: "origin"},
		{name: "a body that is too large", token: "bob-token", body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":%q}}`, strings.Repeat("x", 1<<20)), status: http.StatusRequestEntityTooLarge},
		{name: "no JSON", token: "bob-token", body: "{", status: http.StatusBadRequest},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, body := postAs(t, g, test.token, "/mcp"+test.query, test.body, test.header...)
			if status != test.status || !strings.Contains(body, test.want) {
				t.Errorf("%d %s, want %d %s", status, body, test.status, test.want)
			}
		})
	}
	t.Run("a canceled call", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := mcpClient(t, g, "bob-token", "")
		cancel()
		if _, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "context.fts_search", Arguments: map[string]any{"query": "x"}}); err == nil {
			t.Error("it returned a result")
		}
	})
}

// A message that is not handled gets a JSON-RPC error: the one of a request has its id, and is
// an answer also for clients that do not read the body of a failed HTTP request. No text has names
// of Go types.
func TestMCP_Malformed(t *testing.T) {
	g := meuptest.Start(t, mcpConfig)
	const stateless = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, test := range []struct {
		name, body   string
		status, code int
		id, text     string
		header       []string
	}{
		{"empty", "", http.StatusBadRequest, -32700, "null", "the text ends", nil},
		{"no JSON", "hello", http.StatusBadRequest, -32700, "null", "byte 0", nil},
		{"two messages", `{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, http.StatusBadRequest, -32700, "null", "data behind the end", nil},
		{"deep", deep(2000), http.StatusBadRequest, -32700, "null", "nested deeper than 1000 levels", nil},
		{"not acceptable", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, http.StatusBadRequest, -32600, "1", "Accept must", []string{"Accept", "text/html"}},
		{"no object", "5", http.StatusBadRequest, -32600, "null", "expected a JSON-RPC message, an object", nil},
		{"no version", `{"id":1,"method":"ping"}`, http.StatusBadRequest, -32600, "1", `jsonrpc: expected "2.0"`, nil},
		{"another version", `{"jsonrpc":2,"id":1,"method":"ping"}`, http.StatusBadRequest, -32600, "1", "jsonrpc: expected a string, not a number", nil},
		{"an id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, http.StatusBadRequest, -32600, "null", "id: expected a string, or an integer", nil},
		{"an id that float64 rounds", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, http.StatusBadRequest, -32600, "null", "id: expected a string, or an integer", nil},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, http.StatusBadRequest, -32600, "null", "id: expected a string, or an integer", nil},
		{"a request without an id", `{"jsonrpc":"2.0","method":"ping"}`, http.StatusBadRequest, -32600, "null", "missing id", nil},
		{"a method that is a number", `{"jsonrpc":"2.0","id":1,"method":5}`, http.StatusBadRequest, -32600, "1", "method: expected a string, not a number", nil},
		{"an error that is a number", `{"jsonrpc":"2.0","id":1,"error":5}`, http.StatusBadRequest, -32600, "null", "error: expected an object, not a number", nil},
		{"an unknown method", `{"jsonrpc":"2.0","id":7,"method":"foo/bar"}`, http.StatusOK, -32601, "7", `method not found: "foo/bar"`, nil},
		{"a method of clients", `{"jsonrpc":"2.0","id":"a\"b","method":"roots/list"}`, http.StatusOK, -32601, `"a\"b"`, `method not found: "roots/list"`, nil},
		{"no method name", `{"jsonrpc":"2.0","id":1,"method":""}`, http.StatusOK, -32601, "1", `method not found: ""`, nil},
		{"an unknown method, sessionless", `{"jsonrpc":"2.0","id":7,"method":"foo/bar","params":{` + stateless + `}}`, http.StatusNotFound, -32601, "7", `method not found: "foo/bar"`, []string{"Mcp-Protocol-Version", "2026-07-28"}},
		{"an unknown notification", `{"jsonrpc":"2.0","method":"foo/bar"}`, http.StatusBadRequest, -32600, "null", "foo/bar", nil},
		{"a notification with an id", `{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}`, http.StatusBadRequest, -32600, "1", "unexpected id", nil},
		{"no params", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, http.StatusOK, -32602, "1", "params: expected an object", nil},
		{"null params", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`, http.StatusOK, -32602, "1", "params: expected an object", nil},
		{"params that are an array", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":` + deep(100) + `}`, http.StatusOK, -32602, "1", "params: expected an object, not an array", nil},
		{"a name that is a number", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`, http.StatusOK, -32602, "1", "params.name: expected a string, not a number", nil},
		{"a name that is a number, sessionless", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5,` + stateless + `}}`, http.StatusBadRequest, -32602, "1", "params.name: expected a string, not a number", []string{"Mcp-Protocol-Version", "2026-07-28"}},
		{"arguments that are a string", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":"x"}}`, http.StatusOK, -32602, "1", "params.arguments: expected an object, not a string", nil},
		{"a cursor that is a number", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":5}}`, http.StatusOK, -32602, "1", "params.cursor: expected a string, not a number", nil},
		{"a revision that is a number", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}`, http.StatusOK, -32602, "1", "params.protocolVersion: expected a string, not a number", nil},
		{"a name of a client that is a number", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":5}}}`, http.StatusOK, -32602, "1", "params.clientInfo.name: expected a string, not a number", nil},
		{"an empty batch", `[]`, http.StatusBadRequest, -32600, "null", "the batch has no message", nil},
		{"an unknown method in a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"foo/bar"}]`, http.StatusBadRequest, -32601, "null", `message 2 of the batch: method not found: "foo/bar"`, nil},
		{"a number in a batch", `[5]`, http.StatusBadRequest, -32600, "null", "message 1 of the batch: expected a JSON-RPC message", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, body := postAs(t, g, "bob-token", "/mcp?space=lab", test.body, test.header...)
			var out struct {
				Version string `json:"jsonrpc"`
				ID      json.RawMessage
				Error   struct {
					Code    int
					Message string
				}
			}
			err := json.Unmarshal([]byte(body), &out)
			if err != nil || status != test.status || out.Version != "2.0" || string(out.ID) != test.id || out.Error.Code != test.code || !strings.Contains(out.Error.Message, test.text) || strings.Contains(body, "Go ") {
				t.Errorf("%d %s, want %d with id %s, code %d and %q", status, body, test.status, test.id, test.code, test.text)
			}
		})
	}
}
