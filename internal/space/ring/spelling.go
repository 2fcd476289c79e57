package ring

import (
	"bytes"
	"encoding/json"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/protocol"
)

// Spelling is stored with an envelope for clients of the dialects meup/v0.2 and
// mew/v0.4. In an entry's Private it is JSON, after the hash of an invitation's
// token, together with the [Reason].
type Spelling struct {
	// Sum identifies the received frame.
	Sum string `json:"sum,omitempty"`
	// The envelope in the form for those clients, where that differs.
	ID          protocol.ID          `json:"id,omitempty"`
	Correlation []protocol.ID        `json:"correlation,omitempty"`
	Context     protocol.ContextPath `json:"context,omitempty"`
	// To: the addressees for those clients, where no other client sees any.
	To []protocol.ParticipantID `json:"to,omitempty"`
	// Targeted is [Entry.targeted], for the other gateways.
	Targeted bool `json:"targeted,omitempty"`
}

// ReadSpelling returns the spelling in an entry's Private.
func ReadSpelling(note []byte) Spelling {
	i := bytes.IndexByte(note, '{')
	if i < 0 || bytes.HasPrefix(note[i:], reasonAlone) {
		return Spelling{}
	}
	var sp Spelling
	_ = json.Unmarshal(note[i:], &sp) // the gateway wrote it
	return sp
}

// reasonAlone begins the JSON of a note without a spelling, which every call has.
var reasonAlone = []byte(`{"reason":`)

// Reason says why a call, the rejection of one, or the promotion of a reviewer was admitted. It is stored with the
// envelope, and no participant receives it as such.
type Reason struct {
	Policy string `json:"policy"` // digest of the policy that was in force
	// Rule is the text of the capability that allowed it; one that was cut ends with "…".
	Rule  string      `json:"rule"`
	Grant protocol.ID `json:"grant,omitempty"` // the grant that the rule came with
	// Decider is the sort of decider; "": the space has no deciders, or nobody was asked.
	Decider Decider `json:"decider,omitempty"`
	// Late: it decides on a proposal that had expired, or whose context had ended.
	Late bool `json:"late,omitempty"`
	// Reviewer, of a promotion, identifies the configuration's entry of the reviewer.
	Reviewer string `json:"reviewer,omitempty"`
	// Limit, of a proposal, is the budget or the loop because of which a call was proposed that
	// capabilities allowed.
	Limit string `json:"limit,omitempty"`
}

// Decider is a sort of those that decide on calls.
type Decider string

// The deciders.
const (
	DeciderRule     Decider = exchange.ByRule // of the deciders, not a capability
	DeciderReviewer Decider = exchange.ByReviewer
	DeciderPerson   Decider = exchange.ByPerson
)

// ReadReason returns the reason in an entry's Private; nil: there is none.
func ReadReason(note []byte) *Reason {
	var x struct {
		Reason *Reason `json:"reason"`
	}
	if i := bytes.IndexByte(note, '{'); i >= 0 {
		_ = json.Unmarshal(note[i:], &x) // the gateway wrote it
	}
	return x.Reason
}

// Note returns the Private of an entry with this spelling and reason (nil: none), after
// the hash of a token.
func (sp *Spelling) Note(tokenHash []byte, reason *Reason) []byte {
	if reason == nil && sp.Sum == "" && sp.ID == "" && len(sp.Correlation) == 0 && sp.Context == "" && len(sp.To) == 0 && !sp.Targeted {
		return tokenHash // of nearly every envelope in the first dialect
	}
	text, err := json.Marshal(struct {
		*Spelling
		Reason *Reason `json:"reason,omitempty"`
	}{sp, reason})
	if err != nil { // strings always marshal
		return tokenHash
	}
	if len(tokenHash) == 0 {
		return text
	}
	return append(bytes.Clone(tokenHash), text...)
}

// Apply changes the envelope into its form for clients of the other dialects.
func (sp *Spelling) Apply(e *protocol.Envelope) {
	if sp.ID != "" {
		e.ID = sp.ID
	}
	if sp.Correlation != nil {
		e.Correlation.IDs = sp.Correlation
	}
	if sp.Context != "" {
		e.Context = sp.Context
	}
	if len(e.To) == 0 {
		e.To = sp.To
	}
}
