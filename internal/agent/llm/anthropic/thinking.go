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

// manner is how a model is told to think.
type manner int

const (
	// byBudget: "enabled" with a number of tokens; no thinking unless asked
	// for. Models before 4.6, and what other hosts serve by this API.
	byBudget manner = iota
	// onRequest: "adaptive"; no thinking unless asked for. 4.6 to 4.8.
	onRequest
	// byDefault: "adaptive", and that also when nothing is said, but it can be
	// disabled. Opus 5, Sonnet 5, Haiku 5.5.
	byDefault
	// always: "adaptive", which cannot be disabled; a request that forces a
	// tool is refused. Fable, Mythos, Opus 5.5 and Sonnet 5.5, and whatever
	// is newer than this table.
	always
)

// Names are claude-FAMILY-MAJOR[-MINOR][-DATE], once claude-MAJOR[-MINOR]-FAMILY,
// maybe with a host's prefix. A date has eight digits.
var (
	newName = regexp.MustCompile(`claude-([a-z]+)(?:-(\d{1,2})(?:[-.](\d{1,2}))?)?(?:$|[^\da-z])`)
	oldName = regexp.MustCompile(`claude-(?:v?\d|instant)`)
)

// mannerOf knows the models by their names. A name of this provider's without
// a version is taken for that of a new one.
func mannerOf(model string) manner {
	m := newName.FindStringSubmatch(model)
	if m == nil || oldName.MatchString(model) {
		return byBudget
	}
	major, _ := strconv.Atoi(m[2]) // digits or nothing
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

// plan is what a request says of thinking.
type plan struct {
	thinking *thinking
	effort   string // output_config.effort
	room     int    // tokens: max_tokens bounds thinking and answer together
	off      bool   // this request must go without, its turns too
}

func (p plan) budgeted() bool { return p.thinking != nil && p.thinking.BudgetTokens > 0 }

// choose settles tool choice and thinking, which exclude one another: a model
// that thinks cannot be forced to call. Where thinking can be left out it is;
// where it cannot, the model is left to choose.
func choose(model string, req llm.Request) (*toolChoice, plan) {
	choice := choiceOf(req.Choice)
	forced := len(req.Tools) > 0 && choice != nil && choice.Type != "none"
	how := mannerOf(model)
	switch {
	case forced && how == always:
		return nil, adaptive(req.Effort)
	case forced && how == byDefault:
		return choice, plan{thinking: &thinking{Type: "disabled"}, off: true}
	case forced:
		return choice, plan{off: true}
	case how == byBudget:
		return choice, budget(req.Effort)
	}
	return choice, adaptive(req.Effort)
}

func choiceOf(c llm.ToolChoice) *toolChoice {
	switch c {
	case llm.Auto:
		return nil
	case llm.None:
		return &toolChoice{Type: "none"}
	case llm.Required:
		return &toolChoice{Type: "any"}
	}
	return &toolChoice{Type: "tool", Name: string(c)}
}

// adaptive leaves it to the model how much it thinks. The summary is asked for
// since the newer models otherwise send their thinking empty.
func adaptive(effort string) plan {
	return plan{
		thinking: &thinking{Type: "adaptive", Display: "summarized"},
		effort:   effort,
		room:     roomFor(effort),
	}
}

// budget lets a model think for that many tokens; without an effort there is
// none. max_tokens becomes larger than the budget by the answer's tokens.
func budget(effort string) plan {
	if effort == "" {
		return plan{}
	}
	n := roomFor(effort)
	return plan{thinking: &thinking{Type: "enabled", BudgetTokens: n}, room: n}
}

// roomFor is in tokens; the API's smallest budget is 1024.
func roomFor(effort string) int {
	switch effort {
	case "low":
		return 2048
	case "", "medium":
		return 8192
	}
	return 16384
}
