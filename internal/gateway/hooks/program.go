package hooks

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// Programs are the agents whose hooks are known.
var Programs = []string{"claude", "codex", "cursor"}

// program describes the hooks of an agent: its events, the names of their fields,
// and the form of its answers.
type program struct {
	events map[string]handler // by the name of the event
	fields fields
	// asks is set if PreToolUse can be answered by ask, so that the agent asks its
	// user. Without it, PreToolUse waits for the decision of the space, and the
	// request for permission that may follow gets the same answer.
	asks bool
	// edits is set if the answer to a request for permission can have other
	// arguments.
	edits bool
	// userWaits is set if the agent asks its user only after the hook has ended, so
	// a request for permission waits for a shorter time by default.
	userWaits bool
	// detached is set if subagents work on after the end of a turn.
	detached bool

	complete func(*event)             // sets the parts of an event that have other forms; nil: none
	subject  func(*event) []byte      // identifies the arguments of a call; nil: all of them
	encode   func(*event, answer) any // returns the body of an answer
}

// permissionRequest is the event that asks for a permission after the one before the call.
const permissionRequest = "PermissionRequest"

// fields are the names of fields that differ between agents.
type fields struct{ session, prompt, agent, response, failure string }

var programs = map[string]*program{
	"claude": {
		events: map[string]handler{
			"PreToolUse":         (*hook).beforeTool,
			permissionRequest:    (*hook).permissionRequest,
			"Stop":               (*hook).stop,
			"UserPromptSubmit":   (*hook).promptAnswered,
			"MessageDisplay":     withoutAnswer((*hook).messageDisplayed),
			"PostToolUse":        withoutAnswer((*hook).afterTool),
			"PostToolUseFailure": withoutAnswer((*hook).toolFailed),
			"PermissionDenied":   withoutAnswer((*hook).toolDenied),
			"SubagentStart":      withoutAnswer((*hook).subagentStarted),
			"SubagentStop":       withoutAnswer((*hook).subagentStopped),
			"StopFailure":        withoutAnswer((*hook).stopFailed),
			"SessionEnd":         withoutAnswer((*hook).sessionEnded),
		},
		fields: fields{"session_id", "prompt_id", "agent_id", "tool_response", "error"},
		asks:   true, edits: true, detached: true,
		encode: func(_ *event, a answer) any { return a },
	},
	"codex": {
		events: map[string]handler{
			"PreToolUse":       (*hook).beforeTool,
			permissionRequest:  (*hook).permissionRequest,
			"Stop":             (*hook).stop,
			"UserPromptSubmit": (*hook).promptAnswered,
			"PostToolUse":      withoutAnswer((*hook).afterTool),
			"SubagentStart":    withoutAnswer((*hook).subagentStarted),
			"SubagentStop":     withoutAnswer((*hook).subagentStopped),
			"Interrupt":        withoutAnswer((*hook).interrupted),
			"SessionEnd":       withoutAnswer((*hook).sessionEnded),
		},
		fields:    fields{"session_id", "turn_id", "agent_id", "tool_response", "error"},
		userWaits: true, detached: true,
		subject: codexSubject, encode: codexAnswer,
	},
	"cursor": {
		events: map[string]handler{
			"preToolUse":           (*hook).beforeTool,
			"beforeShellExecution": (*hook).beforeTool,
			"beforeMCPExecution":   (*hook).beforeTool,
			"stop":                 (*hook).stopWithStatus,
			"beforeSubmitPrompt":   (*hook).promptAnswered,
			"afterAgentThought":    withoutAnswer((*hook).thoughtEnded),
			"afterAgentResponse":   withoutAnswer((*hook).responseEnded),
			"postToolUse":          withoutAnswer((*hook).afterTool),
			"postToolUseFailure":   withoutAnswer((*hook).toolFailed),
			"afterShellExecution":  withoutAnswer((*hook).afterTool),
			"afterMCPExecution":    withoutAnswer((*hook).afterTool),
			"afterFileEdit":        withoutAnswer((*hook).fileEdited),
			"subagentStart":        withoutAnswer((*hook).subagentStarted),
			"subagentStop":         withoutAnswer((*hook).subagentStopped),
			"sessionEnd":           withoutAnswer((*hook).sessionEnded),
		},
		fields:   fields{"conversation_id", "generation_id", "", "tool_output", "error_message"},
		complete: completeCursor, encode: cursorAnswer,
	},
}

