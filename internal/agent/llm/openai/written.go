package openai

import (
	"encoding/json"
	"strings"
)

const (
	openCall  = "<tool_call>"
	closeCall = "</tool_call>"
)

// writtenCalls finds calls that a model writes at the end of its text, in the form of
// Hermes and Qwen: <tool_call>{"name":…,"arguments":{…}}</tool_call>. From the first tag
// on, the text is held back until its end.
type writtenCalls struct {
	text func(string)
	held strings.Builder
}

func (w *writtenCalls) write(s string) {
	if w.held.Len() >= len(openCall) {
		w.held.WriteString(s)
		return
	}
	s = w.held.String() + s // that is less than a tag
	w.held.Reset()
	begin := strings.Index(s, openCall)
	if begin < 0 {
		begin = len(s) - partial(s, openCall)
	}
	w.text(s[:begin])
	w.held.WriteString(s[begin:])
}

// end adds the calls that were held back, or emits the text if it has other content.
func (w *writtenCalls) end(to *calls) {
	held := w.held.String()
	w.held.Reset()
	found, isCalls := readCalls(held)
	if !isCalls {
		w.text(held)
		return
	}
	for _, c := range found {
		if len(to.list) < maxCalls {
			to.list = append(to.list, c)
		}
	}
}

// readCalls parses a text that consists of calls. The last closing tag may be missing:
// some servers end an answer before it.
func readCalls(text string) (found []*call, isCalls bool) {
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		body, opened := strings.CutPrefix(rest, openCall)
		if !opened {
			return nil, false
		}
		var c struct {
			Name       str             `json:"name"`
			Arguments  json.RawMessage `json:"arguments"`
			Parameters json.RawMessage `json:"parameters"`
		}
		d := json.NewDecoder(strings.NewReader(body)) // a closing tag in an argument ends nothing
		if d.Decode(&c) != nil || c.Name == "" {
			return nil, false
		}
		if c.Arguments == nil {
			c.Arguments = c.Parameters
		}
		rest = strings.TrimSpace(body[d.InputOffset():])
		if after, closed := strings.CutPrefix(rest, closeCall); closed {
			rest = after
		} else if rest != "" {
			return nil, false
		}
		made := &call{name: string(c.Name)}
		made.args.Write(c.Arguments)
		found = append(found, made)
	}
	return found, len(found) > 0
}
