package schemas

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

func parse(t testing.TB, text string) protocol.Value {
	t.Helper()
	doc, err := protocol.ParseJSON([]byte(text), protocol.MaxDepth)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return doc.Root()
}

// TestFiles: every file compiles, has a description, and accepts its own
// examples.
func TestFiles(t *testing.T) {
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		var head struct {
			Schema      string `json:"$schema"`
			ID          string `json:"$id"`
			Title       string
			Description string
			Examples    []json.RawMessage
		}
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if head.Schema == "" || head.ID == "" || head.Title == "" || head.Description == "" {
			t.Errorf("%s: needs $schema, $id, title and description", name)
		}
		if name != "config"+suffix && head.ID != base+name {
			t.Errorf("%s: its $id is %s", name, head.ID)
		}
		s := compile(path.Dir(name))[strings.TrimSuffix(path.Base(name), suffix)]
		for _, example := range head.Examples {
			if err := s.Validate(instance(parse(t, string(example)))); err != nil {
				t.Errorf("%s: example %s: %v", name, example, err)
			}
		}
		if path.Dir(name) == "payload" && len(head.Examples) == 0 {
			t.Errorf("%s: needs an example", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEveryKindHasASchema: the kinds that a client may send.
func TestEveryKindHasASchema(t *testing.T) {
	source, err := os.ReadFile("../protocol/kind.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[protocol.Kind]bool{}
	for line := range strings.Lines(string(source)) {
		_, value, found := strings.Cut(line, "Kind = \"")
		if !found {
			continue
		}
		name, _, _ := strings.Cut(value, "\"")
		kind := protocol.Kind(name)
		seen[kind] = true
		if _, ok := payloads()[string(kind)]; ok == kind.IsReserved() {
			t.Errorf("%s: schema %v, reserved to the gateway %v", kind, ok, kind.IsReserved())
		}
	}
	if len(seen) < 30 {
		t.Fatalf("found only %d kinds", len(seen))
	}
	for kind := range payloads() {
		if !seen[protocol.Kind(kind)] {
			t.Errorf("%s: a schema of no kind", kind)
		}
	}
}

// TestReferences_NotLoaded: a reference never opens a file or a connection.
func TestReferences_NotLoaded(t *testing.T) {
	for _, ref := range []string{"file:///etc/hostname", "http://127.0.0.1:1/x.json", "https://example.org/x.json", base + "absent.json"} {
		c := newCompiler()
		if err := c.AddResource("mem:///s", strings.NewReader(`{"$ref":"`+ref+`"}`)); err != nil {
			t.Fatal(err)
		}
		_, err := c.Compile("mem:///s")
		if err == nil || !strings.Contains(err.Error(), "is not built in") {
			t.Errorf("%s: got %v, want it refused unread", ref, err)
		}
	}
}

// TestReasoningExamples: the examples of the founding document of reasoning
// transparency are envelopes with valid payloads.
func TestReasoningExamples(t *testing.T) {
	f, err := os.Open("testdata/reasoning.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := 0
	for scanner := bufio.NewScanner(f); scanner.Scan(); lines++ {
		doc := parse(t, scanner.Text())
		if err := documents()["envelope"].Validate(instance(doc)); err != nil {
			t.Errorf("%s: %v", scanner.Text(), err)
		}
		payload := doc.Get("payload")
		if !payload.Exists() {
			payload = parse(t, "{}")
		}
		if err := Payload(protocol.Kind(doc.Get("kind").Text()), payload); err != nil {
			t.Errorf("%s: %v", scanner.Text(), err)
		}
	}
	if lines < 60 {
		t.Fatalf("read only %d examples", lines)
	}
}

func TestEnvelope(t *testing.T) {
	cases := []struct {
		text string
		ok   bool
	}{
		{`{"kind":"chat"}`, true},
		{`{"kind":"reasoning/start","context":"a/b","to":[],"x":1}`, true},
		{`{"kind":"mcp.response","correlationId":["a","b"],"protocol":"meup/v0.1"}`, true},
		{`{}`, false},
		{`{"kind":7}`, false},
		{`{"kind":"mcp/response"}`, false},
		{`{"kind":"chat","id":"a b"}`, false},
		{`{"kind":"chat","to":"bob"}`, false},
		{`{"kind":"chat","correlationId":[]}`, false},
		{`{"kind":"chat","correlationId":""}`, false},
		{`{"kind":"chat","correlation_id":["a"]}`, false},
		{`{"kind":"chat","context":"a//b"}`, false},
		{`{"kind":"chat","context":"` + strings.Repeat("abc/", 64) + `"}`, false},
		{`{"kind":"chat","payload":[]}`, false},
		{`{"kind":"chat","protocol":"meup/v9"}`, false},
		{`[]`, false},
	}
	for _, c := range cases {
		if err := documents()["envelope"].Validate(instance(parse(t, c.text))); (err == nil) != c.ok {
			t.Errorf("%s: got %v, want accepted: %v", c.text, err, c.ok)
		}
	}
}
