package capability

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// never returns why the capability cannot select any request, or "" if it can
// or that is not clear.
func (c *Capability) never() string {
	if kind := c.kind.String(); kind == "!*" || kind == "!**" {
		return "it excludes every kind"
	}
	if c.to != nil && c.to.never(c.deny, protocol.ValidParticipantID) {
		return "no to matches " + c.to.source
	}
	if c.context != nil && c.context.never(c.deny, validContext) {
		return "no context matches " + c.context.source
	}
	p := c.payload
	switch {
	case p == nil:
		return ""
	case !p.mayBeType(protocol.TypeObject, c.mode()):
		return fmt.Sprintf("the payload is an object, which %s does not match", p.source)
	}
	if kind, ok := c.kind.Literal(); ok {
		return neverFields(kind, p, c.mode())
	}
	return ""
}

func validContext(s string) bool {
	_, ok := protocol.ParseContextPath(s, protocol.MaxContextBytes)
	return ok || s == ""
}

// never reports whether no alternative can match a valid text.
func (t *target) never(deny bool, valid func(string) bool) bool {
	for i := range t.alts {
		switch x := &t.alts[i]; {
		case x.negate && x.class == textAny && !deny:
		case !x.negate && x.class == textExact && !valid(x.exact):
		default:
			return false
		}
	}
	return true
}

// fieldTypes lists, for kinds whose payload the contract describes (section
// 2), the types that a field can have.
var fieldTypes = map[protocol.Kind]map[string][]protocol.Type{
	protocol.KindChat:                 {"message": text1, "text": text1, "format": text1},
	protocol.KindMCPRequest:           rpcTypes,
	protocol.KindMCPProposal:          rpcTypes,
	protocol.KindMCPWithdraw:          {"reason": text1},
	protocol.KindMCPReject:            {"reason": text1},
	protocol.KindReasoningStart:       {"message": text1, "references": list1, "metadata": object1},
	protocol.KindReasoningThought:     {"message": text1, "content": text1, "tool_name": text1, "parallel_group": number1},
	protocol.KindReasoningObservation: {"message": text1, "confidence": number1},
	protocol.KindReasoningHypothesis:  {"message": text1, "confidence": number1},
	protocol.KindReasoningQuestion:    {"message": text1, "confidence": number1},
	protocol.KindCapabilityGrant:      {"recipient": text1, "capabilities": list1, "ttl_seconds": number1},
	protocol.KindCapabilityRevoke:     {"recipient": text1, "capabilities": list1, "grant_id": text1},
	protocol.KindSpaceInvite:          {"participant_id": text1, "initial_capabilities": list1, "ttl_seconds": number1},
	protocol.KindSpaceKick:            {"participant_id": text1, "reason": text1},
}

var (
	text1    = []protocol.Type{protocol.TypeString}
	number1  = []protocol.Type{protocol.TypeNumber}
	object1  = []protocol.Type{protocol.TypeObject}
	list1    = []protocol.Type{protocol.TypeArray}
	rpcTypes = map[string][]protocol.Type{
		"method": text1, "params": {protocol.TypeObject, protocol.TypeArray},
	}
)

// neverFields returns which field of a known kind cannot have the type that the
// payload's pattern asks for.
func neverFields(kind protocol.Kind, p *pattern, m mode) string {
	for i := range p.fields {
		f := &p.fields[i]
		want, ok := fieldTypes[kind][f.key.name]
		if f.key.class != keyName || !ok || slices.ContainsFunc(want, func(t protocol.Type) bool { return f.value.mayBeType(t, m) }) {
			continue
		}
		return fmt.Sprintf("the %s of %s has type %s, which %s does not match", f.key.name, kind, join(want), f.value.source)
	}
	return ""
}

// mayBeType reports whether the pattern can match a value of a type.
func (p *pattern) mayBeType(t protocol.Type, m mode) bool {
	if m.deny() && (p.absent || t == protocol.TypeArray) {
		return true
	}
	switch p.class {
	case classAny:
		return true
	case classScalar:
		return t != protocol.TypeObject
	case classText:
		return t == protocol.TypeString || t == protocol.TypeArray
	case classNumber:
		return t == protocol.TypeNumber
	case classWord:
		return p.word == "null" && t == protocol.TypeNull || p.word != "null" && t == protocol.TypeBool
	case classOneOf:
		return t == protocol.TypeArray || slices.ContainsFunc(p.alts, func(a pattern) bool { return a.mayBeType(t, m) })
	case classObject:
		return t == protocol.TypeObject || t == protocol.TypeArray && !p.objectsOnly()
	}
	return false
}

func join(types []protocol.Type) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.String()
	}
	return strings.Join(names, " or ")
}
