package httpapi

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/search"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

// search returns the envelopes that a full-text query selects, the best first.
func (s *Server) search(w http.ResponseWriter, r *http.Request, v caller) {
	q, refused := searchQuery(r)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	if !v.hold.Grow(largePage) {
		access.WriteError(w, access.Busy())
		return
	}
	found, err := s.options.Search.Search(r.Context(), v.space, v.viewer(), q)
	if err != nil {
		var syntax search.SyntaxError
		var known *protocol.Error
		switch {
		case errors.As(err, &syntax):
			known = access.BadRequest(string(syntax))
		case errors.As(err, &known):
		default:
			if r.Context().Err() == nil {
				s.options.Logger.Warn("search", "space", v.space.Name(), "error", err)
			}
			known = protocol.Errorf(protocol.CodeUnavailable, "The search index cannot be read now; try again.")
		}
		access.WriteError(w, known)
		return
	}
	out := &api.SearchResult{
		Log: found.Log, Match: string(found.Match), Hits: []api.SearchHit{}, Next: found.Next, HasMore: found.Next != "",
		Partial: found.Partial || found.Position.Read < found.Head, Indexed: min(found.Position.Read, found.Head), Head: found.Head,
	}
	for _, h := range found.Hits {
		e := h.Envelope
		hit := api.SearchHit{
			Seq: e.Seq, ID: e.ID, TS: protocol.Time{Time: e.TS}, From: e.From, To: e.To, Kind: e.Kind, Context: e.Context, Score: h.Score,
			Snippet: api.Snippet{Path: h.Snippet.Path, Cut: h.Snippet.Cut, Parts: []api.SnippetPart{}},
		}
		for _, p := range h.Snippet.Parts {
			hit.Snippet.Parts = append(hit.Snippet.Parts, api.SnippetPart(p))
		}
		out.Hits = append(out.Hits, hit)
	}
	v.writeJSON(w, out)
}

func searchQuery(r *http.Request) (search.Query, *protocol.Error) {
	var q search.Query
	var filter space.HistoryQuery
	for name, values := range r.URL.Query() {
		value, ok := values[0], true
		switch name {
		case "q":
			q.Text = value
		case "match":
			q.Match = search.Match(value)
			ok = q.Match == search.MatchAll || q.Match == search.MatchAny || q.Match == search.MatchAuto
		case "since":
			q.Since, ok = moment(value)
		case "until":
			q.Until, ok = moment(value)
		case "cursor":
			q.Cursor = value
		default:
			if err := setPage(&filter, name, values); err != nil {
				return q, err
			}
		}
		if !ok {
			expected := "a time such as 2026-11-22T18:00:00Z"
			if name == "match" {
				expected = "all, any or auto"
			}
			return q, access.BadRequest("The parameter " + name + " cannot be " + strconv.Quote(value) + "; write " + expected + ".")
		}
	}
	q.Filter, q.Before, q.Limit = filter.Filter, filter.Before, filter.Limit
	return q, nil
}

// moment parses a time, or a day in UTC.
func moment(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
