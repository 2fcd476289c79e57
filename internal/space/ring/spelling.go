package ring

import (
	"bytes"
	"encoding/json"

	"github.com/meup-protocol/meup/protocol"
)

// Spelling is stored with an envelope for clients of the dialects meup/v0.2 and
// mew/v0.4. In an entry's Private it is JSON, after the hash of an invitation's
// token.
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
func ReadSpelling(note []byte) (sp Spelling) {
	if i := bytes.IndexByte(note, '{'); i >= 0 {
		_ = json.Unmarshal(note[i:], &sp) // the gateway wrote it
	}
	return sp
}

// Note returns the Private of an entry with this spelling, after the hash of a
// token.
func (sp *Spelling) Note(tokenHash []byte) []byte {
	if sp.Sum == "" && sp.ID == "" && len(sp.Correlation) == 0 && sp.Context == "" && len(sp.To) == 0 && !sp.Targeted {
		return tokenHash // of every envelope in the first dialect
	}
	text, err := json.Marshal(sp)
	if err != nil { // strings always marshal
		return tokenHash
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
