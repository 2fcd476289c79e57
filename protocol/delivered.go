package protocol

import "errors"

// DecodeDelivered decodes an envelope that a gateway delivered in the dialect
// [DialectMEUP01]: a frame of its socket, a line of JSON Lines, or the data of
// an event. The envelope shares the bytes of text.
//
// A gateway is trusted to satisfy section 1. Content beyond it (a kind or a
// field unknown to this version) is accepted. An error is returned for a text
// that is not a JSON object, is nested too deeply, or has no kind.
func DecodeDelivered(text []byte) (Envelope, error) {
	var e Envelope
	doc, err := ParseJSON(text, MaxDepth+1)
	if err != nil {
		return e, err
	}
	root := doc.Root()
	if root.Type() != TypeObject {
		return e, errors.New("an envelope is an object")
	}
	for key, v := range root.Members {
		switch key.Text() {
		case "protocol":
		case "id":
			e.ID = ID(v.Text())
		case "ts":
			e.TS, _ = ParseTime(v.Text())
		case "from":
			e.From = ParticipantID(v.Text())
		case "to":
			for x := range v.Elements {
				e.To = append(e.To, ParticipantID(x.Text()))
			}
		case "kind":
			e.Kind, _ = ParseKind(v.Text())
		case "correlationId":
			if v.Type() == TypeString {
				e.Correlation = CorrelateTo(ID(v.Text()))
				continue
			}
			e.Correlation = Correlation{Array: true}
			for x := range v.Elements {
				e.Correlation.IDs = append(e.Correlation.IDs, ID(x.Text()))
			}
		case "context":
			e.Context = ContextPath(v.Text())
		case "payload":
			e.Payload = v.Raw()
		case "seq":
			n, _ := v.Int()
			e.Seq = Seq(max(n, 0))
		default:
			if len(e.Extra) > 0 {
				e.Extra = append(e.Extra, ',')
			}
			e.Extra = append(e.Extra, key.Raw()...)
			e.Extra = append(e.Extra, ':')
			e.Extra = append(e.Extra, v.Raw()...)
		}
	}
	if e.Kind == "" {
		return e, errors.New("an envelope has a kind")
	}
	return e, nil
}
