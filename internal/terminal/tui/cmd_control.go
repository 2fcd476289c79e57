package tui

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// controlPayload is the payload of a request to a participant, with the field
// names that clients of MEW use.
type controlPayload struct {
	Seconds   int64  `json:"timeout_seconds,omitempty"`
	Direction string `json:"direction,omitempty"`
	Entries   int    `json:"entries,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// controls returns the command for a kind whose payload has only a reason.
func controls(kind protocol.Kind) func(*model, string) {
	return func(m *model, args string) {
		who, reason, _ := strings.Cut(args, " ")
		m.control(kind, who, controlPayload{Reason: strings.TrimSpace(reason)})
	}
}

// control sends a request to one participant.
func (m *model) control(kind protocol.Kind, who string, p controlPayload) {
	who = strings.TrimPrefix(who, "@")
	_, verb := kind.Split()
	if !protocol.ValidParticipantID(who) {
		m.printLines(errorBlock, fmt.Sprintf("Name a participant: /%s WHO. /who lists them.", strings.TrimPrefix(verb, "request-")))
		return
	}
	raw, err := json.Marshal(p)
	if err != nil {
		m.printLines(errorBlock, "Not sent: "+errorText(err))
		return
	}
	to := []protocol.ParticipantID{protocol.ParticipantID(who)}
	m.ask("The request to "+who, protocol.Envelope{Kind: kind, To: to, Payload: raw}, nil)
}

// pause stops a participant: /pause WHO [TIME] [REASON].
func (m *model) pause(args string) {
	who, rest, _ := strings.Cut(args, " ")
	p := controlPayload{Reason: strings.TrimSpace(rest)}
	first, reason, _ := strings.Cut(p.Reason, " ")
	if d, ok := lifetime(first); ok {
		p.Seconds, p.Reason = int64(d/time.Second), strings.TrimSpace(reason)
	}
	m.control(protocol.KindParticipantPause, who, p)
}

// forget drops a part of a participant's memory: /forget WHO [newest] [N].
func (m *model) forget(args string) {
	p := controlPayload{Direction: "oldest"}
	words := strings.Fields(args)
	for _, word := range words[min(1, len(words)):] {
		n, err := strconv.Atoi(word)
		switch {
		case word == "oldest" || word == "newest":
			p.Direction = word
		case err == nil && n > 0:
			p.Entries = n
		default:
			m.printLines(errorBlock, "Give a number of entries, and newest to begin with the newest: /forget WHO [newest] [N].")
			return
		}
	}
	who, _, _ := strings.Cut(args, " ")
	m.control(protocol.KindParticipantForget, who, p)
}

// controlNotices holds the notices of requests to participants.
var controlNotices = map[protocol.Kind]string{
	protocol.KindParticipantPause:    "pauses %s",
	protocol.KindParticipantResume:   "resumes %s",
	protocol.KindParticipantForget:   "asks %s to forget a part of its memory",
	protocol.KindParticipantCompact:  "asks %s to compact its memory",
	protocol.KindParticipantClear:    "asks %s to clear its memory",
	protocol.KindParticipantRestart:  "asks %s to restart",
	protocol.KindParticipantShutdown: "asks %s to shut down",
}

// showControl shows a request to participants.
func (m *model) showControl(env *protocol.Envelope) {
	p := payload[controlPayload](env)
	who, during := names(env.To), ""
	if who == "" {
		who = "everyone"
	}
	if p.Seconds > 0 && env.Kind == protocol.KindParticipantPause {
		during = " for " + formatTTL(time.Duration(p.Seconds)*time.Second)
	}
	m.printLines(noticeBlock, string(env.From)+" "+fmt.Sprintf(controlNotices[env.Kind], who)+during+because(p.Reason)+".")
}

// maxStatusFields bounds the fields of a status that are shown.
const maxStatusFields = 20

// showStatus shows a participant's response to a status request of this one.
func (m *model) showStatus(env *protocol.Envelope) {
	if !slices.Contains(env.To, m.you) {
		return
	}
	fields := payload[map[string]json.RawMessage](env)
	var list []string
	if status := compact(fields["status"]); status != "" {
		list = append(list, status)
	} else if env.Kind == protocol.KindParticipantCompactDone {
		list = append(list, "compacted")
	}
	delete(fields, "status")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := compact(fields[name])
		if value == "" || value == "false" || value == "null" || len(list) > maxStatusFields {
			continue
		}
		list = append(list, termsafe.Exact(textutil.Shorten(strings.ReplaceAll(name, "_", " "), maxRight))+" "+value)
	}
	if len(list) == 0 {
		list = []string{"no status"}
	}
	m.printLines(noticeBlock, string(env.From)+": "+strings.Join(list, "; ")+".")
}
