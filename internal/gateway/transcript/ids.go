package transcript

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
)

// ids makes the ids of one trace, by hashing what they are of.
type ids struct {
	turn  string // what is hashed
	trace []byte
}

// Lengths in bytes of what OTLP calls by an id.
const (
	traceBytes = 16
	spanBytes  = 8
)

func idsOf(h *Head, turn int) ids {
	about := fmt.Sprintf("%s/%s/%d", h.SessionID, h.ThreadID, turn)
	return ids{turn: about, trace: hash(traceBytes, "trace", about)}
}

// span is the id of a span; what and name say which one of the turn it is.
func (i ids) span(what, name string) []byte { return hash(spanBytes, i.turn, what, name) }

// hash is the field of an id, of n bytes.
func hash(n int, parts ...string) []byte {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return idField(h.Sum(nil)[:n])
}

// idField is what stands in the field of an id so that its JSON is hexadecimal,
// as OTLP wants it. protojson writes bytes in base64; these are the bytes whose
// base64 is the id in hexadecimal, all of whose characters base64 has too.
func idField(id []byte) []byte {
	field, err := base64.StdEncoding.DecodeString(hex.EncodeToString(id))
	if err != nil {
		panic("transcript: an id of an odd length") // not of 8 or 16 bytes
	}
	return field
}
