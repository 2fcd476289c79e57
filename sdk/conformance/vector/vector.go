// Package vector reads the vectors of the conformance suite. The README of the suite
// describes their format.
package vector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// Verb is the action of a step.
type Verb string

// Verbs of client and gateway vectors. The README has their meaning.
const (
	Start   Verb = "start"
	Kill    Verb = "kill"
	Signal  Verb = "signal"
	Exits   Verb = "exits"
	Prints  Verb = "prints"
	Connect Verb = "connect"
	Refuse  Verb = "refuse"
	Send    Verb = "<" // a frame from the gateway to the client
	Log     Verb = "log"
	Expect  Verb = ">" // a frame from the client to the gateway
	Await   Verb = ">>"
	AwaitIn Verb = "<<"
	Not     Verb = "not"
	Quiet   Verb = "quiet"
	Release Verb = "release"
	Cut     Verb = "cut"
	Close   Verb = "close"
	NewLog  Verb = "newlog"
	Closed  Verb = "closed"
	Refused Verb = "refused"
	Get     Verb = "get"
	Post    Verb = "post"
)

// form is the form of the rest of a step.
type form int

const (
	none    form = iota // nothing
	word                // a text, which may be empty
	frame               // one JSON object, or raw, binary or again with an operand
	fated               // one JSON object, then perhaps "=> FATE"
	object              // perhaps one JSON object
	status              // a number, then perhaps one JSON object
	request             // a path, perhaps a JSON value, a status, perhaps a JSON object
)

// forms has the verbs of the two kinds of vectors.
var forms = map[bool]map[Verb]form{
	false: {
		Start: none, Kill: none, Signal: none, Exits: word, Prints: word, Connect: none, Refuse: status, Send: frame, Log: object, Expect: fated,
		Await: fated, Not: object, Quiet: none, Release: none, Cut: none, Close: word, NewLog: none,
	},
	true: {
		Connect: word, Refused: request, Send: frame, AwaitIn: object, Expect: frame, Not: object, Cut: none, Closed: word,
		Get: request, Post: request,
	},
}

// Fate is the outcome of a frame that a client sent.
type Fate string

// Fates. Error has the payload of the system.error in Step.Error.
const (
	Admit  Fate = ""
	Lost   Fate = "lost"
	Silent Fate = "silent"
	Hold   Fate = "hold"
	Error  Fate = "error"
)

// Encoding is how the frame of a step is written.
type Encoding string

// Encodings of a frame. Again is the id of a frame that was sent before.
const (
	JSON   Encoding = ""
	Raw    Encoding = "raw"
	Binary Encoding = "binary"
	Again  Encoding = "again"
)

// Step is one line of a script.
type Step struct {
	Line  int
	Text  string // the line
	Times int    // how often to run it; at least 1
	Peer  string // in a gateway vector, the connection
	Verb  Verb

	Encoding Encoding
	Body     string // JSON with placeholders, the bytes of a raw frame, or the id of Again; "": none
	Fate     Fate
	Error    string // payload of Error, as JSON
	Word     string // the text of a verb that takes one; the path of a request
	Status   int
	Sent     string // body of a request, as JSON; "": none
}

// Vector is one case.
type Vector struct {
	Name  string
	About string            // first line of the comment
	Files map[string]string // all files but the script
	Steps []Step
}

// Bounds of a vector.
const (
	maxSteps = 10_000
	maxTimes = 10_000
	maxPad   = 16 << 20
)

// Load reads the vectors in a folder, in the order of their names. gateway selects the verbs.
func Load(files fs.FS, dir string, gateway bool) ([]Vector, error) {
	names, err := fs.Glob(files, path.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no vectors in %s", dir)
	}
	var list []Vector
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		v, err := Parse(strings.TrimSuffix(path.Base(name), ".txtar"), text, gateway)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, v)
	}
	return list, nil
}

// Parse reads a vector. An error names the line in the script.
func Parse(name string, text []byte, gateway bool) (Vector, error) {
	archive := txtar.Parse(text)
	v := Vector{Name: name, Files: make(map[string]string)}
	v.About, _, _ = strings.Cut(strings.TrimSpace(string(archive.Comment)), "\n")
	if v.About == "" {
		return v, errors.New("the comment that describes the case is missing")
	}
	script, found := "", false
	for _, f := range archive.Files {
		_, twice := v.Files[f.Name]
		switch {
		case twice || f.Name == "script" && found:
			return v, fmt.Errorf("the file %q is there twice", f.Name)
		case f.Name == "script":
			script, found = string(f.Data), true
		default:
			v.Files[f.Name] = string(f.Data)
		}
	}
	for n, line := range strings.Split(script, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		s, err := parseStep(line, gateway)
		if err != nil {
			return v, fmt.Errorf("script line %d: %s: %w", n+1, line, err)
		}
		s.Line, s.Text = n+1, line
		v.Steps = append(v.Steps, s)
		if len(v.Steps) > maxSteps {
			return v, fmt.Errorf("more than %d steps", maxSteps)
		}
	}
	if len(v.Steps) == 0 {
		return v, errors.New("there is no script")
	}
	return v, nil
}

func parseStep(line string, gateway bool) (Step, error) {
	s := Step{Times: 1}
	first, rest := cut(line)
	if second, after := cut(rest); second == "times" {
		n, err := strconv.Atoi(first)
		if err != nil || n < 1 || n > maxTimes {
			return s, fmt.Errorf("a step is repeated 1 to %d times", maxTimes)
		}
		s.Times = n
		first, rest = cut(after)
	}
	if gateway {
		if !isName(first) {
			return s, errors.New("a step begins with the name of a connection")
		}
		s.Peer = first
		first, rest = cut(rest)
	}
	s.Verb = Verb(first)
	f, known := forms[gateway][s.Verb]
	if !known {
		return s, fmt.Errorf("%q is no step", first)
	}
	err := s.operands(f, rest)
	return s, err
}

