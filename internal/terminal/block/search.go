package block

import (
	"fmt"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
)

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
