package planner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log/slog"
	"regexp"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
)

// Bounds of the tools offered to a model.
const (
	maxOffered     = 128  // tools; the providers accept no more
	maxDescription = 1024 // characters of one description
	maxToolName    = 64
)

// subproblemTool is the tool that every planner has.
var subproblemTool = Tool{
	Name: Subproblem,
	Description: "Reason about a part of the question by itself, with the same tools, and get its answer. " +
		"Use it for parts that need several steps of their own. Parts that do not need one another may be called together.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{"question":{"type":"string","minLength":1,"description":"the part, as a question that can be understood without the rest"}},"required":["question"],"additionalProperties":false}`),
	ReadOnly:    true, Hinted: true,
}

// offer holds the tools that a model may call, under names that are legal on
// the wire.
type offer struct {
	tools []llm.Tool
	wire  map[string]*offered // by wire name
	names map[string]string   // from a tool's own name to its wire name
}

// offered is one tool of an offer.
type offered struct {
	tool      Tool
	rationale string // the parameter for the reason of a call
}

// newOffer offers the state's tools and, below the maximum depth, the tool for
// sub-problems. It leaves out duplicates of a name, tools with an unreadable
// schema, since no call of them would ever be valid, and tools beyond
// maxOffered.
func newOffer(s *State, log *slog.Logger) *offer {
	tools := s.Tools
	if s.Depth < s.MaxDepth {
		tools = append([]Tool{subproblemTool}, tools...)
	}
	o := &offer{wire: make(map[string]*offered), names: make(map[string]string)}
	var taken []Tool
	for i := range tools {
		t := tools[i]
		if _, twice := o.names[t.Name]; twice || t.Name == "" {
			continue
		}
		if _, err := readSchema(t.InputSchema); err != nil {
			log.Debug("tool not offered", "tool", t.Name, "err", err)
			continue
		}
		if len(taken) == maxOffered {
			log.Warn("more tools than a model may be offered", "offered", maxOffered, "tools", len(tools))
			break
		}
		taken = append(taken, t)
		o.names[t.Name] = ""
	}
	o.name(taken)
	for i := range taken {
		o.add(&taken[i])
	}
	return o
}

func (o *offer) add(t *Tool) {
	schema, rationale, rest := withRationale(t.InputSchema)
	description := strings.TrimSpace(t.Description)
	if rest != "" {
		description = cut(description, maxDescription/2) + " The arguments besides " + rationale + " must also match this JSON Schema: " + rest
	}
	wire := o.names[t.Name]
	o.wire[wire] = &offered{tool: *t, rationale: rationale}
	o.tools = append(o.tools, llm.Tool{Name: wire, Description: cut(description, maxDescription-1), InputSchema: schema})
}

var legalName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// name gives every tool a name that the providers accept: its own if it is
// legal, or else a similar one that is unique.
func (o *offer) name(tools []Tool) {
	used := make(map[string]bool)
	for _, t := range tools {
		if legalName.MatchString(t.Name) {
			o.names[t.Name] = t.Name
			used[t.Name] = true
		}
	}
	for _, t := range tools {
		if o.names[t.Name] != "" {
			continue
		}
		wire := wireName(t.Name)
		for n := 0; used[wire]; n++ {
			wire = distinct(t.Name, n)
		}
		o.names[t.Name] = wire
		used[wire] = true
	}
}

var illegal = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// wireName replaces the characters of a name that providers do not accept.
func wireName(name string) string {
	s := strings.Trim(illegal.ReplaceAllString(name, "_"), "_")
	if s == "" {
		s = "tool"
	}
	return s[:min(len(s), maxToolName)]
}

// distinct returns wireName with a suffix, the n-th hash of the name.
func distinct(name string, n int) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %d", name, n)
	s := wireName(name)
	return fmt.Sprintf("%s_%08x", s[:min(len(s), maxToolName-9)], h.Sum32())
}

// find returns the tool that a model names, by its wire name or its own name;
// nil if there is none.
func (o *offer) find(name string) *offered {
	if t := o.wire[name]; t != nil {
		return t
	}
	return o.wire[o.names[name]]
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
				} else if !legalName.MatchString(c.Name) {
					c.Name = wireName(c.Name) // a tool that is no longer offered
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
	for _, t := range tools {
		n += contextwindow.EstimateTokens(t.Name) + contextwindow.EstimateTokens(t.Description) + contextwindow.EstimateTokens(t.InputSchema)
	}
	return n
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
	if raw = bytes.TrimSpace(raw); raw[0] != '{' {
		return nil, nil // true; false rejects every call anyway
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	return fields, nil
}
