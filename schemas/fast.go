package schemas

import (
	"math/bits"

	"github.com/meup-protocol/meup/protocol"
)

// shape describes a kind for fastAccept: the fields in its schema, each with a
// check that is at least as strict.
type shape struct {
	fields []field
	all    []string // required
	any    []string // at least one is required
	one    []string // exactly one is required
}

type field struct {
	name string
	ok   func(protocol.Value) bool
}

// compiledShape holds the field lists of a shape as bit sets.
type compiledShape struct {
	fields        []field
	all, any, one uint16
}

func (s shape) compile() compiledShape {
	c := compiledShape{fields: s.fields}
	for i, f := range s.fields {
		bit := uint16(1) << i
		c.all |= bit * has(s.all, f.name)
		c.any |= bit * has(s.any, f.name)
		c.one |= bit * has(s.one, f.name)
	}
	return c
}

func has(list []string, name string) uint16 {
	for _, s := range list {
		if s == name {
			return 1
		}
	}
	return 0
}

// fastAccept reports true only if the payload certainly satisfies the schema of
// its kind. It does not allocate.
func fastAccept(kind protocol.Kind, payload protocol.Value) bool {
	s, ok := compiledShapes[kind]
	if !ok || payload.Type() != protocol.TypeObject {
		return false
	}
	var seen uint16
	for k, v := range payload.Members {
		name, plain := k.Plain()
		if !plain {
			return false // an escaped key may be any of the fields
		}
		for i := range s.fields {
			if f := &s.fields[i]; string(name) == f.name {
				if !f.ok(v) {
					return false
				}
				seen |= 1 << i
			}
		}
	}
	return seen&s.all == s.all &&
		(s.any == 0 || seen&s.any != 0) &&
		(s.one == 0 || bits.OnesCount16(seen&s.one) == 1)
}

// compiledShapes are the shapes of frequent kinds. For all others the schema is
// fast enough.
var compiledShapes = func() map[protocol.Kind]*compiledShape {
	m := make(map[protocol.Kind]*compiledShape, len(shapes))
	for kind, s := range shapes {
		c := s.compile()
		m[kind] = &c
	}
	return m
}()

var shapes = map[protocol.Kind]shape{
	protocol.KindChat: {
		fields: []field{{"message", text}, {"text", text}, {"format", format}},
		any:    []string{"message", "text"},
	},
	protocol.KindChatAcknowledge: {fields: []field{{"reason", text}}},
	protocol.KindChatCancel:      {fields: []field{{"reason", text}}},

	protocol.KindMCPRequest: {
		fields: []field{{"method", filled}, {"params", params}, {"id", idNumber}, {"edited", boolean}},
		all:    []string{"method"},
	},
	protocol.KindMCPProposal: {
		fields: []field{{"method", filled}, {"params", params}, {"id", idNumber}, {"participant_id", participantID}, {"expires_at", timestamp}},
		all:    []string{"method"},
	},
	protocol.KindMCPResponse: {
		fields: []field{{"result", anything}, {"error", rpcError}, {"id", idOrNull}},
		one:    []string{"result", "error"},
	},
	protocol.KindMCPWithdraw: {fields: []field{{"reason", text}}, all: []string{"reason"}},
	protocol.KindMCPReject:   {fields: []field{{"reason", text}}, all: []string{"reason"}},

	protocol.KindReasoningStart: {
		fields: []field{{"message", text}, {"references", ids}, {"metadata", metadata}, {"participant_id", participantID}},
	},
	protocol.KindReasoningThought: {
		fields: []field{{"message", text}, {"content", text}, {"tool_name", text}, {"parallel_group", count}},
		any:    []string{"message", "content"},
	},
	protocol.KindReasoningObservation: richStep,
	protocol.KindReasoningHypothesis:  richStep,
	protocol.KindReasoningQuestion:    richStep,
	protocol.KindReasoningConclusion: {
		fields: []field{{"message", text}, {"confidence", fraction}, {"key_factors", array}, {"recommendation", text}},
	},
	protocol.KindReasoningCancel: {fields: []field{{"reason", text}}},

	protocol.KindStreamData: {
		fields: []field{{"stream_id", filled}, {"data", text}, {"content_type", text}},
		all:    []string{"stream_id", "data"},
	},
	protocol.KindParticipantStatus: {},
}

var richStep = shape{
	fields: []field{
		{"message", text}, {"content", text}, {"hypothesis", text}, {"questions", questions},
		{"confidence", fraction}, {"severity", text},
	},
	any: []string{"message", "content", "hypothesis", "questions"},
}
