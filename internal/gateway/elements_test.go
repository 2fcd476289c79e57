package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// many is a request with a list of small elements.
type many struct {
	path       string // with the method, unless it is POST
	begin, end string // of the body, or of the address of a GET
	element    string // with its separator; %d is its number
	most       int    // elements that fit; 0: 100,000
	// mute and loud are the responses to a participant that may send nothing of use, and
	// to one that may send anything.
	mute, loud int
}

// A trace of OTLP, up to the attributes of its first span.
const otlpSpan = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"00000000000000000000000000000001","spanId":"0000000000000001","attributes":[` +
	`{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}}`

// manyRequests has the lists of all routes that take them from outside.
var manyRequests = map[string]many{
	"chat messages":       {path: "/v1/chat/completions", begin: `{"model":"lab","messages":[0`, element: `,{"role":"user","content":"x"}`, end: `]}`, mute: 403, loud: 400},
	"chat parts":          {path: "/v1/chat/completions", begin: `{"model":"lab","messages":[{"role":"user","content":[0`, element: `,{"type":"text","text":"x"}`, end: `]}]}`, mute: 403, loud: 400},
	"chat members":        {path: "/v1/chat/completions", begin: `{"model":"lab"`, element: `,"m%d":[]`, end: `}`, mute: 403, loud: 400},
	"chat duplicate keys": {path: "/v1/chat/completions", begin: `{"model":"lab"`, element: `,"m":[]`, end: `}`, mute: 403, loud: 400},
	"chat tools":          {path: "/v1/chat/completions", begin: `{"model":"lab","tool_choice":"none","tools":[0`, element: `,{}`, end: `],"messages":[]}`, mute: 403, loud: 400},
	"chat modalities":     {path: "/v1/chat/completions", begin: `{"model":"lab","modalities":["text"`, element: `,"text"`, end: `],"messages":[]}`, mute: 403, loud: 400},
	"response input":      {path: "/v1/responses", begin: `{"model":"lab","input":[0`, element: `,{"role":"user","content":"x"}`, end: `]}`, mute: 403, loud: 400},
	"response parts":      {path: "/v1/responses", begin: `{"model":"lab","input":[{"role":"user","content":[0`, element: `,{"type":"input_text"}`, end: `]}]}`, mute: 403, loud: 400},

	"agui messages": {path: "/api/spaces/lab/agui", begin: `{"threadId":"t","runId":"r","messages":[0`, element: `,{"role":"user","id":"i","content":"x"}`, end: `]}`, most: 24_000, mute: 403, loud: 400},
	"agui parts":    {path: "/api/spaces/lab/agui", begin: `{"threadId":"t","runId":"r","messages":[{"role":"user","id":"i","content":[0`, element: `,{}`, end: `]}]}`, mute: 403, loud: 400},
	"agui to":       {path: "/api/spaces/lab/agui", begin: `{"threadId":"t","runId":"r","messages":[{"role":"user","id":"i","content":"x"}],"forwardedProps":{"to":["a"`, element: `,"a"`, end: `]}}`, mute: 403, loud: 400},
	"agui resume":   {path: "/api/spaces/lab/agui", begin: `{"threadId":"t","runId":"r","messages":[{"role":"user","id":"i","content":"x"}],"resume":[{}`, element: `,{}`, end: `]}`, mute: 403, loud: 400},

	"a2a parts":      {path: "/a2a/lab/message:send", begin: `{"message":{"messageId":"i","role":"ROLE_USER","parts":[{"text":""}`, element: `,{"text":""}`, end: `]}}`, most: 80_000, mute: 403, loud: 400},
	"a2a modes":      {path: "/a2a/lab/message:send", begin: `{"message":{"messageId":"i","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"acceptedOutputModes":["a"`, element: `,"a"`, end: `]}}`, mute: 403, loud: 400},
	"a2a batch":      {path: "/a2a/lab", begin: `[{}`, element: `,{}`, end: `]`, mute: 200, loud: 200},
	"a2a parameters": {path: "GET /a2a/lab/tasks?x=", element: `&x%d=`, most: 2000, mute: 200, loud: 200},

	"hook results":     {path: "/api/spaces/lab/hooks/claude", begin: `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"x","tool_use_id":"u","tool_response":[0`, element: `,{}`, end: `]}`, mute: 200, loud: 200},
	"hook arguments":   {path: "/api/spaces/lab/hooks/claude", begin: `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"x","tool_use_id":"v","tool_input":{"a":[0`, element: `,{}`, end: `]}}`, mute: 200, loud: 200},
	"hook members":     {path: "/api/spaces/lab/hooks/claude", begin: `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"x","tool_use_id":"w","tool_input":{"a":0`, element: `,"%d":0`, end: `}}`, most: 80_000, mute: 200, loud: 200},
	"hook edits":       {path: "/api/spaces/lab/hooks/cursor", begin: `{"conversation_id":"s","generation_id":"g","hook_event_name":"afterFileEdit","file_path":"x","edits":[0`, element: `,{}`, end: `]}`, mute: 200, loud: 200},
	"otlp spans":       {path: "/v1/traces?space=lab", begin: otlpSpan + `]}`, element: `,{}`, end: `]}]}]}`, mute: 413, loud: 413},
	"otlp children":    {path: "/v1/traces?space=lab", begin: otlpSpan + `]}`, element: `,{"traceId":"00000000000000000000000000000001","spanId":"1%015d","parentSpanId":"0000000000000001"}`, end: `]}]}]}`, most: 9000, mute: 200, loud: 200},
	"otlp attributes":  {path: "/v1/traces?space=lab", begin: otlpSpan, element: `,{"key":"input.value"}`, end: `]}]}]}]}`, mute: 200, loud: 200},
	"otlp messages":    {path: "/v1/traces?space=lab", begin: otlpSpan + `,{"key":"gen_ai.input.messages","value":{"stringValue":"[0`, element: `,{}`, end: `]"}}]}]}]}]}`, mute: 200, loud: 200},
	"mcp batch":        {path: "/mcp?space=lab", begin: `[{}`, element: `,{}`, end: `]`, mute: 400, loud: 400},
	"mcp pings":        {path: "/mcp?space=lab", begin: `[{}`, element: `,{"jsonrpc":"2.0","id":%d,"method":"ping"}`, end: `]`, most: 20_000, mute: 400, loud: 400},
	"mcp recipients":   {path: "/mcp?space=lab", begin: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{"message":"x","to":["a"`, element: `,"a"`, end: `]}}}`, mute: 200, loud: 200},
	"mcp kinds":        {path: "/mcp?space=lab", begin: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"kinds":["a"`, element: `,"a"`, end: `]}}}`, mute: 200, loud: 200},
	"mcp arguments":    {path: "/mcp?space=lab", begin: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"propose","arguments":{"participant":"loud","tool":"x","arguments":{"a":[0`, element: `,0`, end: `]}}}}`, mute: 200, loud: 200},
	"mcp unknown keys": {path: "/mcp?space=lab", begin: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{"message":"x"`, element: `,"x%d":0`, end: `}}}`, most: 80_000, mute: 200, loud: 200},

	"envelopes":    {path: "/api/spaces/lab/envelopes", begin: `[{}`, element: `,{}`, end: `]`, mute: 400, loud: 400},
	"recipients":   {path: "/api/spaces/lab/envelopes", begin: `{"kind":"chat","payload":{"message":"x"},"to":["a"`, element: `,"a%d"`, end: `]}`, mute: 400, loud: 400},
	"correlations": {path: "/api/spaces/lab/envelopes", begin: `{"kind":"chat","payload":{"message":"x"},"correlationId":["a"`, element: `,"a%d"`, end: `]}`, mute: 400, loud: 400},
	"members":      {path: "/api/spaces/lab/envelopes", begin: `{"kind":"x.y","payload":{"a":0`, element: `,"a%d":0`, end: `}}`, most: 80_000, mute: 403, loud: 200},
	"grants":       {path: "/api/spaces/lab/envelopes", begin: `{"kind":"capability.grant","payload":{"recipient":"mute","capabilities":["a.b"`, element: `,"a.b"`, end: `]}}`, mute: 403, loud: 400},
	"sign-in":      {path: "/api/session", begin: `{"token":"x"`, element: `,"a%d":0`, end: `}`, most: 2000, mute: 401, loud: 401},
	"read kinds":   {path: "GET /api/spaces/lab/envelopes?kinds=a", element: `,a`, most: 4000, mute: 400, loud: 400},
	"read senders": {path: "GET /api/spaces/lab/envelopes?from=a", element: `,a`, most: 4000, mute: 400, loud: 400},
	"read places":  {path: "GET /api/spaces/lab/envelopes?context=a", element: `&context=a`, most: 1200, mute: 400, loud: 400},
	"follow kinds": {path: "GET /api/spaces/lab/events?kinds=a", element: `,a`, most: 4000, mute: 400, loud: 400},
	"search words": {path: "GET /api/spaces/lab/search?q=a", element: `+a%d`, most: 2000, mute: 400, loud: 400},
}

