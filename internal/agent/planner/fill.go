package planner

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
)

// filling holds the arguments of a tool as far as the question provides them.
type filling struct {
	tool    *Tool
	args    map[string]any
	missing []string // required parameters without a value
	numbers int      // number of the question's numbers that were used
	left    int      // number of the question's numbers that were not used
	chosen  int      // values of enumerations that the question names
}

var (
	textParam  = param{[]string{"message", "text", "prompt", "input", "content"}, "string"}
	urlParam   = param{[]string{"url", "uri", "link"}, "string"}
	placeParam = param{[]string{"location", "city", "place", "town", "country", "region"}, "string"}

	number  = regexp.MustCompile(`(^|[\s(=+*/,:])(-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\b`)
	address = regexp.MustCompile(`https?://[^\s<>"')]+`)
	place   = regexp.MustCompile(`\b(?:in|at|for|near|of)\s+(\p{Lu}[\p{L}'\-]*(?:\s+(?:(?:de|da|di|do|del|la|le|las|los|am|of|the|sur|upon)\s+){0,2}\p{Lu}[\p{L}'\-]*)*)`)
)

// numbersIn returns the numbers of a text in their order.
func numbersIn(text string) []json.Number {
	var out []json.Number
	text = strings.NewReplacer("+", " + ", "*", " * ", "/", " / ").Replace(text)
	for _, m := range number.FindAllStringSubmatch(text, maxNamed) {
		f, err := strconv.ParseFloat(strings.ReplaceAll(m[2], ",", ""), 64)
		if err == nil {
			out = append(out, json.Number(strconv.FormatFloat(f, 'f', -1, 64)))
		}
	}
	return out
}

// fill fills a tool's parameters from the question: the required ones, and the
// optional ones that the question mentions.
func (r *ruleRun) fill(t *Tool) *filling {
	s := parseSchema(t.InputSchema)
	f := &filling{tool: t, args: make(map[string]any)}
	for _, name := range s.Required {
		if v := r.valueFor(f, name, s.Properties[name]); v != nil {
			f.args[name] = v
		} else {
			f.missing = append(f.missing, name)
		}
	}
	if name, ok := s.find(queryParam); ok && f.args[name] == nil {
		if v := r.valueFor(f, name, s.Properties[name]); v != nil {
			f.args[name] = v
		}
	}
	r.fillOptional(f, &s)
	f.left = len(r.q.numbers) - f.numbers
	return f
}

// fillOptional sets an optional parameter to the value of its enumeration that
// the question names, or to the one number that is left if no other parameter
// could use it.
func (r *ruleRun) fillOptional(f *filling, s *schema) {
	var numeric []string
	for name, p := range s.Properties {
		if f.args[name] != nil || slices.Contains(s.Required, name) {
			continue
		}
		if v := r.q.choice(p.Enum); v != "" {
			f.args[name] = v
			f.chosen++
		} else if p.Type != nil && admits(p.Type, "number") {
			numeric = append(numeric, name)
		}
	}
	if len(numeric) == 1 && len(r.q.numbers) == f.numbers+1 {
		p := s.Properties[numeric[0]]
		if v := r.nextNumber(f, p); v != nil {
			f.args[numeric[0]] = v
		}
	}
}

// valueFor returns the question's value for a parameter, or nil.
func (r *ruleRun) valueFor(f *filling, name string, p property) any {
	switch {
	case len(p.Const) > 0:
		return p.Const
	case len(p.Enum) > 0:
		if v := r.q.choice(p.Enum); v != "" {
			f.chosen++
			return v
		}
	case p.Type != nil && !admits(p.Type, "string"):
		if admits(p.Type, "number") {
			if v := r.nextNumber(f, p); v != nil {
				return v
			}
		}
	default:
		if s := r.textFor(f.tool, name, p); s != "" {
			return s
		}
	}
	if len(p.Default) > 0 {
		return p.Default
	}
	return nil
}

// nextNumber returns the first number of the question that is not used yet.
func (r *ruleRun) nextNumber(f *filling, p property) any {
	if f.numbers >= len(r.q.numbers) {
		return nil
	}
	n := r.q.numbers[f.numbers]
	if p.Type == "integer" && strings.Contains(n.String(), ".") {
		return nil
	}
	f.numbers++
	return n
}

