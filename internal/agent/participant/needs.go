package participant

import (
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/meup-protocol/meup/protocol"
)

// Need is a capability that a program uses, and the effect without it.
type Need struct {
	Capability string
	Kinds      []protocol.Kind // that the capability has to allow
	Without    string
}

// QuestionNeeds are the needs of a program that answers questions.
var QuestionNeeds = []Need{
	{"chat", []protocol.Kind{protocol.KindChat}, "questions are not answered"},
	{"reasoning/*", []protocol.Kind{
		protocol.KindReasoningStart, protocol.KindReasoningThought, protocol.KindReasoningConclusion, protocol.KindReasoningCancel,
	}, "questions are given up"},
	{"mcp.response", []protocol.Kind{protocol.KindMCPResponse}, "requests are not answered, and results of its own tools are not shared"},
	{"participant.status", []protocol.Kind{protocol.KindParticipantStatus},
		"requests for its status are not answered, and no other process with its token takes over the questions of one that ended"},
}

// HostNeeds are the needs of a program that serves tools.
var HostNeeds = []Need{
	{"mcp.response", []protocol.Kind{protocol.KindMCPResponse}, "requests are not answered"},
	{"mcp.request", []protocol.Kind{protocol.KindMCPRequest}, "notifications and questions of the server are not passed on"},
	{"participant.status", []protocol.Kind{protocol.KindParticipantStatus},
		"requests for its status are not answered, and calls that it missed may not be made at the next start"},
}

// WarnMissing logs each needed capability that a participant lacks, once. A
// capability with conditions counts as held.
func WarnMissing(log *slog.Logger, held []json.RawMessage, needs ...Need) {
	warned := make(map[string]bool)
	for _, n := range needs {
		lacks := slices.ContainsFunc(n.Kinds, func(kind protocol.Kind) bool { return !MayAllow(held, kind) })
		if lacks && !warned[n.Capability] {
			warned[n.Capability] = true
			log.Warn("capability missing", "capability", n.Capability, "without", n.Without)
		}
	}
}

// WarnUnrestricted logs a participant that holds every capability, that is * without a
// condition and without a denial beside it, such as a person whose token was given to a
// program: the gateway allows all of its calls, so none is proposed.
func WarnUnrestricted(log *slog.Logger, you protocol.You) {
	unrestricted := false
	for _, raw := range you.Capabilities {
		c, ok := parse(raw)
		if !ok || c.Deny {
			return
		}
		unrestricted = unrestricted || (c.Kind == "*" || c.Kind == "**") && c.Payload == nil && c.To == nil && c.Context == nil
	}
	if unrestricted {
		log.Warn("the participant may do everything without approval; if this is the token of a person, use one with only the capabilities that the program needs",
			"participant", you.ID, "capability", "*")
	}
}
