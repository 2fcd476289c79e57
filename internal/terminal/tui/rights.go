package tui

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// describeCapabilities describes capabilities as text.
func describeCapabilities(list []json.RawMessage) []string {
	var out []string
	for _, raw := range list {
		out = append(out, describeCapability(raw))
	}
	if len(out) == 0 {
		return []string{"nothing"}
	}
	return out
}

// maxRight bounds the description of one capability, in bytes.
const maxRight = 300

func describeCapability(raw json.RawMessage) string {
	var kind string
	if json.Unmarshal(raw, &kind) == nil {
		return describeKind(kind)
	}
	var object struct {
		Kind    string          `json:"kind"`
		Payload json.RawMessage `json:"payload"`
		To      json.RawMessage `json:"to"`
		Context json.RawMessage `json:"context"`
		Deny    bool            `json:"deny"`
	}
	if json.Unmarshal(raw, &object) != nil {
		return termsafe.Exact(textutil.Shorten(string(raw), maxRight))
	}
	words := describeKind(object.Kind)
	if tool := toolPattern(object.Payload); tool != "" {
		words = "call tools: " + tool
	} else if len(object.Payload) > 0 {
		words += " where the payload is " + compact(object.Payload)
	}
	if len(object.To) > 0 {
		words += ", addressed to " + compact(object.To)
	}
	if len(object.Context) > 0 {
		words += ", in the context " + compact(object.Context)
	}
	if object.Deny {
		words = "never: " + words
	}
	return words
}

// kindDescriptions holds the descriptions of common kind patterns.
var kindDescriptions = map[string]string{
	"*":    "everything",
	"chat": "talk", "chat/*": "acknowledge and cancel messages",
	"reasoning/*": "reason", "reasoning/step": "think within contexts", "reasoning/cancel": "cancel reasoning",
	"mcp/*": "call, answer and propose anything", "mcp/request": "call any tool", "mcp/response": "answer calls",
	"mcp/proposal": "propose calls", "mcp/withdraw": "withdraw proposals", "mcp/reject": "reject proposals",
	"stream/*": "stream", "observe": "see what is addressed to others",
	"capability/*": "give and take rights", "capability/grant": "give rights", "capability/revoke": "take rights",
	"space/*": "invite and remove", "space/invite": "invite", "space/kick": "remove participants",
	"participant/*": "pause and steer participants", "participant/status": "tell its status",
	"participant/pause": "pause participants", "participant/resume": "resume participants", "participant/request-status": "ask participants for their status",
	"participant/restart": "restart participants", "participant/shutdown": "shut participants down",
}

func describeKind(kind string) string {
	if words := kindDescriptions[strings.Replace(kind, ".", "/", 1)]; words != "" {
		return words
	}
	return "send " + termsafe.Exact(textutil.Shorten(kind, maxRight))
}

// toolPattern returns the tools that a payload pattern selects, if it
// constrains only their names.
func toolPattern(payload json.RawMessage) string {
	var p struct {
		Method string `json:"method"`
		Params map[string]json.RawMessage
	}
	if json.Unmarshal(payload, &p) != nil || p.Method != "tools/call" && p.Method != "" || len(p.Params) != 1 {
		return ""
	}
	return compact(p.Params["name"])
}

// compact formats a pattern briefly: strings without quotes, lists with commas.
func compact(raw json.RawMessage) string {
	var one string
	var list []string
	switch {
	case json.Unmarshal(raw, &one) == nil:
		return termsafe.Exact(textutil.Shorten(one, maxRight))
	case json.Unmarshal(raw, &list) == nil:
		return termsafe.Exact(textutil.Shorten(strings.Join(list, ", "), maxRight))
	}
	return termsafe.Exact(textutil.Shorten(string(raw), maxRight))
}

// formatTTL formats a duration.
func formatTTL(d time.Duration) string {
	s := int((d + time.Second - 1) / time.Second)
	switch {
	case s < 60:
		return textutil.Count(s, "second")
	case s < 3600 && s%60 == 0:
		return textutil.Count(s/60, "minute")
	case s < 3600:
		return textutil.Count(s/60, "minute") + " " + textutil.Count(s%60, "second")
	case s%3600 == 0:
		return textutil.Count(s/3600, "hour")
	}
	return textutil.Count(s/3600, "hour") + " " + textutil.Count(s%3600/60, "minute")
}

// listParticipants lists the connected participants and their capabilities.
func (m *model) listParticipants(e peopleRead) {
	if e.err != nil {
		m.printLines(errorBlock, "The participants cannot be read: "+errorText(e.err))
		return
	}
	lines := []string{"Here are:"}
	for _, one := range e.here {
		you := ""
		if one.ID == m.you {
			you = " (you)"
		}
		lines = append(lines, fmt.Sprintf("  %s%s may: %s", shortName(one.ID), you, strings.Join(describeCapabilities(one.Capabilities), "; ")))
	}
	m.printLines(noticeBlock, lines...)
}

// maxName bounds a displayed name, in characters.
const maxName = 40

// shortName returns a participant's name as it is displayed.
func shortName(id protocol.ParticipantID) string {
	name := termsafe.Line(string(id))
	if r := []rune(name); len(r) > maxName { // both ends, since many names share one
		return string(r[:maxName-12]) + "…" + string(r[len(r)-11:])
	}
	return name
}
