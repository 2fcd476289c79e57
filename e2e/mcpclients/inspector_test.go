package mcpclients

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// The Inspector lists and uses what a space offers, and one bridged server alone.
func TestInspector(t *testing.T) {
	t.Parallel()
	g := bridged(t)
	program := installed(t, "@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	inspect := func(query string, args ...string) map[string]any {
		t.Helper()
		args = append([]string{program, "--cli", g.HTTP() + "/mcp?space=lab" + query, "--transport", "http", "--header", "Authorization: Bearer alice-token", "--method"}, args...)
		out, err := run(t, nil, node(t), args...)
		var result map[string]any
		if start := strings.IndexByte(out, '{'); err != nil || start < 0 || json.NewDecoder(strings.NewReader(out[start:])).Decode(&result) != nil {
			t.Fatalf("%q: %v\n%s", args[5:], err, out)
		}
		return result
	}
	names := func(result map[string]any, list, field string) (out []string) {
		items, _ := result[list].([]any)
		for _, item := range items {
			fields, _ := item.(map[string]any)
			name, _ := fields[field].(string)
			out = append(out, name)
		}
		return out
	}
	if got := names(inspect("", "tools/list"), "tools", "name"); !slices.Contains(got, "say") || !slices.Contains(got, "fixture__test_simple_text") {
		t.Errorf("tools %q", got)
	}
	if out, err := run(t, nil, node(t), program, "--cli", g.HTTP()+"/mcp?space=lab", "--transport", "http", "--header", "Authorization: Bearer bob-token", "--method", "tools/list", "--strict"); err != nil || strings.Contains(out, "portability") {
		t.Errorf("schemas that some clients reject: %v\n%s", err, out[strings.LastIndexByte(out, '}')+1:])
	}
	if got := names(inspect("", "resources/list"), "resources", "uri"); !slices.Contains(got, "meup://space/proposals") {
		t.Errorf("resources %q", got)
	}
	if got := names(inspect("", "prompts/list"), "prompts", "name"); !slices.Contains(got, "review") {
		t.Errorf("prompts %q", got)
	}
	said := inspect("", "tools/call", "--tool-name", "say", "--tool-arg", "message=hello")
	if value, _ := said["structuredContent"].(map[string]any); value["id"] == nil {
		t.Errorf("said %v", said)
	}
	if got := inspect("", "tools/call", "--tool-name", "read"); !strings.Contains(strings.Join(texts(got), ""), "hello") {
		t.Errorf("read %v", got)
	}
	if got := inspect("", "tools/call", "--tool-name", "fixture__test_simple_text"); !strings.Contains(strings.Join(texts(got), ""), "simple text") {
		t.Errorf("a tool of the fixture %v", got)
	}
	if got := names(inspect("&participant=fixture", "tools/list"), "tools", "name"); slices.Contains(got, "say") || !slices.Contains(got, "test_simple_text") {
		t.Errorf("tools of the fixture alone %q", got)
	}
	if got := inspect("&participant=fixture", "resources/read", "--uri", "test://static-text"); got["contents"] == nil {
		t.Errorf("a resource of the fixture %v", got)
	}
}

// texts returns the texts of a result of a tool.
func texts(result map[string]any) (out []string) {
	items, _ := result["content"].([]any)
	for _, item := range items {
		fields, _ := item.(map[string]any)
		text, _ := fields["text"].(string)
		out = append(out, text)
	}
	return out
}
