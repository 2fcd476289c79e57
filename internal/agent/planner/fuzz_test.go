package planner

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// FuzzOffer checks that every tool, regardless of its name and schema, is
// offered in a legal form that maps back to the tool.
func FuzzOffer(f *testing.F) {
	f.Add("a.b", "a_b", `{"type":"object","properties":{"rationale":{}},"required":["rationale"]}`, "about")
	f.Add("é", "", `{"anyOf":[{}],"properties":{}}`, "")
	f.Add("tool", "tööl", `true`, strings.Repeat("é", 2000))
	f.Add("subproblem", strings.Repeat("x", 65), `{"properties":{"rationale":{},"meup_rationale":{}}}`, "x")
	f.Fuzz(func(t *testing.T, one, two, schema, about string) {
		tools := []Tool{
			{Name: one, Description: about, InputSchema: json.RawMessage(schema)}, {Name: two},
			{Name: one + "." + two}, {Name: one + "_" + two}, {Name: one + "/" + two},
		}
		o := newOffer(&State{Tools: tools, MaxDepth: 1}, math.MaxInt, slog.New(slog.DiscardHandler))
		seen := make(map[string]bool)
		for _, x := range o.tools {
			if !textutil.LegalToolName(x.Name) || seen[x.Name] || len([]rune(x.Description)) > maxDescription || !json.Valid(x.InputSchema) {
				t.Fatalf("%+v of %+v", x, tools)
			}
			seen[x.Name] = true
			from := o.find(x.Name)
			if from == nil || o.names[from.tool.Name] != x.Name {
				t.Fatalf("%q leads back to %+v", x.Name, from)
			}
			if from.tool.Name != Subproblem || o.find(from.tool.Name) == nil {
				checkOffered(t, from, x)
			}
		}
	})
}

// checkOffered checks that the offered schema requires one additional property.
func checkOffered(t *testing.T, from *offered, x llm.Tool) {
	t.Helper()
	was, _ := schemaParts(from.tool.InputSchema) // an invalid schema has no parameters
	now, required := schemaParts(x.InputSchema)
	if _, there := was[from.rationale]; there || len(required) == 0 || required[0] != from.rationale {
		t.Fatalf("%q of\n%s\nin\n%s", from.rationale, from.tool.InputSchema, x.InputSchema)
	}
	for name := range was {
		if _, there := now[name]; !there {
			t.Fatalf("%q is lost:\n%s", name, x.InputSchema)
		}
	}
}

// schemaParts returns the properties and the required ones of a JSON Schema, whose keywords
// are case-sensitive.
func schemaParts(text json.RawMessage) (properties map[string]any, required []string) {
	var schema map[string]json.RawMessage
	_ = json.Unmarshal(text, &schema)
	_ = json.Unmarshal(schema["properties"], &properties)
	_ = json.Unmarshal(schema["required"], &required)
	return properties, required
}

// FuzzStrip checks that strip returns an object without the reason for any
// arguments, and that it is idempotent.
func FuzzStrip(f *testing.F) {
	for _, s := range []string{
		`{"rationale":"why","path":"a<b"}`, `{"rationale":1}`, `{}`, ``, ` `, `null`, `"x"`, `[`, `{"a":1e400}`,
		`{"a":{"rationale":"deep"}}`, `{"rationale":"\u0000\n x"}`, `{"a":1,"a":2}`, "{\"\xff\":1}", `{"Rationale":"x"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, written string) {
		o := &offered{rationale: rationaleName}
		args, reason, err := o.strip(json.RawMessage(written))
		if err != nil {
			return
		}
		if reason == "" || len([]rune(reason)) > maxReason+1 || strings.ContainsAny(reason, "\n\r\x00") {
			t.Fatalf("reason %q", reason)
		}
		var fields map[string]any
		dec := json.NewDecoder(bytes.NewReader(args))
		dec.UseNumber()
		if err := dec.Decode(&fields); err != nil || fields == nil {
			t.Fatalf("%q becomes %q: %v", written, args, err)
		}
		if _, there := fields[rationaleName]; there {
			t.Fatalf("%q becomes %q", written, args)
		}
		again, _, err := o.strip(args)
		if err != nil || !bytes.Equal(again, args) {
			t.Fatalf("%q becomes %q becomes %q: %v", written, args, again, err)
		}
	})
}

// FuzzConclude checks that the parts of an answer are found in any text.
func FuzzConclude(f *testing.F) {
	f.Add("# Title\n\nOne. Two.\n\nConfidence: 80 %")
	f.Fuzz(func(_ *testing.T, answer string) {
		_ = FirstSentence(answer)
		_, _ = confidence(answer)
	})
}
