package protocol

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// TimeFormat is the format of ts: RFC 3339 in UTC with microseconds.
const TimeFormat = "2006-01-02T15:04:05.000000Z"

// Time is a time whose JSON has all its microseconds, like the ts of an envelope.
type Time struct{ time.Time }

// MarshalJSON encodes the time in TimeFormat.
func (t Time) MarshalJSON() ([]byte, error) {
	return t.UTC().AppendFormat(nil, `"`+TimeFormat+`"`), nil
}

// AppendEnvelope appends the envelope as one JSON object in the given dialect.
// The payload is copied byte for byte, except for the name of a chat's text.
func AppendEnvelope(dst []byte, d Dialect, e *Envelope) []byte {
	dst = append(dst, `{"protocol":"`...)
	dst = append(dst, d.String()...)
	dst = append(dst, `","id":`...)
	dst = AppendString(dst, string(e.ID))
	dst = append(dst, `,"ts":"`...)
	dst = e.TS.UTC().AppendFormat(dst, TimeFormat)
	dst = append(dst, `","from":`...)
	dst = AppendString(dst, string(e.From))
	if len(e.To) > 0 {
		dst = append(dst, `,"to":`...)
		dst = appendStrings(dst, e.To)
	}
	dst = append(dst, `,"kind":`...)
	start := len(dst)
	dst = AppendString(dst, string(e.Kind))
	if i := bytes.IndexByte(dst[start:], '.'); i >= 0 && d != DialectMEUP01 {
		dst[start+i] = '/'
	}
	if ids := e.Correlation.IDs; len(ids) > 0 {
		dst = append(dst, ',', '"')
		dst = append(dst, d.correlationField()...)
		dst = append(dst, '"', ':')
		if d == DialectMEUP01 && !e.Correlation.Array {
			dst = AppendString(dst, string(ids[0]))
		} else {
			dst = appendStrings(dst, ids)
		}
	}
	if e.Context != "" {
		dst = append(dst, `,"context":`...)
		dst = AppendString(dst, string(e.Context))
	}
	dst = append(dst, `,"payload":`...)
	switch {
	case len(e.Payload) == 0:
		dst = append(dst, '{', '}')
	case e.Kind == KindChat && d.chatField() != chatText:
		dst = renameMember(dst, e.Payload, chatText, d.chatField())
	default:
		dst = append(dst, e.Payload...)
	}
	if len(e.Extra) > 0 {
		dst = append(dst, ',')
		dst = append(dst, e.Extra...)
	}
	if e.Seq > 0 && d == DialectMEUP01 {
		dst = append(dst, `,"seq":`...)
		dst = strconv.AppendUint(dst, uint64(e.Seq), 10)
	}
	return append(dst, '}')
}

// OneLine replaces, in place, a sender's line breaks between the tokens of a
// payload by spaces; strings in JSON contain none.
func OneLine(text []byte) []byte {
	for i, c := range text {
		if c == '\n' || c == '\r' {
			text[i] = ' '
		}
	}
	return text
}

// MarshalJSON returns the envelope in the dialect meup/v0.1.
func (e Envelope) MarshalJSON() ([]byte, error) {
	return AppendEnvelope(nil, DialectMEUP01, &e), nil
}

// renameMember appends the object with the key of one member replaced and all
// other bytes unchanged.
func renameMember(dst []byte, object json.RawMessage, from, to string) []byte {
	doc, err := ParseJSON(object, MaxDepth)
	if err != nil {
		return append(dst, object...)
	}
	for k := range doc.Root().Members {
		if k.EqualText(from) {
			at := k.Offset()
			dst = append(dst, object[:at]...)
			dst = AppendString(dst, to)
			return append(dst, object[at+len(k.Raw()):]...)
		}
	}
	return append(dst, object...)
}

func appendStrings[S ~string](dst []byte, list []S) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, string(s))
	}
	return append(dst, ']')
}

// FromGateway builds an envelope sent by the gateway itself; payload must
// marshal to an object.
func FromGateway(id ID, kind Kind, now time.Time, payload any) (Envelope, error) {
	raw, err := json.Marshal(payload)
	if err != nil {
		return Envelope{}, err
	}
	return Envelope{ID: id, TS: now.UTC(), From: GatewayID, Kind: kind, Payload: raw}, nil
}