// send sends the request with n elements.
func (m *many) send(t *testing.T, g *meuptest.Gateway, token string, n int) (status int, answer string) {
	t.Helper()
	var b strings.Builder
	b.WriteString(m.begin)
	for i := range n {
		if strings.Contains(m.element, "%") {
			fmt.Fprintf(&b, m.element, i)
		} else {
			b.WriteString(m.element)
		}
	}
	b.WriteString(m.end)
	method, path, found := strings.Cut(m.path, " ")
	body := b.String()
	if !found {
		method, path = http.MethodPost, m.path
	} else {
		path, body = path+body, ""
	}
	r, err := http.NewRequestWithContext(t.Context(), method, g.HTTP()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("A2A-Version", "1.0")
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

// The memory that a request with many small elements takes is linear in their number, and
// in most cases they are too many.
func TestManyElements(t *testing.T) { // not parallel: it counts the allocations of the process
	g := meuptest.Start(t, `
limits: {rate: 1000000, burst: 1000000}
spaces:
  lab:
    participants:
      mute: {token: mute-token, capabilities: [x.none]}
      loud: {token: loud-token, capabilities: ["*", observe]}
`)
	const other = 4 << 20 // bytes, of buffers that grow by doubling
	for name, m := range manyRequests {
		if m.most == 0 {
			m.most = 100_000
		}
		for token, want := range map[string]int{"mute-token": m.mute, "loud-token": m.loud} {
			t.Run(name+" "+token, func(t *testing.T) {
				var took [2]uint64
				for range 3 { // the least counts: the rest of the process allocates too
					for i, n := range []int{m.most / 4, m.most} {
						var before, after runtime.MemStats
						runtime.ReadMemStats(&before)
						status, answer := m.send(t, g, token, n)
						runtime.ReadMemStats(&after)
						if bytes := after.TotalAlloc - before.TotalAlloc; took[i] == 0 || bytes < took[i] {
							took[i] = bytes
						}
						if i == 1 && status != want {
							t.Fatalf("%d elements: got %d, want %d: %.300s", n, status, want, answer)
						}
					}
					if took[1] <= 6*took[0]+other {
						return
					}
				}
				t.Errorf("4 times as many elements took %d bytes instead of %d; want at most 6 times as many", took[1], took[0])
			})
		}
	}
}
