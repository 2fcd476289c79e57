package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// schema is the part of a JSON Schema that is needed to build arguments.
type schema struct {
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
}

type property struct {
	Type    any             `json:"type"`
	Minimum *float64        `json:"minimum"`
	Maximum *float64        `json:"maximum"`
	Enum    []any           `json:"enum"`
	Const   json.RawMessage `json:"const"`
	Default json.RawMessage `json:"default"`
	Format  string          `json:"format"`
}

// role is a kind of parameter: its possible names, the most likely first.
type role []string

var (
	pathRole    = role{"path", "directory", "dir", "folder", "file", "file_path", "filepath", "filename", "uri"}
	patternRole = role{"pattern", "glob"}
	queryRole   = role{"query", "q", "question", "text", "search", "search_query", "term", "keywords", "prompt", "message", "topic"}
	goalRole    = append(slices.Clone(queryRole), "goal", "task", "input")
	textRole    = role{"message", "text", "prompt", "input", "content"}
	urlRole     = role{"url", "uri", "link"}
	placeRole   = role{"location", "city", "place", "town", "country", "region"}
	linesRole   = role{"head", "limit", "max_lines", "lines"} // a number; all others are texts
)

func (r role) has(name string) bool { return slices.Contains(r, name) }

// find returns the schema's name for a text parameter, or "".
func (s schema) find(r role) string {
	for _, name := range r {
		if p, ok := s.Properties[name]; ok && p.isText() {
			return name
		}
	}
	return ""
}

// needsOnly reports whether the schema has these parameters and requires no
// others.
func (s schema) needsOnly(roles ...role) bool {
	var names []string
	for _, r := range roles {
		names = append(names, s.find(r))
	}
	return !slices.Contains(names, "") && !slices.ContainsFunc(s.Required, func(r string) bool { return !slices.Contains(names, r) })
}

func (p property) isText() bool { return p.Type == nil || p.allows("string") }

func (p property) isNumber() bool { return p.allows("number") || p.allows("integer") }

func (p property) allows(typ string) bool {
	list, _ := p.Type.([]any)
	return p.Type == typ || slices.Contains(list, any(typ))
}

// filler fills the parameters of one tool from a question.
type filler struct {
	q     *question
	tool  *tool
	path  string // of the file or folder that the question means
	terms role   // of search terms
	text  string // the value of such a parameter
	goal  bool   // for Fill

	args    map[string]any
	missing []string // required parameters without a value
	numbers int      // number of the question's numbers that are used
	chosen  int      // values of enumerations that the question names
}

// Fill fills a tool's parameters for the Reasoning API, whose caller completes
// the missing ones. It differs from the rules: text, the goal in full, is the
// value of a parameter for search terms, and of the only required text
// parameter without a value. The arguments may not fit the schema. missing
// lists the required parameters without a value.
func Fill(t *planner.Tool, goal, text string) (args json.RawMessage, missing []string) {
	q := parse(goal)
	f := &filler{q: &q, tool: parseTool(t), terms: goalRole, text: text, goal: true}
	if len(q.files) > 0 {
		f.path = q.files[0]
	}
	f.fill()
	s := f.tool.schema
	open := slices.DeleteFunc(slices.Clone(f.missing), func(name string) bool {
		return pathRole.has(name) || !s.Properties[name].isText() || len(s.Properties[name].Enum) > 0
	})
	if len(open) == 1 {
		f.args[open[0]] = text
		f.missing = slices.DeleteFunc(f.missing, func(name string) bool { return name == open[0] })
	}
	return llm.Marshal(f.args), f.missing
}

// fill fills the required parameters, and the optional ones that the question
// mentions: values of enumerations, search terms, and the one number that is
// left if no other parameter could use it.
func (f *filler) fill() {
	s := f.tool.schema
	f.args = make(map[string]any)
	for _, name := range s.Required {
		if v := f.valueFor(name, s.Properties[name]); v != nil {
			f.args[name] = v
		} else {
			f.missing = append(f.missing, name)
		}
	}
	var numeric []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		switch {
		case slices.Contains(s.Required, name):
		case f.q.choice(p.Enum) != "",
			name == s.find(f.terms),
			name == s.find(pathRole) && f.goal && f.path != "":
			if v := f.valueFor(name, p); v != nil {
				f.args[name] = v
			}
		case p.isNumber():
			numeric = append(numeric, name)
		}
	}
	if len(numeric) == 1 && len(f.q.numbers) == f.numbers+1 {
		if v := f.nextNumber(s.Properties[numeric[0]]); v != nil {
			f.args[numeric[0]] = v
		}
	}
}

