package api

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Deciders is who decides on the proposals of a space, and how each has done.
type Deciders struct {
	// Configured means that the configuration names deciders. Otherwise everybody with the
	// right to decide does.
	Configured bool              `json:"configured"`
	HumanOnly  []json.RawMessage `json:"human_only"` // patterns of calls on which only people decide
	Deciders   []Decider         `json:"deciders"`   // in the order in which they are asked
	// Since is the time from which the scores count, and Partial means that the log was not
	// read back to it.
	Since   time.Time `json:"since"`
	Partial bool      `json:"partial"`
}

// The modes of a reviewer.
const (
	ModeShadow = "shadow" // it gives opinions, and people decide
	ModeDecide = "decide"
)

// Decider is a set of rules, a reviewer, or a person who decides on proposals.
type Decider struct {
	Type string `json:"type"` // rules, reviewer, person
	// ID is the participant; "" for rules, and for people whom the configuration names by a glob
	// as such. Those of them that have decided follow.
	ID      protocol.ParticipantID `json:"id,omitempty"`
	Pattern string                 `json:"pattern,omitempty"` // the glob that names people
	// AfterSeconds is how long people of a later stage wait.
	AfterSeconds float64 `json:"after_seconds,omitempty"`

	Mode string `json:"mode,omitempty"` // of a reviewer: shadow or decide
	// For are patterns of the calls that a reviewer may decide on; empty: all.
	For []json.RawMessage `json:"for,omitempty"`
	// Changed is the last promotion or demotion; nil: none.
	Changed *ModeChange `json:"changed,omitempty"`
	// Promotion says what a promotion needs; nil: it is no reviewer, or decides.
	Promotion *Promotion `json:"promotion,omitempty"`

	Score *Score `json:"score,omitempty"`
}

// ModeChange is a promotion or a demotion of a reviewer.
type ModeChange struct {
	ID     protocol.ID            `json:"id"`
	Seq    protocol.Seq           `json:"seq"`
	At     time.Time              `json:"at"`
	By     protocol.ParticipantID `json:"by"`
	Mode   string                 `json:"mode"` // that it began: shadow or decide
	Reason string                 `json:"reason,omitempty"`
	// Undone is the decision that a demotion says was wrong.
	Undone protocol.ID `json:"undone,omitempty"`
}

// Promotion is what a promotion of a reviewer needs, and what there is.
type Promotion struct {
	Decisions   int `json:"decisions"`    // that people have made on its opinions, needed
	WithoutMiss int `json:"without_miss"` // of the last ones, needed
	Compared    int `json:"compared"`     // that they have made since its last demotion
	SinceMiss   int `json:"since_miss"`   // of those, after its last miss
	// Missing says in words what is missing; "": it can be promoted.
	Missing string `json:"missing,omitempty"`
	// MayPromote means that the participant that reads it may promote the reviewer.
	MayPromote bool `json:"may_promote"`
}

// Score is how a decider has done on the proposals since a time. Kinds has the same by tool,
// those with the most proposals first.
type Score struct {
	Tally
	Kinds []KindScore `json:"kinds,omitempty"`
}

// KindScore is a Tally of the calls of one kind: a tool, and the program of a command.
type KindScore struct {
	Kind string `json:"kind"`
	Tally
}

// Tally counts what a decider said about proposals, and what people did. Opinions count if
// they precede the decision.
type Tally struct {
	// Proposals are those that it could have judged; of rules also the calls that they let
	// through, and of people all.
	Proposals int `json:"proposals"`
	Covered   int `json:"covered"`  // that it approved or rejected, or would have
	Approved  int `json:"approved"` // of those
	Rejected  int `json:"rejected"`
	Abstained int `json:"abstained"` // opinions that say neither, which cover nothing
	Decided   int `json:"decided"`   // proposals that it settled
	Compared  int `json:"compared"`  // on which it and a person had an opinion
	// Misses are proposals that it approved, or would have, and that a person rejected,
	// changed or undid.
	Misses int `json:"misses"`
	// FalseAlarms are proposals that it rejected, or would have, and that people approved.
	FalseAlarms int `json:"false_alarms"`
	// AgreedRejections of the PersonRejections on which it had an opinion.
	AgreedRejections int `json:"agreed_rejections"`
	PersonRejections int `json:"person_rejections"`
	// Saved are the questions that people were not asked because of it, or would not have been.
	Saved int `json:"saved"`
	// LatencyP50 and LatencyP99 are from the proposal to the opinion or the decision, in
	// seconds.
	LatencyP50 float64 `json:"latency_p50"`
	LatencyP99 float64 `json:"latency_p99"`
}

// Deciders returns who decides on the proposals of a space, with scores from a time on (zero:
// the gateway's default).
func (c *Client) Deciders(ctx context.Context, space string, since time.Time) (*Deciders, error) {
	var d Deciders
	if err := c.get(ctx, inSpace(space, "deciders"), sinceOf(since), &d); err != nil {
		return nil, fmt.Errorf("list deciders of space %q: %w", space, err)
	}
	return &d, nil
}
