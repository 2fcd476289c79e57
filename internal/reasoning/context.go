package reasoning

import (
	"time"

	"github.com/meup-protocol/meup/internal/llm"
)

// Goal is what a context is built for.
type Goal string

// The goals.
const (
	Planning  Goal = "planning"  // deciding the next step
	Synthesis Goal = "synthesis" // writing the answer
)

// Meta says what a context holds and what was left out of it.
type Meta struct {
	Goal     Goal   `json:"goal"`
	Encoding string `json:"encoding"`        // of the tokenizer
	Tokens   int    `json:"context_tokens"`  // of all messages, as counted by it
	Budget   int    `json:"token_budget"`    // that they may have: the share of the window
	Previews int    `json:"previews"`        // results that are shown in part
	Dropped  int    `json:"dropped"`         // results of which only a mark is left, or with their step nothing
	History  int    `json:"history_dropped"` // earlier messages of the conversation that are left out

	Thoughts int   `json:"thoughts_dropped,omitempty"` // steps that are shown without their thought
	Steps    int   `json:"steps_dropped,omitempty"`    // steps that are not shown at all, or counted in one line
	Cut      []Cut `json:"cut,omitempty"`              // what was shortened, oldest first

	Utilisation     string        `json:"context_utilization,omitempty"`
	Summaries       int           `json:"summaries,omitempty"`           // results that are shown as a summary
	SummariesFailed int           `json:"summaries_failed,omitempty"`    // summaries that failed in this build
	SummaryTime     time.Duration `json:"summary_duration_ns,omitempty"` // that summaries took in this build
}

// Cut is one result that is not shown whole.
type Cut struct {
	Step    int  `json:"step_index"`
	Call    int  `json:"call"`       // from 0
	Chars   int  `json:"characters"` // that it has
	Shown   int  `json:"shown"`      // of which these are shown; none of a summary, which has its own words
	Dropped bool `json:"dropped,omitempty"`
	Summary bool `json:"summary,omitempty"`
	Error   bool `json:"error,omitempty"` // it says what went wrong
}

// Input is what a context is built from.
type Input struct {
	System   string        // never cut
	History  []llm.Message // earlier conversation, oldest first
	Question string        // never cut
	Records  []Record
	Goal     Goal
	Budget   int // tokens of the window that are for this context; 0: that of the Builder
}
