package authority

import (
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/protocol"
)

// Deciders says who settles the proposals of a space; the zero value: whoever has the
// right to, by [Config.JudgeDecision]. It limits that right and gives none.
type Deciders struct {
	// HumanOnly are patterns of proposed calls on which only People decide. One that may
	// match is enough.
	HumanOnly []*capability.Capability
	// Rules allow calls that are not HumanOnly, or reject proposals of them (deny), before
	// anybody is asked.
	Rules []Rule
	// Reviewers are participants that decide once they were promoted.
	Reviewers []Reviewer
	// People decide on everything, the first stage at once.
	People []Stage
}

// Rule decides on calls. It allows those that its capability matches, with the sense of
// allowing and deny rules.
type Rule struct {
	Capability *capability.Capability // of kind mcp.request
	Reason     string                 // of a rejection, for people to read
}

// Reviewer is a participant that judges proposals.
type Reviewer struct {
	ID protocol.ParticipantID
	// Decides: it begins in the mode decide. It is in shadow otherwise, and after a demotion.
	Decides bool
	// For are patterns of the proposed calls that it may decide on; empty: all.
	For []*capability.Capability
	// Before a promotion: Decisions is how many of its opinions people must have decided on
	// since its last demotion, WithoutMiss how many of the last of them must have no miss.
	Decisions, WithoutMiss int
}

// Stage is a group of people who may decide on a proposal from a time after it on.
type Stage struct {
	People []string // ids, or globs of ids
	After  time.Duration
}