// textFor returns the text of the question that fits a parameter of this name.
func (r *ruleRun) textFor(t *Tool, name string, p property) string {
	is := func(p param) bool { return slices.Contains(p.names, name) }
	if s := r.q.assigned(name); s != "" {
		return s
	}
	switch {
	case p.Format == "uri" || slices.Contains(urlParam.names, name) && address.MatchString(r.q.text):
		return strings.TrimRight(address.FindString(r.q.text), ".,;:!?")
	case is(pathParam):
		return r.pathFor(t)
	case is(patternParam):
		return r.patternFor()
	case is(textParam):
		if s := r.q.textAfter(t); s != "" {
			return s
		}
		return r.words()
	case is(queryParam):
		return r.words()
	case is(placeParam):
		if m := place.FindStringSubmatch(r.q.text); m != nil {
			return m[1]
		}
	}
	if len(r.q.quoted) > 0 {
		return r.q.quoted[0]
	}
	return ""
}

// words returns the search terms: files and keywords, or the whole question if
// it has neither.
func (r *ruleRun) words() string {
	if w := strings.Join(append(slices.Clone(r.q.files), r.q.keywords...), " "); w != "" {
		return w
	}
	return r.q.text
}

// pathFor returns the file that the question names, as a path if the tool's
// host has listed it, or a root for a tool that lists or searches.
func (r *ruleRun) pathFor(t *Tool) string {
	if len(r.q.files) > 0 {
		if t.Host != r.box.host {
			return r.q.files[0]
		}
		for _, p := range r.known.files() {
			if sameFile(p, r.q.files[0]) {
				return p
			}
		}
		return r.q.files[0]
	}
	if named := (contextwindow.Call{Tool: t.Name}); is(r.box.list, named) || is(r.box.search, named) {
		return r.rootFolders()[0]
	}
	return ""
}

func (r *ruleRun) patternFor() string {
	for _, w := range append(slices.Clone(r.q.files), r.q.keywords...) {
		return "**/*" + anyCase(stem(base(w))) + "*"
	}
	return ""
}

// call returns a call with the filled arguments. It returns none if an argument
// is missing or does not fit, or if an arithmetic tool would leave out some of
// the question's numbers.
func (f *filling) call(reason string) []contextwindow.Call {
	args, err := f.arguments()
	if err != nil || f.left > 0 && isArithmetic(f.tool) {
		return nil
	}
	return []contextwindow.Call{{Tool: f.tool.Name, Arguments: args, Reason: reason}}
}

// arguments returns the arguments as an object that fits the tool's schema.
func (f *filling) arguments() (json.RawMessage, error) {
	if len(f.missing) > 0 {
		return nil, fmt.Errorf("the question does not say what to give it for %s", codes(f.missing))
	}
	args := marshal(f.args)
	if Validate(f.tool.InputSchema, args) != nil { // its error may quote the question
		return nil, errors.New("what the question gives it does not fit its schema")
	}
	return args, nil
}

// choice returns the longest value of an enumeration that the question names.
func (q *question) choice(enum []any) string {
	text := " " + strings.Join(q.words, " ") + " "
	best := ""
	for _, v := range enum {
		s, ok := v.(string)
		if ok && len(s) > len(best) && strings.Contains(text, " "+strings.Join(words(s), " ")+" ") && len(words(s)) > 0 {
			best = s
		}
	}
	return best
}

// assigned returns the value in "name: value" or "name=value".
func (q *question) assigned(name string) string {
	m, _ := matchAfterName(q.text, `(?:^|[\s,;(])`, name, `\s?[:=]\s*("[^"\n]+"|[^\s,;)]+)`)
	return strings.Trim(m, `"`)
}

// textAfter returns the text that follows the tool's name in the question, or the
// first quotation in that text.
func (q *question) textAfter(t *Tool) string {
	for _, part := range append([]string{t.Name}, distinctiveWords(t)...) {
		rest, there := matchAfterName(q.text, `\b`, part, `\b[\s:,]*(.*)`)
		if !there {
			continue
		}
		if quoted := quotations(rest); len(quoted) > 0 {
			return quoted[0]
		}
		return strings.TrimSpace(rest)
	}
	return ""
}

// matchAfterName matches before, name and after in sequence, ignoring case, and
// returns the one group of the pattern after. It does not match names longer
// than 200 bytes.
func matchAfterName(text, before, name, after string) (rest string, there bool) {
	const longest = 200
	if len(name) > longest {
		return "", false
	}
	at, err := regexp.Compile(`(?i)` + before + regexp.QuoteMeta(name) + after)
	if err != nil {
		return "", false // the name is not valid UTF-8
	}
	if m := at.FindStringSubmatch(text); m != nil {
		return m[1], true
	}
	return "", false
}
