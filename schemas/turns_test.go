package schemas

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestTurnFiles: every file has a description, accepts its own examples, and
// rejects them without a required field.
func TestTurnFiles(t *testing.T) {
	names, err := fs.Glob(files, "turns/*"+suffix)
	if err != nil || len(names) != len(turns()) || len(names) < 5 {
		t.Fatalf("%v, %v", names, err)
	}
	others, err := fs.Glob(files, "http/*"+suffix)
	if err != nil || len(others) != len(answers()) || len(others) < 1 {
		t.Fatalf("%v, %v", others, err)
	}
	own, err := fs.Glob(files, "frames/*"+suffix)
	if err != nil || len(own) != len(frames()) || len(own) < 5 {
		t.Fatalf("%v, %v", own, err)
	}
	for _, file := range slices.Concat(names, others, own) {
		name, folder := strings.TrimSuffix(path.Base(file), suffix), path.Dir(file)+"/"
		raw, err := fs.ReadFile(files, file)
		if err != nil {
			t.Fatal(err)
		}
		var head struct {
			ID          string `json:"$id"`
			Title       string
			Description string
			Required    []string
			Examples    []map[string]json.RawMessage
		}
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if head.ID != base+file || head.Title == "" || head.Description == "" || len(head.Examples) == 0 {
			t.Errorf("%s: needs its $id, title, description and examples", file)
		}
		for _, example := range head.Examples {
			if err := check(t, folder+name, example); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			for _, field := range head.Required {
				value := example[field]
				delete(example, field)
				if check(t, folder+name, example) == nil {
					t.Errorf("%s: passes without %s", file, field)
				}
				example[field] = value
			}
		}
	}
}

func check(t *testing.T, name string, example map[string]json.RawMessage) error {
	t.Helper()
	raw, err := json.Marshal(example)
	if err != nil {
		t.Fatal(err)
	}
	return Document(name, raw)
}

// TestTurnsRefused: forbidden content of a response is a fault.
func TestTurnsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"reasoning_update": `{"type":"reasoning_update","thread_id":"q","session_id":"550e8400-e29b-41d4-a716-446655440000","turn_number":1,
			"agent":"a","tool_decisions":[{"tool_name":"t","rationale":"r","outcome":"success","parallel_group":null,"parameters":{}}]}`,
		"job_reasoning": `{"type":"job_reasoning","job_id":"j","agent":"a","tool_decisions":[{"tool_name":"t","rationale":"","outcome":"success","parallel_group":null}]}`,
		"history":       `{"thread_id":"q","session_id":"550e8400-e29b-41d4-a716-446655440000","has_more":false,"turns":[{"turn_number":0}]}`,
		"threads":       `{"threads":[{}],"next":0,"has_more":false}`,
		"jobs":          `{"jobs":[{}],"next":0,"has_more":false}`,
		"job":           `{"job_id":"j","session_id":"550e8400-e29b-41d4-a716-446655440000","has_more":false,"turns":[]}`,
		"session":       `{"session_id":"s","has_more":false,"turns":[{"turn_number":1,"message_id":"q","from":"a","user_input":"","response":null,"state":"pending","started_at":"2026-02-21T10:00:00Z","completed_at":null,"tool_calls":[]}]}`,
		"nothing":       `{}`,
	} {
		if Document("turns/"+name, []byte(text)) == nil {
			t.Errorf("%s passes: %s", name, text)
		}
	}
}
