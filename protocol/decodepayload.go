package protocol

import (
	"slices"
	"strconv"
	"strings"
)

// payload converts the payload to canonical form and rejects payloads that
// another parser might read differently.
func (r *reader) payload() *Error {
	e := &r.in.Envelope
	if !r.in.Payload.Exists() {
		e.Payload = []byte("{}")
		r.in.Payload = emptyObject.Root()
	} else {
		e.Payload = r.in.Payload.Raw()
	}
	if err := r.foldedFields(); err != nil {
		return err
	}
	if r.dialect == DialectMEW04 {
		switch e.Kind {
		case KindStreamRequest, KindStreamClose, KindStreamGrantWrite, KindStreamRevokeWrite, KindStreamTransfer: // may be addressed to the gateway
			e.To = slices.DeleteFunc(e.To, func(id ParticipantID) bool { return id == gatewayAlias || id == GatewayID })
		}
	}
	if r.dialect != DialectMEUP01 {
		if err := r.usePayload(translate(e, r.in.Payload)); err != nil {
			return err
		}
	}
	if e.Kind != KindChat {
		return nil
	}
	// The text of a chat gets its canonical name, so that checks, storage and matching are the
	// same for every dialect.
	switch {
	case !r.in.Payload.Get(chatTextAlias).Exists():
		return nil
	case r.in.Payload.Get(chatText).Exists():
		return &Error{Code: CodeInvalidPayload, Path: "/payload/" + chatTextAlias, Detail: "both message and text",
			Message: "A chat has its text in message or in text, not in both."}
	}
	return r.usePayload(renameMember(nil, e.Payload, chatTextAlias, chatText))
}

var emptyObject, _ = ParseJSON([]byte("{}"), 1)

// usePayload replaces the payload, unless text is nil.
func (r *reader) usePayload(text []byte) *Error {
	if text == nil {
		return nil
	}
	doc, err := ParseJSON(text, MaxDepth)
	if err != nil {
		return Errorf(CodeInvalidJSON, "The payload cannot be read: %v.", err)
	}
	r.in.Envelope.Payload, r.in.Payload = text, doc.Root()
	return nil
}

// foldedFields rejects a payload with two spellings, differing only in case, of
// a field that the gateway checks: a parser that folds case would act on
// another value than the checked one. In the parameters of a request, at any depth, no two
// keys may differ only in case.
func (r *reader) foldedFields() *Error {
	e := &r.in.Envelope
	known := decisiveFields[e.Kind]
	if err := checkFolded("/payload", r.in.Payload, known); err != nil {
		return err
	}
	if e.Kind != KindMCPRequest && e.Kind != KindMCPProposal {
		return nil
	}
	params := r.in.Payload.Get("params")
	if err := checkFolded("/payload/params", params, paramFields); err != nil {
		return err
	}
	at, keys := twins(params)
	if keys == nil {
		return nil
	}
	return &Error{Code: CodeInvalidJSON, Path: "/payload/params" + at, Detail: "keys that differ by case alone",
		Message: "The parameters of a request hold the keys " + quotedKey(keys[0]) + " and " + quotedKey(keys[1]) + ", which differ by case alone; parsers do not agree on what they mean. Send one of them."}
}

// decisiveFields are the fields that capabilities and the gateway itself check.
var decisiveFields = map[Kind][]string{
	KindChat:             {"message", "text"},
	KindFeedback:         {"value", "note"},
	KindMCPRequest:       {"method", "params", "edited"},
	KindMCPProposal:      {"method", "params", "participant_id"},
	KindMCPOpinion:       {"verdict", "call"},
	KindReviewerPromote:  {"participant_id"},
	KindReviewerDemote:   {"participant_id"},
	KindPolicyDismiss:    {"recipient", "capabilities", "decisions"},
	KindBudgetExtend:     {"participant_id", "tokens", "calls", "cost", "currency"},
	KindClaim:            {"paths", "names", "ttl_seconds"},
	KindRelease:          {"paths", "names"},
	KindCapabilityGrant:  {"recipient", "capabilities", "ttl_seconds"},
	KindCapabilityRevoke: {"recipient", "capabilities", "grant_id"},
	KindSpaceInvite:      {"participant_id", "initial_capabilities", "ttl_seconds"},
	KindSpaceKick:        {"participant_id"},

	KindAdminSpacePut:          {"space"},
	KindAdminSpaceRemove:       {"space"},
	KindAdminParticipantPut:    {"space", "participant_id", "capabilities"},
	KindAdminParticipantRemove: {"space", "participant_id"},
	KindAdminTokenIssue:        {"space", "participant_id"},
	KindAdminTokenRevoke:       {"space", "participant_id", "token_id"},

	KindStreamRequest:     {"target"},
	KindStreamOpen:        {"stream_id"},
	KindStreamData:        {"stream_id"},
	KindStreamClose:       {"stream_id"},
	KindStreamGrantWrite:  {"stream_id", "participant_id"},
	KindStreamRevokeWrite: {"stream_id", "participant_id"},
	KindStreamTransfer:    {"stream_id", "new_owner"},
}

var paramFields = []string{"name", "arguments", "uri"}

func checkFolded(path string, object Value, known []string) *Error {
	if len(known) == 0 {
		return nil
	}
	for k := range object.Members {
		key := k.Text()
		for _, name := range known {
			if key != name && strings.EqualFold(key, name) {
				return &Error{Code: CodeInvalidJSON, Path: path + "/" + key, Detail: "differs from " + name + " by case alone",
					Message: "Field names are case-sensitive: write " + name + ", not " + key + "."}
			}
		}
	}
	return nil
}

// quotedKey quotes the beginning of a key that a sender chose.
func quotedKey(key string) string { return strconv.Quote(key[:min(len(key), 64)]) }

// twins returns the pointer of the first object in v with such keys, and the keys; nil: there
// is none. The pointer is built on the way back: on the way down it would be copied for each
// of the sender's keys.
func twins(v Value) (at string, keys []string) {
	i := 0
	for x := range v.Elements {
		if at, keys := twins(x); keys != nil {
			return "/" + strconv.Itoa(i) + at, keys
		}
		i++
	}
	var seen map[string]string
	if v.Type() == TypeObject && v.Len() > 1 {
		seen = make(map[string]string)
	}
	for k, x := range v.Members {
		key := k.Text()
		folded := strings.ToLower(strings.ToUpper(key))
		if twin, found := seen[folded]; found {
			return "", []string{twin, key}
		}
		if seen != nil {
			seen[folded] = key
		}
		if at, keys := twins(x); keys != nil {
			return "/" + EscapePointer(key) + at, keys
		}
	}
	return "", nil
}
