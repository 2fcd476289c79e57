package protocol

import (
	"encoding/json"
	"time"
)

// Envelope is one message in a space. Section 1.
//
// Kind has its canonical spelling and Payload the form of meup/v0.1;
// [AppendEnvelope] converts them to the receiver's dialect.
type Envelope struct {
	ID   ID
	TS   time.Time // UTC; precision microseconds
	From ParticipantID
	To   []ParticipantID // nil: broadcast
	Kind Kind

	Correlation Correlation
	Context     ContextPath

	// Payload is one JSON object, byte for byte as it was sent.
	Payload json.RawMessage
	// Extra holds the top-level fields that the protocol does not define, as
	// they were sent: `"name":value` pairs joined by commas, without braces.
	Extra []byte

	Seq Seq // 0 until the envelope is in the log
}

// Correlation names the envelopes that an envelope correlates to. It keeps its
// form, because meup/v0.1 allows a string and an array.
type Correlation struct {
	IDs   []ID
	Array bool // was written as an array
}

// MaxCorrelations bounds the array form of a correlationId.
const MaxCorrelations = 64

// CorrelateTo returns the correlation to one envelope.
func CorrelateTo(id ID) Correlation { return Correlation{IDs: []ID{id}} }

// First returns the first id, or "".
func (c Correlation) First() ID {
	if len(c.IDs) == 0 {
		return ""
	}
	return c.IDs[0]
}

// Names reports whether id is one of the correlated ids.
func (c Correlation) Names(id ID) bool {
	for _, x := range c.IDs {
		if x == id {
			return true
		}
	}
	return false
}

// ParsePayload parses the payload; absent if it is not JSON.
func (e *Envelope) ParsePayload() Value {
	doc, err := ParseJSON(e.Payload, MaxDepth)
	if err != nil {
		return Value{}
	}
	return doc.Root()
}

// AddressedTo reports whether To contains p.
func (e *Envelope) AddressedTo(p ParticipantID) bool {
	for _, id := range e.To {
		if id == p {
			return true
		}
	}
	return false
}

// Opens returns the path of the context that the envelope opens, if any.
func (e *Envelope) Opens() (ContextPath, bool) {
	if e.Kind != KindReasoningStart {
		return "", false
	}
	return e.Context.Child(e.ID), true
}
