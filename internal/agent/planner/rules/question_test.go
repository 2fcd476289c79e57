package rules

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
)

// The pattern defines the expected result; it would take quadratic time.
var quotation = regexp.MustCompile("\"([^\"\n]+)\"|“([^”\n]+)”|`([^`\n]+)`")

func FuzzQuotations(f *testing.F) {
	for _, s := range []string{
		"", `say "a b" and “c” and ` + "`d`", `"" "x`, "\"a\n\"b\"", `“"x"“"y"”`, "“”“a”", "\xff\"\xff\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want []string
		for _, m := range quotation.FindAllStringSubmatch(text, maxNamed) {
			want = append(want, m[1]+m[2]+m[3])
		}
		if got := quotations(text); !slices.Equal(got, want) {
			t.Errorf("%q quotes %q, not %q", text, got, want)
		}
	})
}

// Only the first bytes of a long question are read.
func TestRules_LongQuestion(t *testing.T) {
	const text = `{"properties":{"text":{"type":"string"}},"required":["text"]}`
	var tools []planner.Tool
	for _, name := range []string{"search", strings.Repeat("x", 64<<10), "\xff"} { // a pattern of each would be costly, or invalid
		tools = append(tools, planner.Tool{Name: name, InputSchema: json.RawMessage(text)})
	}
	for name, text := range map[string]string{
		"letters":    strings.Repeat("a", 1<<20),
		"marks":      strings.Repeat(`“"x"`, 1<<17),
		"ends":       strings.Repeat("。.", 1<<17) + "x?",
		"files":      strings.Repeat("a.md b.md ", 40<<10),
		"numbers":    strings.Repeat("1,111 2 ", 50<<10),
		"words":      strings.Repeat("qwertz asdfgh yxcvbn gaga", 16<<10),
		"characters": "a" + strings.Repeat("本", 1<<17),
	} {
		q := parse(text)
		if len(q.text) > maxQuestion || !utf8.ValidString(q.text) {
			t.Errorf("%s: %d bytes are read", name, len(q.text))
		}
		if len(q.keywords) > maxKeywords || len(q.files) > maxNamed || len(q.numbers) > maxNamed || len(q.quoted) > maxNamed {
			t.Errorf("%s: %d keywords, %d files, %d numbers, %d quotations", name, len(q.keywords), len(q.files), len(q.numbers), len(q.quoted))
		}
		if _, err := (Rules{}).Next(t.Context(), planner.State{Question: text, MaxDepth: 1, Tools: tools}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var words []string
	for i := range 200 {
		words = append(words, "word"+strings.Repeat("x", i))
	}
	if q := parse(strings.Join(words[:120], " ")); len(q.keywords) != maxKeywords {
		t.Errorf("%d keywords", len(q.keywords))
	}
}

// A follow-up refers to what its asker asked before, and was answered.
func TestQuestion_Resolve(t *testing.T) {
	asked := func(text string) llm.Message { return llm.Message{Role: llm.User, Text: text} }
	answered := llm.Message{Role: llm.Assistant, Text: "An answer."}
	space, scene := asked("alice: @guide What is a space?"), asked("ben: @planner Can we announce version 2.4 today?")
	for name, c := range map[string]struct {
		question, asker string
		history         []llm.Message
		want            string // keywords
	}{
		"answered":                        {"and who may change it?", "alice", []llm.Message{space, answered}, "space change"},
		"not answered":                    {"and who may change it?", "alice", []llm.Message{space}, "change"},
		"others spoke before the answer":  {"and who may change it?", "alice", []llm.Message{space, scene, answered}, "space change"},
		"others spoke after the answer":   {"and who may change it?", "alice", []llm.Message{space, answered, scene, asked("planner: Yes.")}, "space change"},
		"to another agent in between":     {"and who may change it?", "alice", []llm.Message{space, answered, asked("alice: @scout hi"), asked("scout: Hello.")}, "space change"},
		"another person":                  {"and who may change it?", "carol", []llm.Message{space, answered}, "change"},
		"the asker is not known":          {"and who may change it?", "", []llm.Message{space, answered}, "space change"},
		"a question of its own":           {"What is a proposal?", "alice", []llm.Message{space, answered}, "proposal"},
		"a pronoun refers to the subject": {"where is it stored?", "alice", []llm.Message{space, answered, asked("alice: and who may change it?"), answered}, "space stored"},
		"no pronoun":                      {"and why?", "alice", []llm.Message{space, answered, asked("alice: and who may change it?"), answered}, "space change"},
	} {
		t.Run(name, func(t *testing.T) {
			q := parse(c.question)
			q.resolve(c.history, c.asker)
			if got := strings.Join(q.keywords, " "); got != c.want {
				t.Errorf("%q looks for %q, want %q", c.question, got, c.want)
			}
		})
	}
}