func cut(s string) (first, rest string) {
	first, rest, _ = strings.Cut(s, " ")
	return first, strings.TrimSpace(rest)
}

// operands parses the rest of a step.
func (s *Step) operands(f form, rest string) (err error) {
	switch f {
	case none:
		return end(rest)
	case word:
		s.Word = rest
		return checkFill(rest)
	case frame:
		return s.frame(rest)
	case object:
		if rest == "" && s.Verb != Connect {
			return errors.New("a JSON object is missing")
		}
	case fated:
		return s.fated(rest)
	case status:
		var code string
		code, rest = cut(rest)
		s.Status, err = strconv.Atoi(code)
		if err != nil || s.Status < 100 || s.Status > 599 {
			return fmt.Errorf("%q is no HTTP status", code)
		}
		if rest == "" {
			return nil
		}
	case request:
		return s.request(rest)
	}
	s.Body, rest, err = cutObject(rest)
	if err != nil {
		return err
	}
	return end(rest)
}

func (s *Step) frame(rest string) (err error) {
	first, operand := cut(rest)
	s.Encoding = Encoding(first)
	switch s.Encoding {
	case Raw, Binary:
		s.Body, err = strconv.Unquote(operand)
		if err != nil {
			return errors.New("a quoted string is missing")
		}
		return checkFill(s.Body)
	case Again:
		s.Body = operand
		if operand == "" || strings.Contains(operand, " ") {
			return errors.New("an id is missing")
		}
		return checkFill(operand)
	}
	s.Encoding = JSON
	s.Body, rest, err = cutObject(rest)
	if err != nil {
		return err
	}
	return end(rest)
}

func (s *Step) fated(rest string) (err error) {
	s.Body, rest, err = cutObject(rest)
	if err != nil || rest == "" {
		return err
	}
	fate, found := strings.CutPrefix(rest, "=>")
	fate = strings.TrimSpace(fate)
	if !found || fate == "" {
		return errors.New(`an outcome begins with "=>"`)
	}
	if fate[0] == '{' {
		s.Fate = Error
		s.Error, rest, err = cutObject(fate)
		if err != nil {
			return err
		}
		return end(rest)
	}
	s.Fate = Fate(fate)
	if !slices.Contains([]Fate{Lost, Silent, Hold}, s.Fate) {
		return fmt.Errorf("%q is no outcome", fate)
	}
	return nil
}

// request parses "PATH [JSON] STATUS [OBJECT]".
func (s *Step) request(rest string) (err error) {
	s.Word, rest = cut(rest)
	if !strings.HasPrefix(s.Word, "/") {
		return errors.New("a path begins with a slash")
	}
	if err := checkFill(s.Word); err != nil {
		return err
	}
	if strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, "[") {
		s.Sent, rest, err = cutJSON(rest)
		if err != nil {
			return err
		}
	}
	return s.operands(status, rest)
}

func end(rest string) error {
	if rest != "" {
		return fmt.Errorf("%q is too much", rest)
	}
	return nil
}

// cutObject returns the JSON object at the beginning of a text, and the rest.
func cutObject(text string) (object, rest string, err error) {
	if !strings.HasPrefix(text, "{") {
		return "", "", errors.New("a JSON object is missing")
	}
	return cutJSON(text)
}

func cutJSON(text string) (value, rest string, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return "", "", fmt.Errorf("read JSON: %w", err)
	}
	at := d.InputOffset()
	return text[:at], strings.TrimSpace(text[at:]), checkFill(text[:at])
}

// isName reports whether a text is the name of a connection.
func isName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// checkFill reports a placeholder ${…} that cannot be filled.
func checkFill(text string) error {
	_, err := Fill(text, func(string) (string, bool) { return "0", true })
	return err
}

// Fill replaces the placeholders ${name} and ${text*count}; a count is a number or a name.
// lookup returns the value of a name; false: it has none.
func Fill(text string, lookup func(name string) (string, bool)) (string, error) {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed || name == "" || strings.ContainsAny(name, `"{`) {
			return "", errors.New("a placeholder ${…} does not end")
		}
		text = rest
		if pad, count, ok := strings.Cut(name, "*"); ok {
			n, err := strconv.Atoi(count)
			if value, known := lookup(count); err != nil && known {
				n, err = strconv.Atoi(value)
			}
			if err != nil || n < 0 || n > maxPad || n*len(pad)+out.Len() > maxPad {
				return "", fmt.Errorf("the count in ${%s} is no number, or the text is longer than %d bytes", name, maxPad)
			}
			out.WriteString(strings.Repeat(pad, n))
			continue
		}
		value, known := lookup(name)
		if !known {
			return "", fmt.Errorf("${%s} has no value", name)
		}
		out.WriteString(value)
	}
}

// Failure is the step of a vector that failed.
type Failure struct {
	Vector string
	Step   Step
	Err    error
}

// Error names the vector, the line and the reason.
func (f *Failure) Error() string {
	return fmt.Sprintf("%s: script line %d: %s\n%v", f.Vector, f.Step.Line, f.Step.Text, f.Err)
}

// Unwrap returns the reason.
func (f *Failure) Unwrap() error { return f.Err }

// Compact returns JSON on one line, for messages; a long text is shortened.
func Compact(raw []byte) string {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		out.Reset()
		out.Write(raw)
	}
	const most = 2000
	if out.Len() > most {
		return string(out.Bytes()[:most]) + "…"
	}
	return out.String()
}
