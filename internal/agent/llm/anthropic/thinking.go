package anthropic

import (
	"regexp"
	"strconv"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// thinking is the parameter of that name.
type thinking struct {
	Type         string `json:"type"` // adaptive, enabled, disabled
	BudgetTokens int    `json:"budget_tokens,omitempty"`
	Display      string `json:"display,omitempty"`
}

// thinkingMode is the way in which a model's thinking is controlled.
type thinkingMode int

const (
	// byBudget: "enabled" with a number of tokens; no thinking by default.
	// Models before 4.6, and other hosts' models with this API.
	byBudget thinkingMode = iota
	// onRequest: "adaptive"; no thinking by default. 4.6 to 4.8.
	onRequest
	// byDefault: "adaptive", which is the default and can be disabled. Opus 5,
	// Sonnet 5, Haiku 5.5.
	byDefault
	// always: "adaptive", which cannot be disabled; a request that forces a
	// tool is rejected. Fable, Mythos, Opus 5.5 and Sonnet 5.5, and models
	// newer than this table.
	always
)

// Names are claude-FAMILY-MAJOR[-MINOR][-DATE], formerly
// claude-MAJOR[-MINOR]-FAMILY, with an optional host's prefix. A date has eight
// digits.
var (
	newName = regexp.MustCompile(`claude-([a-z]+)(?:-(\d{1,2})(?:[-.](\d{1,2}))?)?(?:$|[^\da-z])`)
	oldName = regexp.MustCompile(`claude-(?:v?\d|instant)`)
)

// thinkingModeOf derives the mode from a model's name. A name of this provider
// without a version is treated as new.
func thinkingModeOf(model string) thinkingMode {
	m := newName.FindStringSubmatch(model)
	if m == nil || oldName.MatchString(model) {
		return byBudget
	}
	major, _ := strconv.Atoi(m[2]) // digits or empty
	minor, _ := strconv.Atoi(m[3])
	family, version := m[1], 100*major+minor
	switch {
	case family == "fable", family == "mythos", m[2] == "":
		return always
	case version < 406:
		return byBudget
	case version < 500:
		return onRequest
	case version == 500, family == "haiku" && version == 505:
		return byDefault
	}
	return always
}

// plan holds the parameters of a request that control thinking.
type plan struct {
	thinking *thinking
	effort   string // output_config.effort
	reserve  int    // tokens: max_tokens bounds thinking and answer together
	off      bool   // no thinking in this request, including its turns
}

// choose decides on tool choice and thinking, which exclude one another: a
// model that thinks cannot be forced to call. Thinking is disabled for a forced
// call if possible; otherwise the call is not forced.
func choose(model string, req llm.Request) (*toolChoice, plan) {
	var choice *toolChoice
	switch req.Choice {
	case llm.Auto:
	case llm.None:
		choice = &toolChoice{Type: "none"}
	case llm.Required:
		choice = &toolChoice{Type: "any"}
	default:
		choice = &toolChoice{Type: "tool", Name: string(req.Choice)}
	}
	forced := len(req.Tools) > 0 && choice != nil && choice.Type != "none"
	how := thinkingModeOf(model)
	switch {
	case forced && how == always:
		return nil, adaptive(req.Effort)
	case forced && how == byDefault:
		return choice, plan{thinking: &thinking{Type: "disabled"}, off: true}
	case forced:
		return choice, plan{off: true}
	case how == byBudget && req.Effort == "":
		return choice, plan{}
	case how == byBudget: // max_tokens exceeds the budget by the answer's tokens
		n := thinkingTokens(req.Effort)
		return choice, plan{thinking: &thinking{Type: "enabled", BudgetTokens: n}, reserve: n}
	}
	return choice, adaptive(req.Effort)
}

// adaptive lets the model decide on the amount of thinking. It requests the
// summary, since the newer models otherwise send empty thinking.
func adaptive(effort string) plan {
	return plan{
		thinking: &thinking{Type: "adaptive", Display: "summarized"},
		effort:   effort,
		reserve:  thinkingTokens(effort),
	}
}

// thinkingTokens returns a number of tokens; the API's smallest budget is 1024.
func thinkingTokens(effort string) int {
	switch effort {
	case "low":
		return 2048
	case "", "medium":
		return 8192
	}
	return 16384
}
