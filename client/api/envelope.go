package api

import (
	"errors"

	"github.com/meup-protocol/meup/protocol"
)

// DecodeEnvelope reads an envelope as a gateway gives it in the dialect
// meup/v0.1: a line of JSON Lines, or the data of an event. It shares the
// text's bytes. What the gateway does not promise (a kind or a field that this
// version does not know) passes.
func DecodeEnvelope(text []byte) (protocol.Envelope, error) {
	var e protocol.Envelope
	doc, err := protocol.ParseJSON(text, protocol.MaxDepth+1)
	if err != nil {
		return e, err
	}
	root := doc.Root()
	if root.Type() != protocol.TypeObject {
		return e, errors.New("an envelope is an object")
	}
	for key, v := range root.Members {
		setField(&e, key, v)
	}
	if e.Kind == "" {
		return e, errors.New("an envelope has a kind")
	}
	return e, nil
}

func setField(e *protocol.Envelope, key, v protocol.Value) {
	switch key.Text() {
	case "protocol":
	case "id":
		e.ID = protocol.ID(v.Text())
	case "ts":
		e.TS, _ = protocol.ParseTime(v.Text())
	case "from":
		e.From = protocol.ParticipantID(v.Text())
	case "to":
		for x := range v.Elements {
			e.To = append(e.To, protocol.ParticipantID(x.Text()))
		}
	case "kind":
		e.Kind, _ = protocol.ParseKind(v.Text())
	case "correlationId":
		e.Correlation = correlation(v)
	case "context":
		e.Context = protocol.ContextPath(v.Text())
	case "payload":
		e.Payload = v.Raw()
	case "seq":
		n, _ := v.Int()
		e.Seq = protocol.Seq(max(n, 0))
	default:
		e.Extra = appendMember(e.Extra, key.Raw(), v.Raw())
	}
}

func appendMember(dst, key, value []byte) []byte {
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	dst = append(dst, key...)
	dst = append(dst, ':')
	return append(dst, value...)
}

func correlation(v protocol.Value) protocol.Correlation {
	if v.Type() == protocol.TypeString {
		return protocol.CorrelateTo(protocol.ID(v.Text()))
	}
	c := protocol.Correlation{Array: true}
	for x := range v.Elements {
		c.IDs = append(c.IDs, protocol.ID(x.Text()))
	}
	return c
}
