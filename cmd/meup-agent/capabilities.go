package main

import (
	"encoding/json"
	"log/slog"

	"github.com/meup-protocol/meup/internal/participant"
	"github.com/meup-protocol/meup/protocol"
)

// need is a capability that a program uses, and the function that is
// unavailable without it.
type need struct {
	capability string
	kinds      []protocol.Kind // which the capability has to allow
	without    string
}

var agentNeeds = []need{
	{"chat", []protocol.Kind{protocol.KindChat}, "questions are not answered"},
	{"reasoning/*", []protocol.Kind{
		protocol.KindReasoningStart, protocol.KindReasoningThought, protocol.KindReasoningConclusion, protocol.KindReasoningCancel,
	}, "questions are given up"},
	{"mcp.request", []protocol.Kind{protocol.KindMCPRequest}, "no tool can be called"},
	{"mcp.response", []protocol.Kind{protocol.KindMCPResponse}, "results of its own tools are not shared"},
	{"stream/*", []protocol.Kind{protocol.KindStreamOpen, protocol.KindStreamData, protocol.KindStreamClose}, "thoughts are not sent while they grow"},
	{"participant.status", []protocol.Kind{protocol.KindParticipantStatus}, "requests for its status are not answered"},
	{"participant.compact-done", []protocol.Kind{protocol.KindParticipantCompactDone}, "requests to compact are not answered"},
}

// proposalNeeds are the needs of an agent that proposes calls.
var proposalNeeds = []need{
	{"mcp.proposal", []protocol.Kind{protocol.KindMCPProposal}, "calls that it may not make are given up instead of proposed"},
	{"mcp.withdraw", []protocol.Kind{protocol.KindMCPWithdraw}, "proposals stay open after it has given up"},
}

var bridgeNeeds = []need{
	{"mcp.response", []protocol.Kind{protocol.KindMCPResponse}, "requests are not answered"},
	{"mcp.request", []protocol.Kind{protocol.KindMCPRequest}, "notifications of the server are not passed on"},
	{"participant.status", []protocol.Kind{protocol.KindParticipantStatus}, "requests for its status are not answered"},
}

// pinNeeds are the needs of a bridge that pins tools.
var pinNeeds = []need{
	{"capability.grant to itself", []protocol.Kind{protocol.KindCapabilityGrant}, "tools are not pinned: a server can change them unseen"},
	{"mcp.proposal", []protocol.Kind{protocol.KindMCPProposal}, "changed tools stay held back until a participant sends tools/accept"},
}

// warnMissing logs the needed capabilities that a participant lacks. A
// capability with conditions counts as held.
func warnMissing(log *slog.Logger, held []json.RawMessage, needs ...need) {
	for _, n := range needs {
		for _, kind := range n.kinds {
			if !participant.MayAllow(held, kind) {
				log.Warn("capability missing", "capability", n.capability, "without", n.without)
				break
			}
		}
	}
}
