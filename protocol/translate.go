package protocol

import "strconv"

// defaultErrorCode replaces a missing JSON-RPC code of a tool's error.
const defaultErrorCode = -32000

// gatewayAlias is the gateway's id in stream envelopes of mew/v0.4 clients.
const gatewayAlias ParticipantID = "gateway"

// translate converts a payload as sent by libraries of meup/v0.2 and mew/v0.4
// to the form required by section 2. It returns nil if the payload has that
// form.
func translate(e *Envelope, payload Value) []byte {
	switch e.Kind {
	case KindStreamRequest:
		if payload.Get("target").Type() == TypeNull {
			return appendObject(nil, payload, map[string]bool{"target": true})
		}
	case KindStreamClose: // the correlation names the request for which the gateway opened the stream
		if !payload.Get("stream_id").Exists() && len(e.Correlation.IDs) > 0 {
			return appendObject(nil, payload, nil, member{"stream_id", AppendString(nil, string(e.Correlation.IDs[0]))})
		}
	case KindReasoningThought:
		return translateThought(payload)
	case KindMCPResponse:
		return translateError(payload)
	case KindMCPReject, KindMCPWithdraw:
		if !payload.Get("reason").Exists() {
			return appendObject(nil, payload, nil, member{"reason", []byte(`"other"`)})
		}
	case KindCapabilityGrant, KindCapabilityRevoke:
		return translateCapabilities(payload, "capabilities")
	case KindSpaceInvite:
		return translateCapabilities(payload, "initial_capabilities")
	}
	return nil
}

// translateThought adds a message to a thought {reasoning, action,
// actionInput}, and the name of the tool that it calls.
func translateThought(payload Value) []byte {
	if payload.Get("message").Exists() || payload.Get("content").Exists() {
		return nil
	}
	text := payload.Get("reasoning")
	if text.Type() != TypeString || text.EqualText("") {
		text = payload.Get("action")
	}
	if text.Type() != TypeString {
		return nil
	}
	added := []member{{"message", text.Raw()}}
	tool := payload.Get("actionInput").Get("tool")
	if tool.Type() == TypeString && !payload.Get("tool_name").Exists() {
		added = append(added, member{"tool_name", tool.Raw()})
	}
	return appendObject(nil, payload, nil, added...)
}

// translateError adds a JSON-RPC code and a message to a response's error. A
// string as the code is moved to the error's data.
func translateError(payload Value) []byte {
	failure := payload.Get("error")
	code, message := failure.Get("code"), failure.Get("message")
	var text []byte
	switch {
	case failure.Type() == TypeString:
		text = append(text, `{"code":`...)
		text = strconv.AppendInt(text, defaultErrorCode, 10)
		text = append(append(append(text, `,"message":`...), failure.Raw()...), '}')
	case failure.Type() != TypeObject || code.Type() == TypeNumber && message.Type() == TypeString:
		return nil
	default:
		var added []member
		without := map[string]bool{}
		if code.Type() != TypeNumber {
			without["code"] = true
			added = append(added, member{"code", strconv.AppendInt(nil, defaultErrorCode, 10)})
			if code.Type() == TypeString && !failure.Get("data").Exists() {
				added = append(added, member{"data", append(append([]byte(`{"code":`), code.Raw()...), '}')})
			}
		}
		if message.Type() != TypeString {
			without["message"] = true
			added = append(added, member{"message", []byte(`"the tool failed"`)})
		}
		text = appendObject(nil, failure, without, added...)
	}
	return appendObject(nil, payload, map[string]bool{"error": true}, member{"error", text})
}

// translateCapabilities removes the ids from the capabilities in a field.
func translateCapabilities(payload Value, field string) []byte {
	list, found := payload.Get(field), false
	text := []byte{'['}
	for c := range list.Elements {
		if len(text) > 1 {
			text = append(text, ',')
		}
		if c.Type() != TypeObject || !c.Get("id").Exists() {
			text = append(text, c.Raw()...)
			continue
		}
		found = true
		text = appendObject(text, c, map[string]bool{"id": true})
	}
	if !found {
		return nil
	}
	return appendObject(nil, payload, map[string]bool{field: true}, member{field, append(text, ']')})
}

type member struct {
	name string
	raw  []byte
}

// appendObject appends an object without some of its members and with added
// ones.
func appendObject(dst []byte, object Value, without map[string]bool, added ...member) []byte {
	dst = append(dst, '{')
	n := 0
	next := func() {
		n++
		if n > 1 {
			dst = append(dst, ',')
		}
	}
	for k, v := range object.Members {
		if without[k.Text()] {
			continue
		}
		next()
		dst = append(append(append(dst, k.Raw()...), ':'), v.Raw()...)
	}
	for _, m := range added {
		next()
		dst = append(append(AppendString(dst, m.name), ':'), m.raw...)
	}
	return append(dst, '}')
}
