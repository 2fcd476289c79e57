package capability

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/protocol"
)

// observe is the capability to see envelopes that are addressed to others.
// Section 6.
const observe protocol.Kind = "observe"

// Decide is the capability to settle the proposals that its patterns match.
// Section 7.
const Decide protocol.Kind = "decide"

// Capability is one compiled capability. It is immutable.
type Capability struct {
	kind    kindPattern
	payload *Pattern
	to      *target
	context *target
	deny    bool
	claims  claimMode // of an allowing rule

	plain   bool // allows, and has nothing but a kind
	program int  // instructions of its regexps
	source  json.RawMessage
	slash   json.RawMessage
}

// Request has the parts of an envelope that capabilities match. An absent
// Payload is an empty object.
type Request struct {
	Kind    protocol.Kind
	Payload protocol.Value
	To      []protocol.ParticipantID
	Context protocol.ContextPath
	// Place is the folders of the paths in the arguments of a call.
	Place argument.Place
	// Unbounded: the patterns are trusted, and the request is short, so that matching may take any
	// number of steps, and regular expressions read texts of any length.
	Unbounded bool

	// Of a rule about claims: who sends the envelope and when, and who holds what; nil: unknown.
	Sender protocol.ParticipantID
	Now    time.Time
	Claims Claims
}

// Deny reports whether the capability takes away instead of giving.
func (c *Capability) Deny() bool { return c.deny }

// String returns the JSON text.
func (c *Capability) String() string { return string(c.source) }

// Texts returns the JSON texts of capabilities.
func Texts(list []*Capability) []json.RawMessage {
	texts := make([]json.RawMessage, len(list))
	for i, c := range list {
		texts[i] = c.source
	}
	return texts
}

// Selects reports whether the capability is about envelopes of a kind.
func (c *Capability) Selects(k protocol.Kind) bool { return c.kind.Match(k) }

// Certain reports whether the patterns certainly match the request, as those of an allowing
// capability have to.
func (c *Capability) Certain(r *Request) bool {
	allowing := *c
	allowing.deny = false
	w := newWork(r)
	return allowing.match(r, &w)
}

// Possible reports whether the patterns might match the request, as those of a deny rule
// have to. A request without recipients may be for any.
func (c *Capability) Possible(r *Request) bool {
	denying := *c
	denying.deny, denying.plain = true, false
	if len(r.To) == 0 {
		denying.to = nil
	}
	w := newWork(r)
	return denying.match(r, &w)
}

// Sees is Possible without what may be there but cannot be seen: what a program runs that its words
// do not show (make, npx), what a word becomes when the command runs, and what lies behind the bound
// of work.
func (c *Capability) Sees(r *Request) bool {
	seeing := *c
	if len(r.To) == 0 {
		seeing.to = nil
	}
	w := newWork(r)
	return c.kind.Match(r.Kind) && seeing.matchRest(r, modeDeny|modeSeen, &w) && w.left >= 0
}

// match reports whether the capability selects the request. An allowing
// capability selects requests that it certainly matches, a deny rule requests
// that it might match.
func (c *Capability) match(r *Request, w *Work) bool {
	if !c.kind.Spend(len(r.Kind), w) {
		return c.deny
	}
	return c.kind.Match(r.Kind) && (c.plain || c.matchRest(r, c.mode(r), w))
}

// kindOnly reports whether the capability selects by the kind alone.
func (c *Capability) kindOnly() bool {
	return c.payload == nil && c.to == nil && c.context == nil && c.claims == claimsIgnored
}

// NamesRecipient reports whether the capability has the participant itself in to,
// rather than a pattern.
func (c *Capability) NamesRecipient(id protocol.ParticipantID) bool {
	return c.to != nil && c.to.Lists(id)
}

func (c *Capability) mode(r *Request) Mode {
	switch {
	case c.deny:
		return modeDeny
	case c.payload != nil && hasCommand(r.Payload.Get("params").Get("arguments")):
		return modeAllow | modeCommand
	}
	return modeAllow
}

// hasCommand reports whether the arguments of a call have the command of a shell.
func hasCommand(arguments protocol.Value) bool {
	return slices.ContainsFunc(commandKeys, func(key string) bool { return arguments.Get(key).Exists() })
}

