package api

import "github.com/meup-protocol/meup/protocol"

// HookGates are the hook events of coding agents whose answer allows or denies a call:
// where such a hook fails, the call must not run.
var HookGates = []string{"PreToolUse", "PermissionRequest", "preToolUse", "beforeShellExecution", "beforeMCPExecution"}

// HookRealPaths is the field that `meup hooks send` adds to the event of a call: by the text
// of a path in the arguments, the path that it leads to by symbolic links.
const HookRealPaths = "meup_real_paths"

// HookStatusEvent is the event that asks what becomes of the calls of the participant. The answer is
// a HookStatus.
const HookStatusEvent = "meup_status"

// HookStatus is what becomes of the events of a coding agent. Gateways before it answer an empty one.
type HookStatus struct {
	Participant protocol.ParticipantID `json:"participant"`
	Paused      bool                   `json:"paused"` // each call is denied
	// Makes means that some calls are made by a capability that names the participant as their host,
	// Leaves that another capability leaves some to the agent's own rules, and Proposes that all
	// others are proposed; else they are denied.
	Makes    bool `json:"makes"`
	Leaves   bool `json:"leaves"`
	Proposes bool `json:"proposes"`
	// Lacks are kinds that the participant may not send, and that are therefore not in the space.
	Lacks []protocol.Kind `json:"lacks"`
}
