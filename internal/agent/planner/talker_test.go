package planner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// talker is a language model with scripted responses. It checks the providers'
// requirements for every request: legal names, object schemas, a result
// directly after each call, and no call that is not allowed.
type talker struct {
	t     *testing.T
	mu    sync.Mutex
	says  []func(llm.Request) (llm.Response, error)
	asked []llm.Request
}

func (m *talker) Name() string     { return "talker-1" }
func (m *talker) Provider() string { return "test" }

func (m *talker) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	resp, err := m.next(ctx, req)
	return llmtest.Answer(req, resp, err)
}

func (m *talker) next(ctx context.Context, req llm.Request) (llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return llm.Response{}, err
	}
	m.mu.Lock()
	m.asked = append(m.asked, req)
	n := len(m.asked)
	m.mu.Unlock()
	checkRequest(m.t, req)
	if n > len(m.says) {
		m.t.Errorf("asked %d times, not %d", n, len(m.says))
		return llm.Response{}, errors.New("nothing more to say")
	}
	return m.says[n-1](req)
}

var providersName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func checkRequest(t *testing.T, req llm.Request) {
	t.Helper()
	offered := make(map[string]bool)
	for _, tool := range req.Tools {
		var schema struct {
			Type       string
			Properties map[string]json.RawMessage
		}
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil || schema.Type != "object" || schema.Properties == nil {
			t.Errorf("schema of %s: %s: %v", tool.Name, tool.InputSchema, err)
		}
		if !providersName.MatchString(tool.Name) || offered[tool.Name] || len(tool.Description) > 1024 {
			t.Errorf("tool %q, offered before: %t, description of %d bytes", tool.Name, offered[tool.Name], len(tool.Description))
		}
		offered[tool.Name] = true
	}
	if c := req.Choice; c != llm.Auto && c != llm.None && c != llm.Required && !offered[string(c)] {
		t.Errorf("choice %q is not on offer", c)
	}
	checkConversation(t, req.Messages)
}

func checkConversation(t *testing.T, messages []llm.Message) {
	t.Helper()
	var waiting []string
	for i, m := range messages {
		if m.Role == llm.ToolResult {
			if at := slices.Index(waiting, m.CallID); at >= 0 {
				waiting = slices.Delete(waiting, at, at+1)
			} else {
				t.Errorf("message %d is the result of %q, which was not called", i, m.CallID)
			}
			continue
		}
		if len(waiting) > 0 {
			t.Errorf("message %d comes before the results of %q", i, waiting)
		}
		waiting = nil
		for _, c := range m.Calls {
			if c.ID == "" || slices.Contains(waiting, c.ID) || !providersName.MatchString(c.Name) {
				t.Errorf("message %d has a call %q of %q", i, c.ID, c.Name)
			}
			waiting = append(waiting, c.ID)
		}
	}
	if len(waiting) > 0 {
		t.Errorf("no results of %q", waiting)
	}
}

// Scripted responses of a talker.

func text(s string) func(llm.Request) (llm.Response, error) {
	return stopped(s, llm.StopEnd)
}

func stopped(s string, stop llm.Stop) func(llm.Request) (llm.Response, error) {
	return func(llm.Request) (llm.Response, error) {
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Text: s}, Stop: stop, Usage: llm.Usage{Input: 10, Output: 3}}, nil
	}
}

func fails(err error) func(llm.Request) (llm.Response, error) {
	return func(llm.Request) (llm.Response, error) { return llm.Response{}, err }
}

// calls returns a response with calls, each given as "tool arguments".
func calls(s string, list ...string) func(llm.Request) (llm.Response, error) {
	return func(llm.Request) (llm.Response, error) {
		m := llm.Message{Role: llm.Assistant, Text: s, Opaque: llm.ProviderState{Provider: "test", Data: json.RawMessage(`"signed"`)}}
		for i, c := range list {
			name, args, _ := strings.Cut(c, " ")
			m.Calls = append(m.Calls, llm.ToolCall{ID: fmt.Sprintf("id%d", i), Name: name, Arguments: json.RawMessage(args)})
		}
		return llm.Response{Message: m, Stop: llm.StopTools, Thinking: "hm", Usage: llm.Usage{Input: 10, Output: 3, Cached: 2, Reasoning: 1}}, nil
	}
}

func tool(name, schema string) planner.Tool {
	return planner.Tool{Name: name, Description: "Does " + name, InputSchema: json.RawMessage(schema)}
}

const pathSchema = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`

// ask runs one decision.
func ask(t *testing.T, s planner.State, says ...func(llm.Request) (llm.Response, error)) (planner.Decision, *talker, error) {
	t.Helper()
	model := &talker{t: t, says: says}
	if s.Question == "" {
		s.Question = "What is in a.md?"
	}
	if s.Tools == nil {
		s.Tools = []planner.Tool{tool("read_file", pathSchema), tool("context.fts_search", `{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)}
	}
	m := planner.NewModel(planner.ModelOptions{Model: model, Now: func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }})
	d, err := m.Next(t.Context(), s)
	if len(model.asked) != len(says) {
		t.Errorf("asked %d times, not %d", len(model.asked), len(says))
	}
	return d, model, err
}

func decide(t *testing.T, s planner.State, says ...func(llm.Request) (llm.Response, error)) (planner.Decision, *talker) {
	t.Helper()
	d, model, err := ask(t, s, says...)
	if err != nil {
		t.Fatal(err)
	}
	return d, model
}

// record is a finished step with one call.
func record(index int, tool, args, result string) contextwindow.Record {
	return contextwindow.Record{
		Index: index, Thought: "so far", Action: contextwindow.UseTools,
		Calls:   []contextwindow.Call{{ID: fmt.Sprintf("r%d", index), Tool: tool, Arguments: json.RawMessage(args), Reason: "why"}},
		Results: []contextwindow.Result{{Tool: tool, Success: true, Text: result}},
	}
}

func shown(calls []contextwindow.Call) string {
	var out []string
	for _, c := range calls {
		out = append(out, fmt.Sprintf("%s %s %s", c.Tool, c.Arguments, c.Reason))
	}
	return strings.Join(out, "\n")
}

func system(req llm.Request) string { return req.Messages[0].Text }
