package authority

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/kit/glob"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/space/ring"
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
	// People decide on everything, each stage from its time on; none: whoever has the right to.
	People []Stage
}

// Rule decides on calls. It allows those that its capability matches, with the sense of
// allowing and deny rules.
type Rule struct {
	Capability *capability.Capability // selects mcp.request
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

// Configured reports whether there are deciders.
func (d *Deciders) Configured() bool {
	return len(d.HumanOnly)+len(d.Rules)+len(d.Reviewers)+len(d.People) > 0
}

// Reviewer returns a reviewer; nil if the participant is none.
func (d *Deciders) Reviewer(id protocol.ParticipantID) *Reviewer {
	for i := range d.Reviewers {
		if d.Reviewers[i].ID == id {
			return &d.Reviewers[i]
		}
	}
	return nil
}

// PeoplePattern returns the id or the glob that makes a participant one of the people; "" if
// it is none of them.
func (d *Deciders) PeoplePattern(id protocol.ParticipantID) string {
	for i := range d.People {
		if pattern := d.People[i].pattern(id); pattern != "" {
			return pattern
		}
	}
	return ""
}

// pattern returns the id or the glob in the stage that names a participant; "": none.
func (s *Stage) pattern(id protocol.ParticipantID) string {
	for _, p := range s.People {
		if p == string(id) || glob.HasStar(p) && glob.Match(glob.CompileFlat(p), string(id)) {
			return p
		}
	}
	return ""
}

// Missing says in words what a reviewer lacks for a promotion, of whose opinions people have
// decided on compared since its last demotion, on sinceMiss of them after its last miss;
// "": nothing. last is the last change of its mode; nil: there was none.
func (v *Reviewer) Missing(compared, sinceMiss int, last *ModeChange) string {
	switch {
	case compared < v.Decisions && last != nil && !last.Decides:
		return fmt.Sprintf("people have decided on %d of its opinions since its last demotion (%s), and %d are needed",
			compared, last.At.UTC().Format(time.RFC3339), v.Decisions)
	case compared < v.Decisions:
		return fmt.Sprintf("people have decided on %d of its opinions, and %d are needed", compared, v.Decisions)
	case sinceMiss < min(compared, v.WithoutMiss):
		return fmt.Sprintf("people have decided on %d of its opinions since its last miss, and %d are needed", sinceMiss, v.WithoutMiss)
	}
	return ""
}

// Entry identifies the entry of the configuration. A promotion holds for one entry.
func (v *Reviewer) Entry() string {
	text, err := json.Marshal(v.described())
	if err != nil {
		panic(err) // texts and numbers always marshal
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:policyDigits]
}

// described returns everything in the deciders that decides.
func (d *Deciders) described() []any {
	out := []any{capability.Texts(d.HumanOnly), d.People}
	for i := range d.Rules {
		out = append(out, json.RawMessage(d.Rules[i].Capability.String()), d.Rules[i].Reason)
	}
	for i := range d.Reviewers {
		out = append(out, d.Reviewers[i].described())
	}
	return out
}

func (v *Reviewer) described() []any {
	return []any{v.ID, v.Decides, capability.Texts(v.For), v.Decisions, v.WithoutMiss}
}

// Rule returns the rule that decides on a call before anybody is asked; nil: none. One that
// denies wins if it can be seen to match; if it only may match, no rule decides.
func (d *Deciders) Rule(call *capability.Request) *Rule {
	if len(d.Rules) == 0 || d.HumanOnlyBy(call) != nil {
		return nil
	}
	var allows *Rule
	unclear := false
	for i := range d.Rules {
		r := &d.Rules[i]
		switch {
		case r.Capability.Deny():
			if r.Capability.Sees(call) {
				return r
			}
			unclear = unclear || r.Capability.Possible(call)
		case allows == nil && r.Capability.Certain(call):
			allows = r
		}
	}
	if unclear {
		return nil
	}
	return allows
}

// HumanOnlyBy returns the pattern by which only people decide on a call; nil: none.
func (d *Deciders) HumanOnlyBy(call *capability.Request) *capability.Capability {
	for _, c := range d.HumanOnly {
		if c.Possible(call) {
			return c
		}
	}
	return nil
}

// Judges reports whether a call is one for a reviewer, or for the rules (""), to judge.
func (d *Deciders) Judges(reviewer protocol.ParticipantID, call *capability.Request) bool {
	if d.HumanOnlyBy(call) != nil {
		return false
	}
	v := d.Reviewer(reviewer)
	return reviewer == "" || v != nil && v.isFor(call)
}

// isFor reports whether the configuration lets the reviewer decide on a call.
func (v *Reviewer) isFor(call *capability.Request) bool {
	return len(v.For) == 0 || slices.ContainsFunc(v.For, func(c *capability.Capability) bool { return c.Certain(call) })
}

// NotDecider says why a participant may not decide on a proposal, as a sentence for it.
type NotDecider string

func (why NotDecider) Error() string { return string(why) }

// checkDecider is CheckDecision as far as the deciders matter.
func (st *State) checkDecider(id protocol.ParticipantID, p *protocol.Envelope, call *capability.Request, changed bool, now time.Time) (ring.Decider, error) {
	d := &st.Config.Deciders
	if !d.Configured() {
		return "", nil
	}
	if id == p.From {
		return "", NotDecider("This is your own call; others decide on it. You may withdraw it.")
	}
	v := st.reviewer(id)
	if v == nil {
		if len(d.People) > 0 && st.IsInvited(id) {
			return "", NotDecider("You were invited, and those who decide on proposals here are in the configuration of the space.")
		}
		return ring.DeciderPerson, d.checkPerson(id, p.TS, now)
	}
	decides, _ := st.Mode(id)
	var why string
	switch {
	case !decides:
		why = "You are a reviewer in shadow: your opinions are recorded, and people decide"
	case changed:
		why = "A reviewer decides on the call as it was proposed and cannot edit it; people decide"
	case d.HumanOnlyBy(call) != nil:
		why = "Only people decide on this call"
	case !st.seenByPeople(p, now):
		why = "None of the people who decide here can see this proposal; propose the call to them"
	case !v.isFor(call):
		why = "This is none of the calls that you may decide on; people decide"
	default:
		return ring.DeciderReviewer, nil
	}
	return "", NotDecider(fmt.Sprintf("%s: %s.", why, d.who(p.TS, now)))
}

// seenByPeople reports whether one of the people who decide can see a proposal, so that no
// reviewer decides on what is hidden from all of them.
func (st *State) seenByPeople(p *protocol.Envelope, now time.Time) bool {
	if st.Config.Everyone || len(p.To) == 0 || slices.ContainsFunc(p.To, st.isOfPeople) {
		return true
	}
	for id := range st.Config.Participants {
		if st.isOfPeople(id) && st.Observes(id, now) {
			return true
		}
	}
	return false
}

// isOfPeople reports whether a participant is one of the people who decide. The id of an invited
// one was chosen by its inviter, so it is none of them.
func (st *State) isOfPeople(id protocol.ParticipantID) bool {
	return st.Config.Deciders.PeoplePattern(id) != "" && !st.IsInvited(id)
}

// reviewer returns a reviewer; nil if the participant is none. One that was invited is none, for the
// same reason.
func (st *State) reviewer(id protocol.ParticipantID) *Reviewer {
	if st.IsInvited(id) {
		return nil
	}
	return st.Config.Deciders.Reviewer(id)
}

// IsDecider reports whether a participant is a reviewer, or one of the people who decide.
func (st *State) IsDecider(id protocol.ParticipantID) bool {
	return st.reviewer(id) != nil || st.isOfPeople(id)
}

// checkPerson checks whether a participant is one of the people who may decide by now on a
// proposal.
func (d *Deciders) checkPerson(id protocol.ParticipantID, proposed, now time.Time) error {
	named := false
	for i := range d.People {
		s := &d.People[i]
		if s.pattern(id) != "" {
			if !now.Before(proposed.Add(s.After)) {
				return nil
			}
			named = true
		}
	}
	switch {
	case len(d.People) == 0:
		return nil
	case named:
		return NotDecider(fmt.Sprintf("You may not decide on this proposal yet; these people do: %s.", d.who(proposed, now)))
	}
	return NotDecider(fmt.Sprintf("You are none of those who decide on proposals here; these people do: %s.", d.who(proposed, now)))
}

// DecidesFrom returns when a participant may decide on a proposal, as one of the people of a later
// stage; zero: it may by now, or never.
func (st *State) DecidesFrom(u *Usage, id protocol.ParticipantID, p *protocol.Envelope, now time.Time) time.Time {
	var from time.Time
	for i := range st.Config.Deciders.People {
		s := &st.Config.Deciders.People[i]
		if at := p.TS.Add(s.After); s.pattern(id) != "" && (from.IsZero() || at.Before(from)) {
			from = at
		}
	}
	if !now.Before(from) || !st.MayDecide(u, id, p, from) {
		return time.Time{}
	}
	return from
}

// maxWho bounds the list of people in an error, in bytes.
const maxWho = 400

// who lists the people who decide on a proposal, and from when on.
func (d *Deciders) who(proposed, now time.Time) string {
	var list []string
	for i := range d.People {
		s := &d.People[i]
		text := strings.Join(s.People, ", ")
		if from := proposed.Add(s.After); now.Before(from) {
			text += " from " + from.UTC().Format(time.RFC3339) + " on"
		}
		list = append(list, text)
	}
	return textutil.Shorten(strings.Join(list, "; "), maxWho)
}

// ModeChange is a promotion or a demotion of a reviewer.
type ModeChange struct {
	ID      protocol.ID
	Seq     protocol.Seq
	At      time.Time
	By      protocol.ParticipantID
	Decides bool        // it is a promotion
	Reason  string      // shortened
	Undone  protocol.ID // the decision that a demotion says was wrong; "": none

	entry string // digest of the promoted reviewer's entry in the configuration
}

// maxModeReason bounds the reason of a promotion or a demotion in the state, in bytes.
const maxModeReason = 256

// Mode reports whether a reviewer decides, and returns its last promotion or demotion; nil:
// none. A promotion holds while the configuration has the same entry for the reviewer, so
// that another entry begins as it says.
func (st *State) Mode(id protocol.ParticipantID) (decides bool, last *ModeChange) {
	change, changed := st.modes.Get(id)
	if changed {
		last = &change
	}
	v := st.reviewer(id)
	switch {
	case v == nil:
		return false, last
	case !changed || change.Decides && change.entry != v.Entry():
		return v.Decides, last
	}
	return change.Decides, last
}

// setMode folds a promotion or a demotion.
func (st *State) setMode(e *journal.Entry, payload protocol.Value) {
	env := &e.Envelope
	c := ModeChange{
		ID: env.ID, Seq: env.Seq, At: env.TS, By: env.From, Decides: env.Kind == protocol.KindReviewerPromote,
		Reason: textutil.Shorten(payload.Get("reason").Text(), maxModeReason),
	}
	if c.Decides {
		if why := ring.ReadReason(e.Private); why != nil {
			c.entry = why.Reviewer
		}
	} else if len(env.Correlation.IDs) > 0 {
		c.Undone = env.Correlation.IDs[0]
	}
	st.modes = st.modes.Set(protocol.ParticipantIn(payload, "participant_id"), c)
}

// EndedPromotions returns the reviewers whose promotion holds no more, since the
// configuration does not have the entry that was promoted.
func (st *State) EndedPromotions() []protocol.ParticipantID {
	var ended []protocol.ParticipantID
	for id, change := range st.modes.All() {
		v := st.Config.Deciders.Reviewer(id)
		if change.Decides && (v == nil || v.Entry() != change.entry) {
			ended = append(ended, id)
		}
	}
	return ended
}