func (c *Capability) matchRest(r *Request, m Mode, w *Work) bool {
	if c.to != nil && !c.to.MatchTo(r.To, m, w) {
		return false
	}
	if c.context != nil && !c.context.MatchContext(r.Context, m, w) {
		return false
	}
	if c.payload != nil && !c.payload.Match(payloadOf(r), m, w) {
		return false
	}
	return c.claims == claimsIgnored || c.claimed(r)
}

// Bounds of work, in steps.
const (
	baseWork     = 128 << 10 // of a decision
	workPerByte  = 8         // and more of them for each byte of the payload
	maxCheckWork = 256 << 10 // of checking a grant or revocation
	maxViewWork  = 1 << 20   // of listing a participant's capabilities
)

// newWork returns the steps for deciding on r. They grow with its payload,
// which its sender is charged for.
func newWork(r *Request) Work {
	w := Work{left: baseWork + workPerByte*len(r.Payload.Raw()), unbounded: r.Unbounded, place: r.Place}
	if r.Unbounded {
		w.left = math.MaxInt
	}
	return w
}

var emptyObject = func() protocol.Value {
	doc, err := protocol.ParseJSON([]byte("{}"), 1)
	if err != nil {
		panic(err)
	}
	return doc.Root()
}()

func payloadOf(r *Request) protocol.Value {
	if !r.Payload.Exists() {
		return emptyObject
	}
	return r.Payload
}

// observes reports whether the capability is the right to read.
func (c *Capability) observes() bool {
	kind, ok := c.kind.Literal()
	return ok && kind == observe && c.plain
}

// slashed returns the source of v with its kind spelt with a slash.
func (c *Capability) slashed(v, kind protocol.Value) json.RawMessage {
	spelt := c.kind.Slash()
	if spelt == kind.Text() {
		return c.source
	}
	at := kind.Offset() - v.Offset()
	out := protocol.AppendString(append([]byte(nil), c.source[:at]...), spelt)
	return append(out, c.source[at+len(kind.Raw()):]...)
}

// asDeny returns the deny rule with the same patterns.
func (c *Capability) asDeny() *Capability {
	if c.deny {
		return c
	}
	d := *c
	d.deny, d.plain, d.claims = true, false, claimsIgnored
	d.source, d.slash = denyJSON(c.source), denyJSON(c.slash)
	return &d
}

// denyJSON writes a capability, a valid JSON text, as a deny rule.
func denyJSON(source json.RawMessage) json.RawMessage {
	doc, err := protocol.ParseJSON(source, protocol.MaxDepth)
	if err != nil || doc.Root().Type() == protocol.TypeString {
		return fmt.Appendf(nil, `{"kind":%s,"deny":true}`, source)
	}
	out := []byte{'{'}
	for k, v := range doc.Root().Members {
		if !k.EqualText("deny") && !k.EqualText("claims") {
			out = fmt.Appendf(out, "%s:%s,", k.Raw(), v.Raw())
		}
	}
	return append(out, `"deny":true}`...)
}

// covers reports whether c selects all requests that other allows. True is
// certain; false may mean that it is not clear. It compares the two
// structurally: equal parts, texts that a pattern matches, globs within globs,
// and patterns with fewer conditions.
//
// A capability selects at least as much when it is read as a deny rule, so
// true is certain for a deny rule c as well. A string pattern matches an array
// by one of its elements and an array pattern by all of them, so ["a", "b"]
// covers ["a"] but not "a".
func (c *Capability) covers(other *Capability, w *Work) bool {
	if !w.Spend(1) || !c.kind.Spend(32, w) || !c.kind.Covers(&other.kind) {
		return false
	}
	if c.claims > other.claims {
		return false
	}
	if other.observes() && !c.deny && !c.observes() {
		return false
	}
	if c.to != nil && (other.to == nil || !c.to.Covers(other.to, w)) {
		return false
	}
	if c.context != nil && (other.context == nil || !c.context.CoversContext(other.context, w)) {
		return false
	}
	switch {
	case c.payload == nil:
		return true
	case other.payload == nil:
		return c.payload.MatchesObjects()
	}
	return c.payload.Covers(other.payload, w)
}
