package planner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// Bounds of the tools offered to a model.
const (
	maxOffered     = 128  // tools; the providers accept no more
	maxDescription = 1024 // characters of one description

	shortDescription = 300 // characters of one description, if the tools do not fit otherwise
)

// offer holds the tools that a model may call, under names that are legal on
// the wire.
type offer struct {
	tools   []llm.Tool
	wire    map[string]*offered // by wire name
	names   map[string]string   // from a tool's own name to its wire name, also for tools that are not offered
	leftOut []string            // own names of the tools that do not fit
}

// offered is one tool of an offer.
type offered struct {
	tool      Tool
	rationale string // the parameter for the reason of a call
}

// newOffer offers the planner's own tools and the state's, in definitions of at most room estimated tokens. It leaves out
// duplicates of a name, tools with an unreadable schema, since no call of them
// would ever be valid, tools beyond maxOffered, and tools that do not fit into
// room. If the tools do not fit, their descriptions are shortened first.
//
// The forced tool and tools that were called before come first; the others keep
// the order of the state, in which the agent's own tools precede those of other
// participants.
func newOffer(s *State, room int, log *slog.Logger) *offer {
	tools := s.tools()
	o := new(offer)
	o.name(tools) // all of them, so that the names do not depend on the fit
	// The tools get room in the order of their rank.
	rank := make(map[string]int) // by name; 0 is the last rank
	for i := range s.Steps {
		for j := range s.Steps[i].Calls {
			rank[s.Steps[i].Calls[j].Tool] = 1
		}
	}
	rank[s.Forced] = 2
	order := make([]int, len(tools))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank[tools[b].Name] - rank[tools[a].Name] })
	if o.fit(tools, order, room, maxDescription-1, log); len(o.leftOut) > 0 {
		o.fit(tools, order, room, shortDescription, log)
	}
	return o
}

// tools returns the planner's own tools and those of the state, without duplicates of a name
// and tools without one.
func (s *State) tools() []Tool {
	all, seen := append(s.builtins(), s.Tools...), make(map[string]bool)
	return slices.DeleteFunc(all, func(t Tool) bool {
		left := t.Name == "" || seen[t.Name]
		seen[t.Name] = true
		return left
	})
}

// fit offers the tools that fit into room, with descriptions of at most limit
// characters. A tool that does not fit is skipped, since a later one may be
// smaller. The offered tools keep their own order, so that providers find them
// in their caches.
func (o *offer) fit(tools []Tool, order []int, room, limit int, log *slog.Logger) {
	o.tools, o.leftOut, o.wire = nil, nil, make(map[string]*offered)
	definitions := make([]*llm.Tool, len(tools))
	for _, i := range order {
		t := &tools[i]
		if len(o.wire) == maxOffered || exceeds(t.InputSchema, room) {
			o.leftOut = append(o.leftOut, t.Name)
			continue
		}
		if _, err := readSchema(t.InputSchema); err != nil {
			log.Debug("tool not offered", "tool", t.Name, "err", err)
			continue
		}
		definition, rationale := o.define(t, limit)
		tokens := estimateTool(&definition)
		if tokens > room {
			o.leftOut = append(o.leftOut, t.Name)
			continue
		}
		room -= tokens
		definitions[i] = &definition
		o.wire[definition.Name] = &offered{tool: *t, rationale: rationale}
	}
	for _, d := range definitions {
		if d != nil {
			o.tools = append(o.tools, *d)
		}
	}
}

// exceeds reports that a schema alone does not fit into room. It does not
// compile the schema, which costs more for the many tools that a peer may serve.
func exceeds(schema json.RawMessage, room int) bool {
	if len(schema)/4 <= room { // a byte is at least a quarter of a token
		return false
	}
	var compact bytes.Buffer // as it is sent
	return json.Compact(&compact, schema) == nil && compact.Len()/4 > room
}

// define returns the definition of a tool, with a description of at most limit
// characters, and the parameter for the reason of a call. Keywords that were
// removed from the schema follow the description; they are not shortened to
// limit, since a part of them would be misleading.
func (o *offer) define(t *Tool, limit int) (definition llm.Tool, rationale string) {
	if t.noReason {
		return llm.Tool{Name: o.names[t.Name], Description: textutil.ShortenChars(t.Description, limit), InputSchema: t.InputSchema}, ""
	}
	schema, rationale, rest := withRationale(t.InputSchema)
	description := textutil.ShortenChars(strings.TrimSpace(t.Description), limit)
	if rest != "" {
		description = textutil.ShortenChars(description, min(limit, maxDescription/2)) + " The arguments besides " + rationale + " must also match this JSON Schema: " + rest
	}
	return llm.Tool{Name: o.names[t.Name], Description: textutil.ShortenChars(description, maxDescription-1), InputSchema: schema}, rationale
}

// name gives every tool a name that the providers accept.
func (o *offer) name(tools []Tool) {
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Name
	}
	o.names = textutil.ToolNames(names)
}

// find returns the tool that a model names, by its wire name or its own name;
// nil if there is none.
func (o *offer) find(name string) *offered {
	if t := o.wire[name]; t != nil {
		return t
	}
	return o.wire[o.names[name]]
}

// Bounds of the names of tools that were left out, which their owners choose.
const (
	maxLeftOutNames = 16
	maxLeftOutName  = 128 // bytes
)

// leftOutNames returns the first names, each shortened.
func leftOutNames(all []string) []string {
	names := slices.Clone(all[:min(len(all), maxLeftOutNames)])
	for i := range names {
		names[i] = textutil.Shorten(names[i], maxLeftOutName)
	}
	return names
}

// list returns the names of the tools, within maxReason bytes.
func (o *offer) list() string {
	var names []string
	for _, t := range o.tools {
		names = append(names, t.Name)
	}
	return textutil.ShortenChars(strings.Join(names, ", "), maxReason)
}

// withWireNames returns the messages with the wire names of the tools. Steps that this
// model did not decide use the tools' own names.
func (o *offer) withWireNames(messages []llm.Message) []llm.Message {
	out := make([]llm.Message, len(messages))
	for i, m := range messages {
		out[i] = m
		if len(m.Calls) == 0 {
			continue
		}
		out[i].Calls = make([]llm.ToolCall, len(m.Calls))
		for j, c := range m.Calls {
			if o.wire[c.Name] == nil {
				if wire := o.names[c.Name]; wire != "" {
					c.Name = wire
				} else {
					c.Name = textutil.PlainToolName(c.Name) // a tool that is no longer offered
				}
			}
			out[i].Calls[j] = c
		}
	}
	return out
}

// estimateTools returns an estimate of the tokens of tool definitions.
func estimateTools(tools []llm.Tool) int {
	n := 0
	for i := range tools {
		n += estimateTool(&tools[i])
	}
	return n
}

func estimateTool(t *llm.Tool) int {
	return contextwindow.EstimateTokens(t.Name) + contextwindow.EstimateTokens(t.Description) + contextwindow.EstimateTokens(t.InputSchema)
}

// readSchema parses a schema; nil without an error accepts any object.
func readSchema(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if noSchema(raw) {
		return nil, nil
	}
	if _, err := compiledSchemas.get(raw); err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	raw = bytes.TrimSpace(raw)
	if raw[0] != '{' {
		return nil, nil // true; false rejects every call anyway
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	return fields, nil
}
