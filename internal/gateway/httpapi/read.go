package httpapi

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// history returns a part of the log, as one object or as JSON Lines.
func (s *Server) history(w http.ResponseWriter, r *http.Request, v caller) {
	var q space.HistoryQuery
	for name, values := range r.URL.Query() {
		value, ok := values[0], true
		var refused *protocol.Error
		switch name {
		case "since":
			refused = setSince(&q, values, time.Now())
		case "until":
			q.Until, ok = ago(value, time.Now())
		case "log":
			q.Log = value
		case "order":
			q.Backwards, ok = value == "desc", value == "asc" || value == "desc"
		default:
			refused = setPage(&q, name, values)
		}
		if !ok {
			refused = badParameter(name, value)
		}
		if refused != nil {
			access.WriteError(w, refused)
			return
		}
	}
	if c := q.Filter.Contexts; len(c) == 1 {
		q.Context = protocol.ContextPath(c[0]) // the log has an index for a single context
	}
	if !v.hold.Grow(smallPage) {
		access.WriteError(w, access.Busy())
		return
	}
	page, err := v.space.History(r.Context(), v.viewer(), q)
	if err != nil {
		access.WriteError(w, err)
		return
	}
	accept := r.Header.Get("Accept")
	if strings.Contains(accept, "application/jsonl") || strings.Contains(accept, "application/x-ndjson") {
		writeLines(w, r, v, page)
	} else {
		writePage(w, r, v, page)
	}
}

const (
	// smallPage and largePage bound the memory of a page: the read size of the
	// log, and the buffer for the response.
	smallPage = 256 << 10
	largePage = 2 << 20
	// gatherBytes is the buffer size above which a page counts as large, and at
	// which a part of it is written.
	gatherBytes = 128 << 10
	// gatherLines is the buffer size for a page of JSON Lines, whose headers
	// depend on its end.
	gatherLines = 512 << 10
	// pageTimeout bounds how long writing a page may take, stallTimeout how
	// long each part may take.
	pageTimeout  = time.Minute
	stallTimeout = 15 * time.Second
)

// pageWriter writes a body in parts. The client has to read each part in time.
type pageWriter struct {
	w     http.ResponseWriter
	hold  *limit.Hold
	buf   []byte
	large bool
	begun bool // a part was written
	end   time.Time
}

func newPageWriter(w http.ResponseWriter, v caller, contentType string) *pageWriter {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	return &pageWriter{w: w, hold: v.hold, end: time.Now().Add(pageTimeout)}
}

// grow reserves memory for a large page. It fails only before anything was
// written.
func (p *pageWriter) grow() error {
	if !p.large && !p.hold.Grow(largePage-smallPage) {
		return access.Busy()
	}
	p.large = true
	return nil
}

// flush writes the buffer. It reports whether the client is still connected.
func (p *pageWriter) flush() bool {
	p.begun = true
	deadline := time.Now().Add(stallTimeout)
	if deadline.After(p.end) {
		deadline = p.end
	}
	_ = http.NewResponseController(p.w).SetWriteDeadline(deadline) // fails only for a recorder in a test
	_, err := p.w.Write(p.buf)
	p.buf = p.buf[:0]
	return err == nil
}

// fail responds with an error. If a part was written already, it cuts the
// connection, so that the client does not accept an incomplete response.
func (p *pageWriter) fail(err error) {
	if p.begun {
		panic(http.ErrAbortHandler)
	}
	access.WriteError(p.w, err)
}

// writePage writes a page as one object.
func writePage(w http.ResponseWriter, r *http.Request, v caller, page *space.Page) {
	p := newPageWriter(w, v, "application/json; charset=utf-8")
	p.buf = append(protocol.AppendString(append(p.buf, `{"log":`...), page.Log), `,"envelopes":[`...)
	comma := false
	for e, err := range page.Entries(r.Context()) {
		if err == nil && len(p.buf) >= gatherBytes {
			err = p.grow()
			if err == nil && !p.flush() {
				return
			}
		}
		if err != nil {
			p.fail(err)
			return
		}
		if comma {
			p.buf = append(p.buf, ',')
		}
		comma = true
		p.buf = protocol.AppendEnvelope(p.buf, protocol.DialectMEUP01, e.Envelope)
	}
	p.buf = append(p.buf, `],"next":`...)
	p.buf = strconv.AppendUint(p.buf, uint64(page.Next), 10)
	p.buf = append(p.buf, `,"has_more":`...)
	p.buf = strconv.AppendBool(p.buf, page.HasMore)
	p.buf = append(p.buf, "}\n"...)
	p.flush()
}