// networkAccess begins the description of Codex's requests for access to a host.
const networkAccess = "network-access "

// codexSubject leaves out the description that Codex adds to the arguments of a
// command when it asks for a permission. A request for access to a host has the
// arguments of the command that needs it, and is about something else.
func codexSubject(e *event) []byte {
	in := e.args
	if command := in.Get("command"); (e.tool == "Bash" || e.tool == "apply_patch") && !strings.HasPrefix(in.Get("description").Text(), networkAccess) {
		in = command
	}
	return in.AppendCanonical(nil)
}

// codexAnswer leaves out the decisions that Codex does not support: an answer with
// one of them is an error to it. A call that is not denied is allowed.
func codexAnswer(_ *event, a answer) any {
	if s := a.Specific; s != nil && s.Granted == nil && s.Decision != "deny" && s.Input == nil {
		return answer{}
	}
	return a
}

// cursorReply is the answer to a hook of Cursor.
type cursorReply struct {
	Continue     bool            `json:"continue,omitempty"`         // to beforeSubmitPrompt
	Permission   string          `json:"permission,omitempty"`       // allow or deny
	UserMessage  string          `json:"user_message,omitempty"`     // the user sees it
	AgentMessage string          `json:"agent_message,omitempty"`    // the model sees it
	Input        json.RawMessage `json:"updated_input,omitempty"`    // of preToolUse
	Followup     string          `json:"followup_message,omitempty"` // to stop: the next prompt
}

func cursorAnswer(e *event, a answer) any {
	out := cursorReply{Continue: e.name == "beforeSubmitPrompt", UserMessage: a.Warning}
	if a.Decision == "block" {
		out.Followup = a.Reason
	}
	if s := a.Specific; s != nil && s.Decision != "" {
		out.Permission, out.Input = s.Decision, s.Input
		if s.Decision == "deny" {
			out.UserMessage, out.AgentMessage = s.Reason, s.Reason
		}
	}
	return out
}

// completeCursor sets the call and the subagent of Cursor's events. Events of the
// shell and of MCP have no id of the call, and their arguments are in other fields.
func completeCursor(e *event) {
	switch e.name {
	case "beforeShellExecution", "afterShellExecution":
		e.tool, e.response = "Shell", e.body.Get("output")
		if e.body.Get("command").Type() != protocol.TypeString {
			e.unread = errCommand
		}
		e.args, _ = embedded(object("command", e.text("command"))) // it has one member
	case "beforeMCPExecution", "afterMCPExecution":
		if e.args.Type() == protocol.TypeString {
			if in, err := embedded([]byte(e.args.Text())); err != nil {
				e.unread = fmt.Errorf("tool_input: %w", err)
			} else {
				e.args = in
			}
		}
		e.response = embeddedOr(e.body.Get("result_json"))
	case "subagentStart", "subagentStop": // the end has no id
		sum := sha256.Sum256([]byte(e.text("task")))
		e.agent, e.agentType = hex.EncodeToString(sum[:16]), short(e.text("subagent_type"), maxName)
	default:
		e.response = embeddedOr(e.response)
	}
}

// embedded parses JSON within a text.
func embedded(text []byte) (protocol.Value, error) {
	doc, err := protocol.ParseForeignJSON(text, protocol.MaxDepth)
	if err != nil {
		return protocol.Value{}, err
	}
	return doc.Root(), nil
}

// embeddedOr returns the object or the list in a text; else the text.
func embeddedOr(v protocol.Value) protocol.Value {
	if v.Type() != protocol.TypeString {
		return v
	}
	in, _ := embedded([]byte(v.Text())) // no value if it is no JSON
	if t := in.Type(); t == protocol.TypeObject || t == protocol.TypeArray {
		return in
	}
	return v
}
