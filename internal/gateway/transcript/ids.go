package transcript

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
)

// ids derives the ids of one trace from hashes.
type ids struct {
	turn  string // the hash input
	trace []byte
}

// Lengths of OTLP ids in bytes.
const (
	traceBytes = 16
	spanBytes  = 8
)

func idsOf(h *Head, turn int) ids {
	about := fmt.Sprintf("%s/%s/%d", h.SessionID, h.ThreadID, turn)
	return ids{turn: about, trace: hash(traceBytes, "trace", about)}
}

// span returns the id of a span; what and name identify the span within the
// turn.
func (i ids) span(what, name string) []byte { return hash(spanBytes, i.turn, what, name) }

// hash returns the id field for an id of n bytes.
func hash(n int, parts ...string) []byte {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return idField(h.Sum(nil)[:n])
}

// idField returns the content of an id field whose JSON is hexadecimal, as OTLP
// requires. protojson encodes bytes in base64. The result is the bytes whose
// base64 form is the hexadecimal id; all hexadecimal digits are base64
// characters.
func idField(id []byte) []byte {
	field, err := base64.StdEncoding.DecodeString(hex.EncodeToString(id))
	if err != nil {
		panic("transcript: an id of an odd length") // not 8 or 16 bytes
	}
	return field
}
