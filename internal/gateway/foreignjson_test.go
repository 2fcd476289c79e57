package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// The programs behind the adapters are not held to strict JSON: a lone surrogate becomes
// the replacement character, also in a message that is only resent, the last one of
// duplicate keys counts, and numbers keep their spelling.
func TestAdapters_ForeignJSON(t *testing.T) {
	const args = `{"path":"a","id":9007199254740993,"ratio":1.0,"name":"\ud83d","path":"b"}`
	const argsInJSON = `{\"path\":\"a\",\"id\":9007199254740993,\"ratio\":1.0,\"name\":\"\\ud83d\",\"path\":\"b\"}`
	const wantArgs = `{"id":9007199254740993,"ratio":1.0,"name":"\ufffd","path":"b"}`
	for name, test := range map[string]struct {
		path, body string
		want       string // in the log
		header     []string
	}{
		"hooks": {
			path: "/api/spaces/lab/hooks/claude",
			body: `{"session_id":"s","prompt_id":"p","hook_event_name":"PreToolUse","tool_name":"Read","tool_use_id":"t","tool_input":` + args + `}`,
			want: wantArgs,
		},
		"hooks, JSON in a text": {
			path: "/api/spaces/lab/hooks/cursor",
			body: `{"conversation_id":"s","generation_id":"p","hook_event_name":"beforeMCPExecution","tool_name":"read","tool_input":"` + argsInJSON + `"}`,
			want: wantArgs,
		},
		"chat completions": {
			path: "/v1/chat/completions",
			body: `{"model":"x","model":"lab/planner","messages":[{"role":"user","content":"before \ud83d"},{"role":"assistant","content":"re: \ude00"},{"role":"user","content":"and now \ud83d?"}]}`,
			want: `{"message":"and now �?"`,
		},
		"responses": {path: "/v1/responses", body: `{"model":"lab/planner","input":"why \ud83d?","input":"how \ud83d?"}`, want: `{"message":"how �?"`},
		"AG-UI": {
			path: "/api/spaces/lab/agui",
			body: `{"threadId":"t","runId":"r","forwardedProps":{"to":"planner"},"state":{"\ud83d":1},"messages":[{"id":"1","role":"user","content":"why \ud83d?","content":"how \ud83d?"}]}`,
			want: `"message":"how �?"`,
		},
		"A2A": {
			path:   "/a2a/lab",
			body:   `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"how \ud83d?"},{"data":` + args + `}]}}}`,
			want:   `how �?\n` + "```json\\n" + strings.NewReplacer(`"`, `\"`, `\ufffd`, `\\ufffd`).Replace(wantArgs),
			header: []string{"A2A-Version", "1.0"},
		},
		"A2A over REST": {
			path:   "/a2a/lab/message:send",
			body:   `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"why?"}],"parts":[{"text":"how \ud83d?"}]}}`,
			want:   `how �?`,
			header: []string{"A2A-Version", "1.0"},
		},
		"OTLP": {
			path: "/v1/traces?space=lab",
			body: `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b173","name":"agent \ud83d","name":"agent","startTimeUnixNano":"1544712660000000000","endTimeUnixNano":"1544712661000000000",` +
				`"attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}},{"key":"gen_ai.tool.name","value":{"stringValue":"read \ud83d"}},{"key":"gen_ai.tool.call.arguments","value":{"stringValue":"` + argsInJSON + `"}}]}]}]}]}`,
			want: `"name":"read �"`,
		},
		"OTLP, JSON in a text": {
			path: "/v1/traces?space=lab",
			body: `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b173","name":"agent","startTimeUnixNano":"1544712660000000000","endTimeUnixNano":"1544712661000000000",` +
				`"attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}},{"key":"gen_ai.tool.name","value":{"stringValue":"read"}},{"key":"gen_ai.tool.call.arguments","value":{"stringValue":"` + argsInJSON + `"}}]}]}]}]}`,
			want: wantArgs,
		},
		"MCP": {
			path: "/mcp?space=lab",
			body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who","name":"say","arguments":{"to":["files"],"message":"why \ud83d?","message":"how \ud83d?"}}}`,
			want: `{"message":"how �?"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := meuptest.Start(t, aguiConfig)
			actor{t: t, g: g}.responder()
			status, body := postAs(t, g, "alice-token", test.path, test.body, test.header...)
			if status != http.StatusOK {
				t.Fatalf("%d %s, want 200", status, body)
			}
			lines, _ := story(t, g, "watcher")
			if log := strings.Join(lines, "\n"); !strings.Contains(log, test.want) {
				t.Errorf("the log has no %s:\n%s\nthe answer was %s", test.want, log, body)
			}
		})
	}
}

// Of every tool of /mcp that takes JSON of another tool, numbers and keys reach the
// other participants as they were written.
func TestMCP_ArgumentsAreExact(t *testing.T) {
	const exact = `{"big":9007199254740993,"one":1.0,"small":1e-7,"list":[{"x":100000000000000000000}],"text":"\u00e9"}`
	fields := map[string]string{ // the other arguments of each tool that has such a field
		"call.arguments": `"participant":"files","tool":"read","seconds":1`, "propose.arguments": `"participant":"files","tool":"read"`,
	}
	g := meuptest.Start(t, aguiConfig)
	tools, err := mcpClient(t, g, "alice-token", "?space=lab").ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		schema, _ := tool.InputSchema.(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		for field, about := range properties {
			if about, _ := about.(map[string]any); about["type"] != "object" || about["properties"] != nil {
				continue
			}
			others, ok := fields[tool.Name+"."+field]
			if !ok {
				t.Errorf("%s.%s takes any JSON and is not tested here", tool.Name, field)
				continue
			}
			delete(fields, tool.Name+"."+field)
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool.Name + `","arguments":{` + others + `,"` + field + `":` + exact + `}}}`
			if status, answer := postAs(t, g, "alice-token", "/mcp?space=lab", body); status != http.StatusOK {
				t.Fatalf("%s: %d %s, want 200", tool.Name, status, answer)
			}
			lines, _ := story(t, g, "watcher")
			if last := lines[len(lines)-1]; !strings.Contains(last, `"arguments":`+exact) {
				t.Errorf("%s.%s: published as %s, want the arguments %s", tool.Name, field, last, exact)
			}
		}
	}
	for field := range fields {
		t.Errorf("no tool has the field %s", field)
	}
}

// A call of another participant's tool has the arguments and the metadata as they were
// written, and so has its result.
func TestMCP_ForeignToolIsExact(t *testing.T) {
	const exact, meta = `{"n":9007199254740993,"one":1.0}`, `{"trace":{"id":9007199254740993,"ratio":1.0}}`
	g := meuptest.Start(t, foreignConfig)
	bridgeTo(t, g, "lamp-token", lamp())
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lamp__precise","arguments":` + exact + `,"_meta":` + meta + `}}`
	status, answer := postAs(t, g, "alice-token", "/mcp?space=lab", body)
	if status != http.StatusOK || !strings.Contains(answer, `"structuredContent":`+exact) {
		t.Errorf("%d %s, want the result %s", status, answer, exact)
	}
	lines, _ := story(t, g, "alice")
	log := strings.Join(lines, "\n")
	for _, want := range []string{`"arguments":` + exact, `"trace":{"id":9007199254740993,"ratio":1.0}`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %s:\n%s", want, log)
		}
	}
}
