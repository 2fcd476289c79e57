package httpapi

import (
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/internal/access"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

// history answers with a part of the log, as one object or as JSON Lines.
func (s *Server) history(w http.ResponseWriter, r *http.Request, v visitor) {
	q, refused := historyQuery(r)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	page, refused := v.space.History(r.Context(), v.id, q)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	if wantsLines(r) {
		writeLines(w, page)
		return
	}
	body := append(protocol.AppendString([]byte(`{"log":`), page.Log), `,"envelopes":[`...)
	for i, e := range page.Entries {
		if i > 0 {
			body = append(body, ',')
		}
		body = protocol.AppendEnvelope(body, protocol.MEUP1, e.Envelope)
	}
	body = append(body, `],"next":`...)
	body = strconv.AppendUint(body, uint64(page.Next), 10)
	body = append(body, `,"has_more":`...)
	body = strconv.AppendBool(body, page.HasMore)
	body = append(body, "}\n"...)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body) // the peer may be gone
}

// envelope answers with one envelope of the log.
func (s *Server) envelope(w http.ResponseWriter, r *http.Request, v visitor) {
	e, refused := v.space.Envelope(r.Context(), v.id, protocol.ID(r.PathValue("id")))
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	writeBody(w, http.StatusOK, append(protocol.AppendEnvelope(nil, protocol.MEUP1, e.Envelope), '\n'))
}

func wantsLines(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/jsonl") || strings.Contains(accept, "application/x-ndjson")
}

// writeLines writes one envelope a line; where the next page begins is in the
// headers.
func writeLines(w http.ResponseWriter, page *space.Page) {
	h := w.Header()
	h.Set("Content-Type", "application/jsonl; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Meup-Log", page.Log)
	h.Set("Meup-Next", page.Next.String())
	h.Set("Meup-Has-More", strconv.FormatBool(page.HasMore))
	var line []byte
	for _, e := range page.Entries {
		line = append(protocol.OneLine(protocol.AppendEnvelope(line[:0], protocol.MEUP1, e.Envelope)), '\n')
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

func historyQuery(r *http.Request) (space.HistoryQuery, *protocol.Error) {
	var q space.HistoryQuery
	for name, values := range r.URL.Query() {
		if err := setHistory(&q, name, values); err != nil {
			return q, err
		}
	}
	if c := q.Filter.Contexts; len(c) == 1 {
		q.Context = protocol.ContextPath(c[0]) // the log has an index for one
	}
	return q, nil
}

func setHistory(q *space.HistoryQuery, name string, values []string) *protocol.Error {
	value, ok := values[0], true
	switch name {
	case "since":
		q.Since, ok = seq(value)
	case "before":
		q.Before, ok = seq(value)
	case "log":
		q.Log = value
	case "limit":
		n, err := strconv.Atoi(value)
		q.Limit, ok = n, err == nil && n > 0
	case "order":
		q.Backwards, ok = value == "desc", value == "asc" || value == "desc"
	case "main":
		var main bool
		if main, ok = access.Boolean(value); main {
			q.Filter.Contexts = append(q.Filter.Contexts, "")
		}
	case "context":
		return setContext(q, access.List(values))
	case "kinds":
		q.Filter.Kinds = access.List(values)
	case "from":
		for _, id := range access.List(values) {
			q.Filter.From = append(q.Filter.From, protocol.ParticipantID(id))
		}
	}
	if !ok {
		return access.BadRequest("The parameter " + name + " cannot be " + strconv.Quote(value) + ".")
	}
	return nil
}

func setContext(q *space.HistoryQuery, paths []string) *protocol.Error {
	for _, p := range paths {
		if _, ok := protocol.ParseContextPath(p, protocol.MaxContextBytes); !ok {
			return protocol.Errorf(protocol.CodeInvalidContext, "%s is not a context path.", strconv.Quote(p))
		}
	}
	q.Filter.Contexts = append(q.Filter.Contexts, paths...)
	return nil
}

func seq(s string) (protocol.Seq, bool) {
	n, err := protocol.ParseSeq(s)
	return n, err == nil
}

// contexts answers with the tree of contexts, or with the part of it below a
// path.
func (s *Server) contexts(w http.ResponseWriter, r *http.Request, v visitor) {
	if r.PathValue("path") == "" {
		writeJSON(w, http.StatusOK, map[string]any{"contexts": v.space.Contexts(v.id, "")})
		return
	}
	prefix, ok := protocol.ParseContextPath(r.PathValue("path"), protocol.MaxContextBytes)
	if !ok {
		access.WriteError(w, protocol.Errorf(protocol.CodeInvalidContext, "%s is not a context path.", strconv.Quote(r.PathValue("path"))))
		return
	}
	for _, c := range v.space.Contexts(v.id, prefix) {
		if c.Path == prefix {
			writeJSON(w, http.StatusOK, c)
			return
		}
	}
	access.WriteError(w, protocol.Errorf(protocol.CodeNotFound, "This space has no context %s.", prefix))
}

func (s *Server) participants(w http.ResponseWriter, _ *http.Request, v visitor) {
	writeJSON(w, http.StatusOK, map[string]any{"participants": v.space.Participants()})
}

// spaceInfo is what the list of spaces says of each.
type spaceInfo struct {
	Name string       `json:"name"`
	Seq  protocol.Seq `json:"seq"` // the head of its log
}

// spaces lists the spaces that the token is good for. Those of a glob are
// listed once they exist.
func (s *Server) spaces(w http.ResponseWriter, r *http.Request) {
	token, _, err := access.Token(r)
	if err != nil {
		access.WriteError(w, protocol.Errorf(protocol.CodeUnauthorized, "Send a token: Authorization: Bearer TOKEN."))
		return
	}
	patterns, refused := s.options.Door.SpacesOf(r.Context(), access.Address(r), token, s.options.Spaces)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	existing, err := s.options.Journal.Spaces(r.Context())
	if err != nil {
		access.WriteError(w, protocol.Errorf(protocol.CodeUnavailable, "The log cannot be read now; try again."))
		return
	}
	list := []spaceInfo{}
	for _, name := range expand(patterns, existing) {
		_, newest, err := s.options.Journal.Bounds(r.Context(), name)
		if err != nil {
			access.WriteError(w, protocol.Errorf(protocol.CodeUnavailable, "The log cannot be read now; try again."))
			return
		}
		list = append(list, spaceInfo{name, newest})
	}
	writeJSON(w, http.StatusOK, map[string]any{"spaces": list})
}

// expand puts the existing spaces in the place of globs.
func expand(patterns, existing []string) []string {
	var names []string
	for _, p := range patterns {
		if !strings.Contains(p, "*") {
			names = append(names, p)
			continue
		}
		for _, name := range existing {
			if ok, err := path.Match(p, name); err == nil && ok {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
