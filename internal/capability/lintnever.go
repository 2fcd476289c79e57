package capability

import (
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// never says why the capability cannot select any request that is possible,
// or returns "" if it can or it cannot be told.
func (c *Capability) never() string {
	if why := neverKind(&c.kind); why != "" {
		return why
	}
	if c.to != nil {
		if why := c.to.never("to", neverAddressee, c.deny); why != "" {
			return why
		}
	}
	if c.context != nil {
		if why := c.context.never("context", neverContext, c.deny); why != "" {
			return why
		}
	}
	if c.payload == nil {
		return ""
	}
	if why := c.payload.neverObject("payload", c.mode()); why != "" {
		return why
	}
	if kind, ok := c.kind.Literal(); ok {
		return neverFields(kind, c.payload, c.mode())
	}
	return ""
}

func neverKind(k *protocol.KindPattern) string {
	s := shapeOf(k)
	switch {
	case s.negate && s.class == kindEvery:
		return "it excludes every kind"
	case s.class == kindRegexp && !s.negate:
		source, _ := regexpSource(s.source)
		if !regexpReaches(source, isKindByte) {
			return fmt.Sprintf("no kind matches %s", k.String())
		}
	}
	return ""
}

func isKindByte(r rune) bool {
	return r < 0x80 && protocol.ValidID(string(r)) || r == '/'
}

// never says why no alternative can match.
func (t *target) never(name string, alt func(*text) bool, deny bool) string {
	for i := range t.alts {
		x := &t.alts[i]
		if x.negate && (deny || x.class != textAny) {
			return ""
		}
		if !x.negate && !alt(x) {
			return ""
		}
	}
	return fmt.Sprintf("no %s matches %s", name, t.source)
}

func neverAddressee(t *text) bool {
	switch t.class {
	case textExact:
		return !protocol.ValidParticipantID(t.exact)
	case textRegexp:
		return !regexpReaches(t.exact, func(r rune) bool {
			return r < 0x80 && protocol.ValidParticipantID(string(r))
		})
	}
	return false
}

func neverContext(t *text) bool {
	switch t.class {
	case textExact:
		_, ok := protocol.ParseContextPath(t.exact, protocol.MaxContextBytes)
		return !ok && t.exact != ""
	case textRegexp:
		return !regexpReaches(t.exact, isKindByte)
	}
	return false
}

// neverObject is never for a pattern that stands where an object is.
func (p *pattern) neverObject(at string, m mode) string {
	switch p.class {
	case classObject:
		return p.never(at, m)
	case classOneOf:
		return p.neverAlt(at, m, (*pattern).neverObject)
	case classAny:
		return ""
	case classText, classNone:
		if m.deny() && p.absent && (p.class == classText || p.scalars) {
			return ""
		}
	}
	return fmt.Sprintf("the %s is an object, which %s does not match", at, p.source)
}

// never says why no value can match.
func (p *pattern) never(at string, m mode) string {
	switch p.class {
	case classNone:
		if !m.deny() {
			return fmt.Sprintf("%s excludes every text, and nothing else matches a negation", at)
		}
	case classOneOf:
		return p.neverAlt(at, m, (*pattern).never)
	case classObject:
		for i := range p.fields {
			f := &p.fields[i]
			if why := f.value.never(at+"."+f.key.source, m); why != "" {
				return why
			}
		}
	}
	return ""
}

func (p *pattern) neverAlt(at string, m mode, never func(*pattern, string, mode) string) string {
	why := ""
	for i := range p.alts {
		if why = never(&p.alts[i], at, m); why == "" {
			return ""
		}
	}
	return why
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

// neverFields says which field of a known kind cannot have the type that the
// payload's pattern asks for.
func neverFields(kind protocol.Kind, p *pattern, m mode) string {
	types := fieldTypes[kind]
	for i := range p.fields {
		f := &p.fields[i]
		want, ok := types[f.key.name]
		if f.key.class != keyName || !ok || f.value.mayBe(want, m) {
			continue
		}
		return fmt.Sprintf("the %s of %s has type %s, which %s does not match", f.key.name, kind, join(want), f.value.source)
	}
	return ""
}

// mayBe reports whether the pattern can match a value of one of the types.
func (p *pattern) mayBe(types []protocol.Type, m mode) bool {
	for _, t := range types {
		if p.mayBeType(t, m) {
			return true
		}
	}
	return false
}

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
		for i := range p.alts {
			if t == protocol.TypeArray || p.alts[i].mayBeType(t, m) {
				return true
			}
		}
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