// envelope returns one envelope of the log.
func (s *Server) envelope(w http.ResponseWriter, r *http.Request, v caller) {
	e, err := v.space.Envelope(r.Context(), v.viewer(), protocol.ID(r.PathValue("id")))
	if err != nil {
		access.WriteError(w, err)
		return
	}
	v.write(w, append(protocol.AppendEnvelope(nil, protocol.DialectMEUP01, e.Envelope), '\n'))
}

// writeLines writes one envelope per line. The headers, which come first,
// contain the position of the next page. Therefore a page that does not fit
// into the buffer is read twice.
func writeLines(w http.ResponseWriter, r *http.Request, v caller, page *space.Page) {
	p := newPageWriter(w, v, "application/jsonl; charset=utf-8")
	whole := true
	for e, err := range page.Entries(r.Context()) {
		if err == nil && len(p.buf) >= gatherBytes {
			err = p.grow()
		}
		if err != nil {
			p.fail(err)
			return
		}
		whole = whole && len(p.buf) < gatherLines
		if whole {
			p.line(e)
		}
	}
	h := w.Header()
	h.Set("Meup-Log", page.Log)
	h.Set("Meup-Next", page.Next.String())
	h.Set("Meup-Has-More", strconv.FormatBool(page.HasMore))
	if whole {
		p.flush()
		return
	}
	p.buf = p.buf[:0]
	last, backwards := page.Next, page.Backwards()
	for e, err := range page.Entries(r.Context()) {
		if err != nil {
			p.fail(err)
			return
		}
		if seq := e.Envelope.Seq; backwards && seq < last || !backwards && seq > last {
			break // was admitted after the headers were written
		}
		if p.line(e); len(p.buf) >= gatherBytes && !p.flush() {
			return
		}
	}
	p.flush()
}

func (p *pageWriter) line(e *ring.Entry) {
	at := len(p.buf)
	p.buf = protocol.AppendEnvelope(p.buf, protocol.DialectMEUP01, e.Envelope)
	protocol.OneLine(p.buf[at:])
	p.buf = append(p.buf, '\n')
}

// setPage sets a parameter that history and search have in common.
func setPage(q *space.HistoryQuery, name string, values []string) *protocol.Error {
	value, ok := values[0], true
	switch name {
	case "before":
		q.Before, ok = seq(value)
	case "limit":
		n, err := strconv.Atoi(value)
		q.Limit, ok = n, err == nil && n > 0
	case "main":
		var main bool
		main, ok = access.Boolean(value)
		if main {
			q.Filter.Contexts = append(q.Filter.Contexts, "")
		}
	case "context":
		for _, p := range access.List(values) {
			if _, ok := protocol.ParseContextPath(p, protocol.MaxContextBytes); !ok {
				return protocol.Errorf(protocol.CodeInvalidContext, "%s is not a context path.", strconv.Quote(p))
			}
			q.Filter.Contexts = append(q.Filter.Contexts, p)
		}
	case "kinds":
		q.Filter.Kinds = access.List(values)
	case "from":
		for _, id := range access.List(values) {
			q.Filter.From = append(q.Filter.From, protocol.ParticipantID(id))
		}
	}
	if !ok {
		return badParameter(name, value)
	}
	return nil
}

// setSince sets the position or the time after which a page begins, or both, so that
// a later page of a period can name its position.
func setSince(q *space.HistoryQuery, values []string, now time.Time) *protocol.Error {
	for _, value := range values {
		if n, ok := seq(value); ok {
			q.Since = n
			continue
		}
		t, ok := ago(value, now)
		if !ok {
			return access.BadRequest("The parameter since cannot be " + strconv.Quote(value) + "; write a seq, a time such as 2026-11-22T18:00:00Z, or a duration before now such as 24h.")
		}
		q.From = t
	}
	return nil
}

// maxDays bounds a duration in days, as the range of a time.Duration bounds others.
const maxDays = 100_000

// ago parses a time, a day in UTC, or a duration before now, also in days.
func ago(s string, now time.Time) (time.Time, bool) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		return now.Add(-time.Duration(n) * 24 * time.Hour), err == nil && n >= 0 && n <= maxDays
	}
	if d, err := time.ParseDuration(s); err == nil {
		return now.Add(-d), d >= 0
	}
	return moment(s)
}

// defaultPeriod is how far scores, suggestions and backtests go back without the parameter since.
const defaultPeriod = 30 * 24 * time.Hour

