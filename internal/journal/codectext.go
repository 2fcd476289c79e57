package journal

import (
	"encoding/binary"

	"github.com/meup-protocol/meup/protocol"
)

func appendString(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendList[S ~string](dst []byte, list []S) []byte {
	if list == nil {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(list))+1)
	for _, s := range list {
		dst = appendString(dst, string(s))
	}
	return dst
}

func appendBlob(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(b))+1)
	return append(dst, b...)
}

// decodeText sets the strings of e, which are substrings of text.
func decodeText(e *Entry, text string, settles bool) error {
	r := textReader{rest: text}
	e.Envelope.ID = protocol.ID(r.next())
	e.Envelope.From = protocol.ParticipantID(r.next())
	e.Envelope.Kind = protocol.Kind(r.next())
	e.Envelope.Context = protocol.ContextPath(r.next())
	e.Envelope.Correlation.IDs = readList[protocol.ID](&r)
	e.Envelope.To = readList[protocol.ParticipantID](&r)
	e.Audience = readList[protocol.ParticipantID](&r)
	if settles {
		e.Settles = protocol.ID(r.next())
		if e.Settles == "" {
			return damaged("settled proposal")
		}
	}
	if r.bad || r.rest != "" {
		return damaged("text")
	}
	return nil
}

// textReader reads strings from the front of a text section. After an error it
// returns empty strings and bad is set.
type textReader struct {
	rest string
	bad  bool
}

func (r *textReader) next() string {
	n := r.length()
	if n > uint64(len(r.rest)) {
		r.fail()
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

// length reads an unsigned varint. It accepts only the shortest form, so that
// an entry has one encoding.
func (r *textReader) length() uint64 {
	var v uint64
	for i := 0; i < len(r.rest) && i < binary.MaxVarintLen32; i++ {
		c := r.rest[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c >= 0x80 {
			continue
		}
		if c == 0 && i > 0 {
			break
		}
		r.rest = r.rest[i+1:]
		return v
	}
	r.fail()
	return 0
}

func (r *textReader) fail() { r.bad, r.rest = true, "" }

func readList[S ~string](r *textReader) []S {
	n := r.length()
	if n == 0 {
		return nil
	}
	n--
	// Each element has at least one byte: reject a larger count, so that it does
	// not decide how much is allocated.
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	list := make([]S, n)
	for i := range list {
		list[i] = S(r.next())
	}
	return list
}

// readBlob splits a blob off data. Its capacity equals its length, so that
// appending to one blob cannot overwrite the next.
func readBlob(data []byte) (blob, rest []byte, ok bool) {
	n, size := binary.Uvarint(data)
	if size <= 0 || n > uint64(len(data)-size)+1 || size > 1 && data[size-1] == 0 {
		return nil, nil, false
	}
	data = data[size:]
	if n == 0 {
		return nil, data, true
	}
	n--
	return data[:n:n], data[n:], true
}
