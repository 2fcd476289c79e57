package main

import (
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/protocol"
)

// agentNeeds are the needs of the agent in addition to the needs of any program that answers questions.
var agentNeeds = append([]participant.Need{
	{Capability: "mcp.request", Kinds: []protocol.Kind{protocol.KindMCPRequest}, Without: "no tool can be called"},
	{Capability: "stream/*", Kinds: []protocol.Kind{protocol.KindStreamOpen, protocol.KindStreamData, protocol.KindStreamClose}, Without: "thoughts are not sent while they grow"},
	{Capability: "participant.compact-done", Kinds: []protocol.Kind{protocol.KindParticipantCompactDone}, Without: "requests to compact are not answered"},
}, participant.QuestionNeeds...)

// proposalNeeds are the needs of an agent that proposes calls.
var proposalNeeds = []participant.Need{
	{Capability: "mcp.proposal", Kinds: []protocol.Kind{protocol.KindMCPProposal}, Without: "calls that it may not make are given up instead of proposed"},
	{Capability: "mcp.withdraw", Kinds: []protocol.Kind{protocol.KindMCPWithdraw}, Without: "proposals stay open after it has given up"},
}

// pinNeeds are the needs of a bridge that pins tools.
var pinNeeds = []participant.Need{
	{Capability: "capability.grant to itself", Kinds: []protocol.Kind{protocol.KindCapabilityGrant}, Without: "tools are not pinned: a server can change them unseen"},
	{Capability: "mcp.proposal", Kinds: []protocol.Kind{protocol.KindMCPProposal}, Without: "changed tools stay held back until a participant sends tools/accept"},
}
