package openai

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// form is a form in which models write calls. read returns the calls at the beginning of a
// text that follows open, and the text after them; no calls: the text has another form.
type form struct {
	open, close string
	read        func(text string, tools []llm.Tool) (found []*call, rest string)
}

// forms are the forms of Hermes and Qwen, Qwen3-Coder, GLM, Mistral, Kimi and DeepSeek.
var forms = []form{
	{"<tool_call>", "</tool_call>", readJSON},
	{"<tool_call>", "</tool_call>", readFunction},
	{"<tool_call>", "</tool_call>", readPairs},
	{"<function=", "</tool_call>", func(text string, tools []llm.Tool) ([]*call, string) { return readFunction("<function="+text, tools) }},
	{"[TOOL_CALLS]", "", readNamed},
	{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", readSection("<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>")},
	{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", readSection("<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>")},
}

// writtenCalls finds calls that a model writes at the end of its text. From the beginning
// of the first form on, the text is held back until its end.
type writtenCalls struct {
	text  func(string)
	tools []llm.Tool // only these can be called
	held  strings.Builder
	opens bool // held begins with a form, not with a part of its beginning
	line  bool // what was emitted ends within a line
}

func (w *writtenCalls) write(s string) {
	if w.opens {
		w.held.WriteString(s)
		return
	}
	s = w.held.String() + s
	w.held.Reset()
	begin := len(s)
	for _, f := range forms {
		if at := strings.Index(s, f.open); at >= 0 {
			begin, w.opens = min(begin, at), true
		}
	}
	if !w.opens {
		for _, f := range forms {
			begin = min(begin, len(s)-partial(s, f.open))
		}
	}
	if text := s[:begin]; text != "" {
		w.line = !strings.HasSuffix(strings.TrimRight(text, " \t"), "\n")
		w.text(text)
	}
	w.held.WriteString(s[begin:])
}

// end adds the calls that were held back, or emits the text if it has other content.
func (w *writtenCalls) end(to *calls) {
	held := w.held.String()
	w.held.Reset()
	found := readCalls(held, w.tools)
	if found == nil && !w.line {
		found = readBroken(held, w.tools)
	}
	if found == nil {
		w.text(held)
	}
	for _, c := range found {
		if len(to.list) < maxCalls {
			to.list = append(to.list, c)
		}
	}
}

// readCalls parses a text that consists of calls of tools; nil: it does not. A
// closing tag may be missing: some servers end an answer before it.
func readCalls(text string, tools []llm.Tool) (all []*call) {
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		var found []*call
		for _, f := range forms {
			body, opened := strings.CutPrefix(rest, f.open)
			if !opened {
				continue
			}
			var after string
			found, after = f.read(body, tools)
			if found == nil {
				continue
			}
			rest = strings.TrimPrefix(strings.TrimSpace(after), f.close)
			break
		}
		if found == nil || slices.ContainsFunc(found, func(c *call) bool { return findTool(tools, c.name) == nil }) {
			return nil
		}
		all = append(all, found...)
	}
	return all
}

// broken matches the beginning of a call in any of the forms up to the name of its tool.
var broken = regexp.MustCompile(`^(?:<tool_call>\s*)?(?:` +
	`<tool_call>\s*(?:\{[^{}]*?"name"\s*:\s*)?|\{[^{}]*?"name"\s*:\s*|<function=|` +
	`\[TOOL_CALLS\]\s*(?:\[?\s*\{[^{}]*?"name"\s*:\s*)?|` +
	`<\|tool_calls_section_begin\|>\s*<\|tool_call_begin\|>\s*(?:functions\.)?|` +
	`<｜tool▁calls▁begin｜>\s*<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?)` +
	`(?:"([A-Za-z0-9_-]{1,64})"|([A-Za-z0-9_-]{1,64})[ \t]*(?:[{\[>\n]|:\d|<arg_|<\||<｜|$))`)

// readBroken returns the first call of a text that begins like a call of a tool and cannot be read, with
// the text as its arguments, so that the model is told; nil: the text is not a call.
func readBroken(text string, tools []llm.Tool) []*call {
	text = strings.TrimSpace(text)
	m := broken.FindStringSubmatch(text)
	if len(m) < 3 || findTool(tools, m[1]+m[2]) == nil { // one of them is empty
		return nil
	}
	for _, f := range forms { // text after the call explains it
		if strings.HasPrefix(text, f.open) && f.close != "" && strings.Contains(text, f.close) && !strings.HasSuffix(text, f.close) {
			return nil
		}
	}
	return []*call{newCall(m[1]+m[2], text)}
}

func newCall(name, arguments string) *call {
	c := &call{name: name}
	c.args.WriteString(arguments)
	return c
}

func findTool(tools []llm.Tool, name string) *llm.Tool {
	if i := slices.IndexFunc(tools, func(t llm.Tool) bool { return t.Name == name }); i >= 0 {
		return &tools[i]
	}
	return nil
}

// writtenCall is a call as JSON.
type writtenCall struct {
	Name       str             `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
}

func (c *writtenCall) call() *call {
	if c.Arguments == nil {
		c.Arguments = c.Parameters
	}
	return newCall(string(c.Name), string(c.Arguments))
}

// decode decodes the JSON value at the beginning of a text, and returns the text after it: a
// closing tag in a value ends nothing.
func decode(text string, to any) (rest string, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	if d.Decode(to) != nil {
		return "", false
	}
	return text[d.InputOffset():], true
}

// readJSON reads {"name":…,"arguments":{…}}.
func readJSON(text string, _ []llm.Tool) ([]*call, string) {
	var c writtenCall
	rest, ok := decode(text, &c)
	if !ok {
		return nil, ""
	}
	return []*call{c.call()}, rest
}

// readNamed reads NAME{…}, NAME[ARGS]{…}, NAME[CALL_ID]ID[ARGS]{…}, or a list of calls as
// JSON.
func readNamed(text string, _ []llm.Tool) (found []*call, rest string) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") {
		var list []writtenCall
		rest, ok := decode(text, &list)
		if !ok {
			return nil, ""
		}
		for i := range list {
			found = append(found, list[i].call())
		}
		return found, rest
	}
	begin := strings.Index(text, "{")
	if begin < 0 {
		return nil, ""
	}
	name, _, _ := strings.Cut(text[:begin], "[")
	var arguments json.RawMessage
	rest, ok := decode(text[begin:], &arguments)
	if !ok {
		return nil, ""
	}
	return []*call{newCall(strings.TrimSpace(name), string(arguments))}, rest
}

// readSection returns a reader of calls of which each has a beginning, a separator before
// its arguments, and an end. The name may follow "functions." and precede ":" and a number.
// Before the name there may be a type with a separator; then the arguments are in a fence.
func readSection(begin, separator, end string) func(string, []llm.Tool) ([]*call, string) {
	const fence = "```json"
	return func(text string, _ []llm.Tool) (found []*call, rest string) {
		for rest = strings.TrimSpace(text); strings.HasPrefix(rest, begin); rest = strings.TrimSpace(rest) {
			name, after, ok := strings.Cut(rest[len(begin):], separator)
			if !ok {
				return nil, ""
			}
			head, _, _ := strings.Cut(after, begin) // not more, for each of the calls
			fenced, _, hasFence := strings.Cut(head, fence)
			if hasFence && !strings.Contains(fenced, end) && !strings.Contains(fenced, "{") {
				name, after = fenced, after[len(fenced)+len(fence):]
			}
			var arguments json.RawMessage
			after, ok = decode(after, &arguments)
			if !ok {
				return nil, ""
			}
			after = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(after), "```"))
			rest = strings.TrimPrefix(after, end)
			name, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(name), "functions."), ":")
			found = append(found, newCall(name, string(arguments)))
		}
		return found, rest
	}
}

