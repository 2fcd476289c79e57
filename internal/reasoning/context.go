package reasoning

import "github.com/meup-protocol/meup/internal/llm"

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
	Encoding string `json:"encoding"`       // of the tokenizer
	Tokens   int    `json:"context_tokens"` // of all messages, as counted by it
	Budget   int    `json:"token_budget"`
	Previews int    `json:"previews"`        // results that are shown in part
	Dropped  int    `json:"dropped"`         // results of which only a mark is left
	History  int    `json:"history_dropped"` // earlier messages of the conversation that are left out
	Cut      []Cut  `json:"cut,omitempty"`   // what was shortened, oldest first
}

// Cut is one result that is not shown whole.
type Cut struct {
	Step    int  `json:"step_index"`
	Call    int  `json:"call"`
	Chars   int  `json:"characters"` // that it has
	Shown   int  `json:"shown"`      // of which these are shown
	Dropped bool `json:"dropped,omitempty"`
}

// Input is what a context is built from.
type Input struct {
	System   string        // never cut
	History  []llm.Message // earlier conversation, oldest first
	Question string        // never cut
	Records  []Record
	Goal     Goal
}