// beginOf returns the parameter since, or the begin of the default period.
func beginOf(r *http.Request, now time.Time) (time.Time, *protocol.Error) {
	value := r.URL.Query().Get("since")
	if value == "" {
		return now.Add(-defaultPeriod), nil
	}
	t, ok := ago(value, now)
	if !ok {
		return t, access.BadRequest("The parameter since cannot be " + strconv.Quote(value) + "; write a time such as 2026-11-22T18:00:00Z, a day, or a duration before now such as 30d or 24h.")
	}
	return t, nil
}

func badParameter(name, value string) *protocol.Error {
	return access.BadRequest("The parameter " + name + " cannot be " + strconv.Quote(value) + ".")
}

func seq(s string) (protocol.Seq, bool) {
	n, err := protocol.ParseSeq(s)
	return n, err == nil
}

// contexts returns the tree of contexts, or the part of it below a path.
func (s *Server) contexts(w http.ResponseWriter, r *http.Request, v caller) {
	if r.PathValue("path") == "" {
		v.writeJSON(w, map[string]any{"contexts": v.space.Contexts(v.viewer(), "")})
		return
	}
	prefix, ok := protocol.ParseContextPath(r.PathValue("path"), protocol.MaxContextBytes)
	if !ok {
		access.WriteError(w, protocol.Errorf(protocol.CodeInvalidContext, "%s is not a context path.", strconv.Quote(r.PathValue("path"))))
		return
	}
	for _, c := range v.space.Contexts(v.viewer(), prefix) {
		if c.Path == prefix {
			v.writeJSON(w, c)
			return
		}
	}
	access.WriteError(w, protocol.Errorf(protocol.CodeNotFound, "This space has no context %s.", prefix))
}

func (s *Server) participants(w http.ResponseWriter, _ *http.Request, v caller) {
	v.writeJSON(w, map[string]any{"you": v.space.Describe(v.id), "participants": v.space.Participants(), "paused": v.space.Paused()})
}

// policy returns the policy in force.
func (s *Server) policy(w http.ResponseWriter, _ *http.Request, v caller) {
	p := s.options.Policy(v.space.Name())
	if p == nil {
		access.WriteError(w, protocol.Errorf(protocol.CodeUnavailable, "The configuration of the space is being changed; try again."))
		return
	}
	v.writeJSON(w, p)
}

// ofPolicy returns a handler for participants that may read the policy.
func ofPolicy(next spaceHandler) spaceHandler {
	return func(w http.ResponseWriter, r *http.Request, v caller) {
		if !v.space.SeesRights(v.id) {
			access.WriteError(w, protocol.Errorf(protocol.CodeCapabilityViolation, "This shows the policy of the space, which is for participants that observe it or may change rights. Use the token of one of them, or have somebody grant you the capability observe."))
			return
		}
		next(w, r, v)
	}
}

// spaceInfo describes one space in a list of spaces.
type spaceInfo struct {
	Name string       `json:"name"`
	Seq  protocol.Seq `json:"seq"` // the head of its log
}

// existing lists the spaces that have a log or a connected participant. The error
// is a *protocol.Error.
func (s *Server) existing(ctx context.Context) ([]string, error) {
	names, err := s.options.Journal.Spaces(ctx)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeUnavailable, "The log cannot be read now; try again.")
	}
	for _, sp := range s.options.Admission.Hub.Open() {
		if len(sp.Present()) > 0 {
			names = append(names, sp.Name())
		}
	}
	return names, nil
}

// spaces lists the spaces that the token is valid for. Spaces that match a glob
// are listed once they exist.
func (s *Server) spaces(w http.ResponseWriter, r *http.Request) {
	c, err := s.options.Admission.Credentials(r)
	if err != nil {
		access.WriteError(w, err)
		return
	}
	patterns, refused := s.options.Admission.SpacesOf(r.Context(), access.Address(r), c.Token)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	existing, refused := s.existing(r.Context())
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	list, now := []spaceInfo{}, time.Now()
	for _, name := range expand(patterns, existing) {
		if _, err := s.options.Admission.Auth.Authenticate(r.Context(), name, c.Token, now); err != nil {
			continue // another pattern configures the space
		}
		_, newest, err := s.options.Journal.Bounds(r.Context(), name)
		if err != nil {
			access.WriteError(w, protocol.Errorf(protocol.CodeUnavailable, "The log cannot be read now; try again."))
			return
		}
		list = append(list, spaceInfo{name, newest})
	}
	writeJSON(w, http.StatusOK, map[string]any{"spaces": list})
}

// expand replaces globs by the existing spaces that match them.
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
