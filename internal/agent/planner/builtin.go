package planner

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// The names of the tools that a planner may have in addition to the offered
// ones. The agent carries them out itself.
const (
	// Subproblem takes {"question": "…"}, which is reasoned about in a context
	// within the present one. Its result is the answer.
	Subproblem = "subproblem"
	// Delegate asks another agent to reason about a part, in a context within
	// the present one. Its result is the conclusion of that agent.
	Delegate = "delegate"
	// Share publishes a Note in the context.
	Share = "share"
)

// IsBuiltin reports whether a tool is one of the planner's own.
func IsBuiltin(name string) bool { return name == Subproblem || name == Delegate || name == Share }

// planProperties are the properties of the arguments of subproblem and delegate
// that become the metadata of the new reasoning.start.
const planProperties = `"approach":{"type":"string","description":"how to go about it, in a few words; leave it out if you have no preference"},` +
	`"estimated_duration":{"type":"string","description":"how long it may take, such as 30s; leave it out if you cannot tell"},` +
	`"confidence":{"type":"number","minimum":0,"maximum":1,"description":"how sure you are that this leads to an answer; leave it out if you cannot tell"}`

var subproblemTool = Tool{
	Name: Subproblem,
	Description: "Reason about a part of the question by itself, with the same tools, and get its answer. " +
		"Use it for parts that need several steps of their own. Parts that do not need one another may be called together.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{"question":{"type":"string","minLength":1,"description":"the part, as a question that can be understood without the rest"},` +
		planProperties + `},"required":["question"],"additionalProperties":false}`),
	ReadOnly: true, Hinted: true,
}

// delegateTool returns the tool that asks one of the agents.
func delegateTool(agents []string) Tool {
	return Tool{
		Name: Delegate,
		Description: "Ask another agent of the space to reason about a part of the question, with its own tools, in the open, and get its conclusion. " +
			"Use it if that agent has tools or knowledge that you lack, or for a second opinion. It may decline, or take too long.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"participant":{"type":"string","enum":` + string(llm.Marshal(agents)) +
			`,"description":"the agent"},"question":{"type":"string","minLength":1,"description":"the part, as a question that can be understood without the rest"},` +
			planProperties + `},"required":["participant","question"],"additionalProperties":false}`),
		ReadOnly: true, Hinted: true,
	}
}

var shareTool = Tool{
	Name: Share,
	Description: "Share a step of your reasoning with the people and agents who follow it: an observation from a result, a hypothesis with the evidence for and against it, " +
		"a question that is open, or a reply to a remark of another participant. Call it together with other tools. Share only what you have.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{` +
		`"kind":{"type":"string","enum":["observation","hypothesis","question","reply"]},` +
		`"text":{"type":"string","minLength":1},` +
		`"reply_to":{"type":"string","description":"with reply: the id of the remark, such as e3"},` +
		`"evidence":{"type":"array","items":{"type":"string"},"description":"with hypothesis: what speaks for it; text, or the id of a result or remark, such as e1"},` +
		`"evidence_against":{"type":"array","items":{"type":"string"},"description":"with hypothesis: what speaks against it"},` +
		`"severity":{"type":"string","enum":["low","medium","high","critical"],"description":"with observation: how much it matters"},` +
		`"confidence":{"type":"number","minimum":0,"maximum":1,"description":"leave it out if you cannot tell"},` +
		`"references":{"type":"array","items":{"type":"string"},"description":"ids of the results and remarks that it rests on, such as e1"}` +
		`},"required":["kind","text"],"additionalProperties":false}`),
	ReadOnly: true, Hinted: true, noReason: true,
}

// builtins returns the tools that the planner has in addition to the offered
// ones.
func (s *State) builtins() []Tool {
	var tools []Tool
	if s.Depth < s.MaxDepth {
		tools = append(tools, subproblemTool)
	}
	if len(s.Delegates) > 0 {
		tools = append(tools, delegateTool(s.Delegates))
	}
	if s.Open {
		tools = append(tools, shareTool)
	}
	return tools
}

// NoteKind is the kind of a Note.
type NoteKind string

// The kinds of notes.
const (
	Observation NoteKind = "observation"
	Hypothesis  NoteKind = "hypothesis"
	Question    NoteKind = "question"
	Reply       NoteKind = "reply"
)

// Note is a step of the reasoning that is shared with the other participants.
// Fields that the model did not give are empty. References, ReplyTo and the
// evidence may name results and remarks by the ids that the model was shown.
type Note struct {
	Kind       NoteKind `json:"kind"`
	Text       string   `json:"text"`
	ReplyTo    string   `json:"reply_to,omitempty"`
	For        []string `json:"evidence,omitempty"`
	Against    []string `json:"evidence_against,omitempty"`
	Severity   string   `json:"severity,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"`
	References []string `json:"references,omitempty"`
}

// Plan is the part of the arguments of Subproblem and Delegate that becomes the
// metadata of the new context. Fields that the model did not give are empty.
type Plan struct {
	Approach          string   `json:"approach,omitempty"`
	EstimatedDuration string   `json:"estimated_duration,omitempty"`
	Confidence        *float64 `json:"confidence,omitempty"`
}

// trimmed returns the texts without spaces around them, and without empty ones.
func trimmed(list []string) []string {
	var out []string
	for _, s := range list {
		s = strings.TrimSpace(s)
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
