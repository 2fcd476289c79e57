package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

const maxCalls = 256 // of one answer

// calls assembles an answer's calls from their pieces.
type calls struct{ list []*call }

type call struct {
	index *int
	id    string
	name  string
	args  strings.Builder
	extra json.RawMessage
}

// add applies a piece: the beginning of a call, its continuation, or all of it.
func (cs *calls) add(d callDelta) error {
	c := cs.find(d)
	if c == nil {
		if len(cs.list) >= maxCalls {
			return fmt.Errorf("more than %d tool calls", maxCalls)
		}
		c = &call{index: d.Index}
		cs.list = append(cs.list, c)
	}
	if c.id == "" {
		c.id = string(d.ID)
	}
	if c.name == "" {
		c.name = string(d.Function.Name)
	}
	c.args.WriteString(string(d.Function.Arguments))
	if some(d.ExtraContent) {
		c.extra = d.ExtraContent
	}
	return nil
}

// find returns the call that a piece continues, or nil for a new call. The
// index identifies the call, but some servers send complete calls all with
// index 0, and others send no index, so a different id or a name also starts
// another call.
func (cs *calls) find(d callDelta) *call {
	if d.Index == nil && d.ID == "" && d.Function.Name == "" && len(cs.list) > 0 {
		return cs.list[len(cs.list)-1]
	}
	for i := len(cs.list) - 1; i >= 0; i-- {
		c := cs.list[i]
		if !c.sameIndex(d.Index) {
			continue
		}
		if c.continues(d) {
			return c
		}
		if d.ID == "" {
			return nil
		}
	}
	return nil
}

func (c *call) sameIndex(i *int) bool {
	if c.index == nil || i == nil {
		return c.index == i
	}
	return *c.index == *i
}

func (c *call) continues(d callDelta) bool {
	switch {
	case d.ID != "" && c.id != "":
		return string(d.ID) == c.id
	case d.Function.Name == "" || c.name == "":
		return true
	case d.Index == nil:
		return false
	}
	return string(d.Function.Name) == c.name && !json.Valid([]byte(c.args.String()))
}

// finish returns the calls, each with a unique id, and the extra content that
// their provider requires back with them, by id.
func (cs *calls) finish(newID func() string) (out []llm.ToolCall, extra map[string]json.RawMessage) {
	seen := make(map[string]bool, len(cs.list))
	for _, c := range cs.list {
		if c.name == "" && c.args.Len() == 0 {
			continue
		}
		if c.id == "" || seen[c.id] {
			c.id = newID()
		}
		seen[c.id] = true
		out = append(out, llm.ToolCall{ID: c.id, Name: c.name, Arguments: argumentsOf(c.args.String())})
		if c.extra != nil {
			if extra == nil {
				extra = make(map[string]json.RawMessage)
			}
			extra[c.id] = c.extra
		}
	}
	return out, extra
}

// argumentsOf parses the text of a call's arguments: {} for an empty text; an
// object, also one encoded in a string; otherwise the text itself, as a JSON
// string if it is not JSON.
func argumentsOf(text string) json.RawMessage {
	raw := bytes.TrimSpace([]byte(text))
	var inner string
	if json.Unmarshal(raw, &inner) == nil && isObject(bytes.TrimSpace([]byte(inner))) {
		raw = bytes.TrimSpace([]byte(inner))
	}
	switch {
	case !some(raw):
		return json.RawMessage("{}")
	case json.Valid(raw):
		return raw
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage("{}")
	}
	return quoted
}