// readFunction reads <function=NAME><parameter=KEY>VALUE</parameter>…</function>.
func readFunction(text string, tools []llm.Tool) ([]*call, string) {
	head, isFunction := strings.CutPrefix(strings.TrimSpace(text), "<function=")
	name, rest, closed := strings.Cut(head, ">")
	if !isFunction || !closed {
		return nil, ""
	}
	return readValues(strings.TrimSpace(name), rest, "<parameter=", ">", "</parameter>", "</function>", tools)
}

// readPairs reads NAME, the end of the line, and <arg_key>KEY</arg_key><arg_value>VALUE</arg_value>….
func readPairs(text string, tools []llm.Tool) ([]*call, string) {
	text = strings.TrimLeft(text, " \t\r\n")
	end := strings.IndexAny(text, "\n<")
	if end < 0 || text[end] == '<' && !strings.HasPrefix(text[end:], "<arg_key>") {
		return nil, ""
	}
	return readValues(strings.TrimSpace(text[:end]), text[end:], "<arg_key>", "</arg_key>", "</arg_value>", "", tools)
}

// readValues reads the arguments of a call from pairs of a key and a value in tags, up to
// the tag last.
func readValues(name, rest, openKey, closeKey, closeValue, last string, tools []llm.Tool) ([]*call, string) {
	arguments := make(map[string]json.RawMessage)
	for rest = strings.TrimSpace(rest); strings.HasPrefix(rest, openKey); rest = strings.TrimSpace(rest) {
		key, after, hasKey := strings.Cut(rest[len(openKey):], closeKey)
		value, next, hasValue := strings.Cut(after, closeValue)
		if !hasKey || !hasValue {
			return nil, ""
		}
		key = strings.TrimSpace(key)
		if closeValue == "</arg_value>" {
			value = strings.TrimPrefix(strings.TrimLeft(value, " \t\r\n"), "<arg_value>")
		}
		value = strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n") // of the layout
		arguments[key], rest = valueOf(findTool(tools, name), key, value), next
	}
	return []*call{newCall(name, string(llm.Marshal(arguments)))}, strings.TrimPrefix(rest, last)
}

// valueOf returns the value of an argument that was written without quotes: a text, if the
// schema of the tool says so or it is no JSON.
func valueOf(tool *llm.Tool, key, text string) json.RawMessage {
	var schema struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
	}
	if tool != nil {
		_ = json.Unmarshal(tool.InputSchema, &schema) // without types, it reads JSON
	}
	if strings.Contains(string(schema.Properties[key].Type), `"string"`) || !json.Valid([]byte(text)) {
		return llm.Marshal(text)
	}
	return json.RawMessage(strings.TrimSpace(text))
}
