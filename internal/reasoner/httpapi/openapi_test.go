package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/reasoner"
	"github.com/meup-protocol/meup/schemas"
)

// accepting accepts every job.
type accepting struct{}

func (accepting) Submit(context.Context, *wire.AgentIntentRequest) (string, error) {
	return "job-1", nil
}
func (accepting) Cancel(context.Context, string) (bool, error) { return true, nil }

// description is the part of an OpenAPI description that the test reads.
type description struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string
		Summary     string
		Security    []any
		Parameters  []struct {
			Name, In string
			Schema   map[string]any
		}
		RequestBody *struct{ Content map[string]content }
		Responses   map[string]struct{ Content map[string]content }
	}
	Components struct{ Schemas map[string]any }
	Security   []any
}

type content struct {
	Schema struct {
		Ref string `json:"$ref"`
	}
}

func (c content) name() string { return strings.TrimPrefix(c.Schema.Ref, "#/components/schemas/") }

// exampleOf returns the first example of a schema that contains a text.
func exampleOf(t *testing.T, schema, with string) string {
	t.Helper()
	var s struct{ Examples []json.RawMessage }
	if err := json.Unmarshal(schemas.Reasoner()[schema], &s); err != nil {
		t.Fatal(err)
	}
	for _, e := range s.Examples {
		if strings.Contains(string(e), with) {
			return string(e)
		}
	}
	t.Fatalf("%s has no example with %q", schema, with)
	return ""
}

func serveAll(t *testing.T, tokens ...string) *testServer {
	t.Helper()
	store := reasoner.NewDecisionLog(reasoner.DecisionLogOptions{Entries: 100, Bytes: 1 << 20, Age: time.Hour})
	return serve(t, Options{
		Service: reasoner.New(reasoner.Options{Record: store.Add}), Logs: store, Tokens: tokens, Version: "1.2.3", Jobs: accepting{},
		CheckCallback: func(context.Context, string) error { return nil }, Metrics: http.NotFoundHandler(), Diagnostics: Diagnostics{Started: time.Now()},
	})
}

// TestOpenAPI: the description has every endpoint, and the service
// responds as described.
func TestOpenAPI(t *testing.T) {
	a := serveAll(t, "token")
	resp, body := a.ask(t, "GET", "/openapi.json", "", "Content-Type: ")
	var d description
	if err := json.Unmarshal([]byte(body), &d); err != nil || resp.StatusCode != http.StatusOK || d.OpenAPI != "3.1.0" || len(d.Security) != 1 {
		t.Fatalf("%v %d %.200s", err, resp.StatusCode, body)
	}
	if len(d.Components.Schemas) != len(schemas.Reasoner()) || strings.Contains(body, `"$id"`) {
		t.Errorf("%d schemas", len(d.Components.Schemas))
	}
	h, ok := a.Config.Handler.(*handler)
	if !ok || len(d.Paths) != len(h.routes)+1 {
		t.Errorf("%d paths of %d routes and /metrics", len(d.Paths), len(h.routes))
	}
	seen := map[string]bool{}
	for path, methods := range d.Paths {
		for method, op := range methods {
			if seen[op.OperationID] || op.OperationID == "" || op.Summary == "" {
				t.Errorf("%s: operationId %q, summary %q", path, op.OperationID, op.Summary)
			}
			seen[op.OperationID] = true
			if path == "/metrics" {
				continue
			}
			t.Run(op.OperationID, func(t *testing.T) {
				request := ""
				if op.RequestBody != nil {
					request = exampleOf(t, op.RequestBody.Content["application/json"].name(), map[string]string{"/agent_intent_async": "callback_url"}[path])
				}
				if op.Security == nil { // it needs a token
					resp, body := a.ask(t, strings.ToUpper(method), path, request)
					if checkSchema(t, "error", json.RawMessage(body)); resp.StatusCode != http.StatusUnauthorized {
						t.Errorf("%d %s", resp.StatusCode, body)
					}
				}
				resp, body := a.ask(t, strings.ToUpper(method), path, request, "Authorization: Bearer token")
				described, ok := op.Responses[strconv.Itoa(resp.StatusCode)]
				if !ok {
					t.Fatalf("%d is not described: %s", resp.StatusCode, body)
				}
				if name := described.Content["application/json"].name(); name != "" {
					checkSchema(t, name, json.RawMessage(body))
				}
				for _, p := range op.Parameters {
					if p.In == "query" {
						if resp, body := a.ask(t, "GET", path+"?"+p.Name+"=", "", "Authorization: Bearer token"); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "must have one value") {
							t.Errorf("%s is not a parameter: %d %s", p.Name, resp.StatusCode, body)
						}
					}
				}
			})
		}
	}
}

// TestSchema: the service serves all schemas as one document.
func TestSchema(t *testing.T) {
	a := serveAll(t)
	_, body := a.ask(t, "GET", "/schema", "", "Content-Type: ")
	var bundle struct {
		Defs map[string]map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(body), &bundle); err != nil {
		t.Fatal(err)
	}
	for name := range schemas.Reasoner() {
		if bundle.Defs[name]["type"] != "object" {
			t.Errorf("%s: %v", name, bundle.Defs[name])
		}
	}
}

// TestErrors: errors are intents with the status error, whether the request names
// a version or not.
func TestErrors(t *testing.T) {
	a := serveAll(t, "token")
	const bearer, v1 = "Authorization: Bearer token", "Accept-Version: v1"
	for name, test := range map[string]struct {
		path, body string
		headers    []string
		status     int
		id         string
	}{
		"unauthorized":  {"/agent_intent", example, nil, 401, "error-"},
		"invalid":       {"/agent_intent", `{}`, []string{bearer}, 422, "error-"},
		"decision":      {"/agent_intent", `{"session_id":"a","goal_text":"g","forced_tool":"x","tools":[{"name":"y"}]}`, []string{bearer}, 422, "agent-"},
		"workflow":      {"/workflow_intent", `{"run_id":"r","workflow_name":"w","current_node":"z","params":{"workflow":{"nodes":[{"id":"a"}]}}}`, []string{bearer}, 400, "wf-"},
		"cancellation":  {"/agent_intent_cancel", `{}`, []string{bearer}, 422, "error-"},
		"unknown path":  {"/nothing", `{}`, []string{bearer}, 404, "error-"},
		"asynchronous":  {"/agent_intent_async", example, []string{bearer}, 400, "error-"},
		"wrong content": {"/agent_intent", example, []string{bearer, "Content-Type: text/plain"}, 415, "error-"},
		"other version": {"/agent_intent", example, []string{bearer, "Accept-Version: v9"}, 406, "error-"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, accept := range []string{"", v1, "Accept-Version: v3, v1", "Accept-Version: *"} {
				headers := test.headers
				if accept != "" {
					headers = append([]string{accept}, headers...)
				}
				resp, body := a.ask(t, "POST", test.path, test.body, headers...)
				if resp.StatusCode != test.status {
					t.Errorf("%s: %d %s", accept, resp.StatusCode, body)
				}
				var got wire.ErrorResponse
				if err := json.Unmarshal([]byte(body), &got); err != nil || got.Error == "" || got.Message == "" {
					t.Errorf("%s: %v %s", accept, err, body)
				}
				checkSchema(t, "error", json.RawMessage(body))
				if cancels := test.path == "/agent_intent_cancel"; got.Status != "error" || !strings.HasPrefix(got.IntentID, test.id) || cancels != strings.Contains(body, `"ok":false`) {
					t.Errorf("%q: %s", accept, body)
				}
			}
		})
	}
}
