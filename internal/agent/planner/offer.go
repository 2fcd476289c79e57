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

// Bounds of what a model is offered.
const (
	maxOffered     = 128  // tools; the providers take no more
	maxDescription = 1024 // characters of one
	maxToolName    = 64
)

// subproblemTool is the one that every planner has.
var subproblemTool = Tool{
	Name: Subproblem,
	Description: "Reason about a part of the question by itself, with the same tools, and get its answer. " +
		"Use it for parts that need several steps of their own. Parts that do not need one another may be called together.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{"question":{"type":"string","minLength":1,"description":"the part, as a question that can be understood without the rest"}},"required":["question"],"additionalProperties":false}`),
	ReadOnly:    true, Hinted: true,
}

// offer is what a model may call, under the names that it knows.
type offer struct {
	tools []llm.Tool
	wire  map[string]*offered // by the name that the model uses
	names map[string]string   // from a tool's own name to the other
}

// offered is one tool of an offer.
type offered struct {
	tool      Tool
	rationale string // the parameter that takes the reason of a call
}

// newOffer offers the state's tools and, as long as there may be sub-problems,
// the tool for them. Left out are a second tool of the same name, those whose
// schema cannot be read, since no call of them would ever be valid, and those
// that are too many.
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

// name gives every tool a name that the providers take: its own where they do,
// or one that resembles it and that no other has.
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

// wireName spells a name with the letters that providers take.
func wireName(name string) string {
	s := strings.Trim(illegal.ReplaceAllString(name, "_"), "_")
	if s == "" {
		s = "tool"
	}
	return s[:min(len(s), maxToolName)]
}

// distinct is wireName with a mark of the name's own, the n-th.
func distinct(name string, n int) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %d", name, n)
	s := wireName(name)
	return fmt.Sprintf("%s_%08x", s[:min(len(s), maxToolName-9)], h.Sum32())
}

// find returns the tool that a model means: by the name that it was told, or
// else by the tool's own.
func (o *offer) find(name string) *offered {
	if t := o.wire[name]; t != nil {
		return t
	}
	return o.wire[o.names[name]]
}

// spoken returns the messages with the names of tools as the model knows them.
// Where a step was not decided by this model, they bear their own.
func (o *offer) spoken(messages []llm.Message) []llm.Message {
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
					c.Name = wireName(c.Name) // a tool that is no longer there
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

// readSchema reads a schema; nil without an error takes any object.
func readSchema(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if noSchema(raw) {
		return nil, nil
	}
	if _, err := compiledSchemas.get(raw); err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if raw = bytes.TrimSpace(raw); raw[0] != '{' {
		return nil, nil // true; false refuses every call by itself
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	return fields, nil
}