// valueFor returns the question's value for a parameter, or nil.
func (f *filler) valueFor(name string, p property) any {
	switch {
	case len(p.Const) > 0:
		return p.Const
	case len(p.Enum) > 0:
		if v := f.q.choice(p.Enum); v != "" {
			f.chosen++
			return v
		}
	case p.isText():
		if v := f.textFor(name, p); v != "" {
			return v
		}
	case p.isNumber():
		if v := f.nextNumber(p); v != nil {
			return v
		}
	}
	if len(p.Default) > 0 {
		return p.Default
	}
	return nil
}

// nextNumber returns the first number of the question that is not used yet.
func (f *filler) nextNumber(p property) any {
	if f.numbers >= len(f.q.numbers) {
		return nil
	}
	n := f.q.numbers[f.numbers]
	v, err := n.Float64()
	if p.Type == "integer" && strings.Contains(n.String(), ".") ||
		err != nil || p.Minimum != nil && v < *p.Minimum || p.Maximum != nil && v > *p.Maximum {
		return nil
	}
	f.numbers++
	return n
}

var (
	address = regexp.MustCompile(`https?://[^\s<>"')]+`)
	place   = regexp.MustCompile(`\b(?:in|at|for|near|of)\s+(\p{Lu}[\p{L}'\-]*(?:\s+(?:(?:de|da|di|do|del|la|le|las|los|am|of|the|sur|upon)\s+){0,2}\p{Lu}[\p{L}'\-]*)*)`)
)

// textFor returns the text of the question that fits a parameter of this name.
func (f *filler) textFor(name string, p property) string {
	if s := f.q.assigned[strings.ToLower(name)]; s != "" {
		return s
	}
	switch {
	case p.Format == "uri" || urlRole.has(name) && address.MatchString(f.q.text):
		return strings.TrimRight(address.FindString(f.q.text), ".,;:!?")
	case pathRole.has(name):
		return f.path
	case patternRole.has(name):
		for _, w := range f.q.terms() {
			return namePattern(w)
		}
		return ""
	case !f.goal && textRole.has(name):
		if s := f.q.textAfter(f.tool); s != "" {
			return s
		}
		return f.text
	case f.terms.has(name):
		return f.text
	case placeRole.has(name):
		if m := place.FindStringSubmatch(f.q.text); m != nil {
			return m[1]
		}
	}
	if len(f.q.quoted) > 0 {
		return f.q.quoted[0]
	}
	return ""
}

// textAfter returns the text that follows the tool's name in the question, or
// the first quotation in that text. It ignores words of more than 200 bytes,
// since it compiles a pattern for each.
func (q *question) textAfter(t *tool) string {
	for _, word := range append([]string{t.Name}, t.ownWords()...) {
		at, err := regexp.Compile(`(?i)\b` + regexp.QuoteMeta(word[:min(len(word), 201)]) + `\b[\s:,]*(.*)`)
		if len(word) > 200 || err != nil { // a name that is not valid UTF-8 does not compile
			continue
		}
		if m := at.FindStringSubmatch(q.text); m != nil {
			return append(quotations(m[1]), strings.TrimSpace(m[1]))[0]
		}
	}
	return ""
}

// namePattern returns a glob of files with a word in their names, with a capital
// first letter or without.
func namePattern(word string) string {
	w := textutil.Stem(base(word))
	if lower, upper := strings.ToLower(w[:1]), strings.ToUpper(w[:1]); lower != upper && len(upper) == 1 {
		w = "[" + lower + upper + "]" + w[1:]
	}
	return "**/*" + w + "*"
}

// call returns a call with the filled arguments, which fit the tool's schema.
func (f *filler) call() (contextwindow.Call, error) {
	if len(f.missing) > 0 {
		return contextwindow.Call{}, fmt.Errorf("the question does not say what to give it for %s", codes(f.missing))
	}
	c := contextwindow.Call{Tool: f.tool.Name, Arguments: llm.Marshal(f.args)}
	if planner.Validate(f.tool.InputSchema, c.Arguments) != nil { // its error may quote the question
		return contextwindow.Call{}, errors.New("what the question gives it does not fit its schema")
	}
	return c, nil
}
