package block

import (
	"fmt"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// maxSummary bounds the displayed text of an envelope other than a chat, in
// characters.
const maxSummary = 500

// Summary describes an envelope on one line. The text of a chat is not cut.
func Summary(e *protocol.Envelope) string {
	doc, err := protocol.ParseJSON(e.Payload, maxDepth)
	if err != nil {
		return ""
	}
	text := termsafe.Words(about(e.Kind, doc.Root()))
	if e.Kind == protocol.KindChat {
		return text
	}
	return termsafe.Cut(text, maxSummary)
}

// about selects the text of a payload by its kind.
func about(kind protocol.Kind, p protocol.Value) string {
	switch kind {
	case protocol.KindMCPRequest, protocol.KindMCPProposal:
		return Call(p)
	case protocol.KindMCPResponse:
		text, failed := Result(p)
		if failed {
			return "failed: " + text
		}
		return text
	case protocol.KindFeedback:
		return Feedback(p.Get("value").Text(), p.Get("note").Text())
	case protocol.KindSystemPresence:
		return p.Get("participant").Get("id").Text() + " " + presence[p.Get("event").Text()]
	case protocol.KindStreamData:
		return p.Get("data").Text()
	}
	var parts []string
	for _, name := range []string{"message", "content", "hypothesis", "decision", "recommendation", "reason"} {
		if s := p.Get(name).Text(); s != "" && (len(parts) == 0 || parts[len(parts)-1] != s) {
			parts = append(parts, s)
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, " · ")
	}
	if p.Len() == 0 {
		return ""
	}
	return JSON(p.Raw())
}

// Feedback describes a feedback: its value, and the note.
func Feedback(value, note string) string {
	if value == protocol.FeedbackNone {
		value = "taken back"
	}
	if note == "" {
		return value
	}
	return value + ": " + note
}

var presence = map[string]string{protocol.PresenceJoin: "joined", protocol.PresenceLeave: "left"}

// Call describes a request or a proposal: the tool and its arguments, or the
// method and its parameters.
func Call(p protocol.Value) string {
	params := p.Get("params")
	name, arguments := p.Get("method").Text(), params
	if tool := params.Get("name").Text(); name == "tools/call" && tool != "" {
		name, arguments = tool, params.Get("arguments")
	}
	if arguments.Len() == 0 {
		return name
	}
	return name + " " + JSON(arguments.Raw())
}

// Result returns the text of the response to a request, and whether the call failed.
// A result without texts is JSON.
func Result(p protocol.Value) (text string, failed bool) {
	if fault := p.Get("error"); fault.Exists() {
		return fault.Get("message").Text(), true
	}
	r := p.Get("result")
	if !r.Exists() {
		return "", false
	}
	var texts []string
	for item := range r.Get("content").Elements {
		if s := item.Get("text").Text(); s != "" {
			texts = append(texts, s)
		}
	}
	failed = r.Get("isError").Bool()
	if len(texts) == 0 {
		return JSON(r.Raw()), failed
	}
	return strings.Join(texts, "\n"), failed
}

// Hit formats a hit of a search on one line: the time, the sender, the kind, the
// context, and the text around the first match.
func Hit(h *api.SearchHit, zone *time.Location, s Style) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s", s.Paint(s.Dim, h.TS.In(zone).Format(time.DateTime)),
		s.Paint(s.Name, termsafe.Words(string(h.From))), s.Paint(s.Tool, termsafe.Words(string(h.Kind))))
	if h.Context != "" {
		fmt.Fprintf(&b, "  %s", s.Paint(s.Dim, "["+termsafe.Words(string(h.Context))+"]"))
	}
	b.WriteString("  ")
	for i, p := range h.Snippet.Parts {
		text := termsafe.Line(p.Text)
		if i == 0 {
			text = strings.TrimLeft(text, " ")
		}
		if p.Match {
			text = s.Paint(s.Bad, text)
		}
		b.WriteString(text)
	}
	if h.Snippet.Cut {
		b.WriteString(s.Paint(s.Dim, " …"))
	}
	return b.String()
}

// SearchNote describes the results after the last page that was requested, without
// a period: that there are none, or that there may be more. It is empty if neither
// applies.
func SearchNote(r *api.SearchResult, query string, found int) string {
	switch {
	case r.Indexed < r.Head:
		return "the newest envelopes are not indexed yet; search again in a moment"
	case r.Partial:
		return "there may be more results; add words or filters"
	case found == 0:
		return "no results for “" + termsafe.Cut(termsafe.Words(query), 60) + "”"
	}
	return ""
}
