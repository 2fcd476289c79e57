package httpapi

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/derived"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/internal/turns/transcript"
	"github.com/meup-protocol/meup/protocol"
)

// threads lists the threads of a space, latest start first.
func (s *Server) threads(w http.ResponseWriter, r *http.Request, v caller) {
	q, view, refused := s.pageOf(r, v)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	list, next := view.Threads(q.limit, protocol.Seq(q.before), view.Viewer)
	if err := view.Err(); err != nil {
		writeTurnError(w, err)
		return
	}
	v.writeJSON(w, api.Threads{Threads: list, Next: next, HasMore: next > 0})
}

// thread returns turns of a thread or, for a path that ends in .md, the whole
// thread as Markdown. A thread whose own id ends in .md takes precedence; its
// Markdown is at .md.md.
func (s *Server) thread(w http.ResponseWriter, r *http.Request, v caller) {
	whole := protocol.ID(r.PathValue("thread"))
	id, markdown := strings.CutSuffix(string(whole), ".md")
	if !markdown {
		s.turnsOf(w, r, v, whole)
		return
	}
	view, err := s.options.Turns.View(r.Context(), v.space, v.viewer())
	if err == nil {
		_, err = view.History(r.Context(), whole, 1, 0, view.Viewer)
	}
	switch {
	case err == nil:
		s.turnsOf(w, r, v, whole)
	case errors.Is(err, turns.ErrUnknown):
		head := transcript.Head{
			Space: v.space.Name(), ThreadID: protocol.ID(id), SessionID: view.SessionOf(protocol.ID(id)), Exported: time.Now().UTC(),
		}
		s.transcript(w, head, view.All(r.Context(), head.ThreadID, view.Viewer))
	default:
		writeTurnError(w, err)
	}
}

// turnsOf returns a page of turns: the newest, or the ones before a given turn.
func (s *Server) turnsOf(w http.ResponseWriter, r *http.Request, v caller, thread protocol.ID) {
	q, view, refused := s.pageOf(r, v)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	h, err := view.History(r.Context(), thread, q.limit, int(min(q.before, 1<<31-1)), view.Viewer)
	if err != nil {
		writeTurnError(w, err)
		return
	}
	v.writeHistory(w, h)
}

func (v caller) writeHistory(w http.ResponseWriter, h *turns.History) {
	body, err := h.JSON()
	if err != nil {
		access.WriteError(w, protocol.Errorf(protocol.CodeInternal, "The answer could not be written."))
		return
	}
	v.write(w, append(body, '\n'))
}

// turnOf returns the turn, or the job, that explains an envelope.
func (s *Server) turnOf(w http.ResponseWriter, r *http.Request, v caller) {
	key, info, err := s.findTurn(r, v, protocol.ID(r.PathValue("id")))
	if errors.Is(err, turns.ErrUnknown) {
		access.WriteError(w, protocol.Errorf(protocol.CodeNotFound, "This space has no turn with this envelope, or you cannot see it."))
		return
	}
	if err != nil {
		writeTurnError(w, err)
		return
	}
	v.writeJSON(w, api.TurnOf{
		ThreadID: key.Thread, JobID: key.Job, SessionID: key.Session, Turn: info.Turn, MayDecide: v.decidable(r.Context(), &info.Turn),
	})
}

// decidable returns the pending proposals of a turn on which the caller may decide.
func (v caller) decidable(ctx context.Context, t *api.Turn) (list []protocol.ID) {
	for _, r := range t.AllReasonings() {
		for i := range r.ToolDecisions {
			d := &r.ToolDecisions[i]
			if d.Outcome != api.OutcomePending || d.DecidedBy != "" {
				continue
			}
			e, err := v.space.Envelope(ctx, v.viewer(), d.CallID)
			if err == nil && e.Envelope.Kind == protocol.KindMCPProposal && v.space.MayDecide(v.id, e.Envelope) {
				list = append(list, d.CallID)
			}
		}
	}
	return list
}

// findTurn returns the turn or the job that an envelope belongs to. If the
// participant may not see the envelope, it does not exist.
func (s *Server) findTurn(r *http.Request, v caller, id protocol.ID) (turns.Key, turns.Turn, error) {
	if _, err := v.space.Envelope(r.Context(), v.viewer(), id); err != nil {
		if errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) {
			err = turns.ErrUnknown
		}
		return turns.Key{}, turns.Turn{}, err
	}
	view, err := s.options.Turns.View(r.Context(), v.space, v.viewer())
	if err != nil {
		return turns.Key{}, turns.Turn{}, err
	}
	key, ok := view.TurnOf(id)
	if !ok {
		return key, turns.Turn{}, turns.ErrUnknown
	}
	if !key.IsJob() {
		info, err := view.Turn(r.Context(), key.Thread, key.Turn, view.Viewer)
		return key, info, err
	}
	h, err := view.Job(r.Context(), key.Job, view.Viewer)
	if err != nil {
		return key, turns.Turn{}, err
	}
	return key, h.Turns[0], nil
}

// transcript writes a thread as Markdown. An error before the first byte has
// its usual response.
func (s *Server) transcript(w http.ResponseWriter, head transcript.Head, list iter.Seq2[*api.Turn, error]) {
	document := &markdownBody{to: w}
	err := transcript.Markdown(document, head, list)
	switch {
	case err == nil:
	case !document.begun:
		writeTurnError(w, err)
	default:
		s.options.Logger.Warn("write a transcript", "space", head.Space, "thread", head.ThreadID, "error", err)
		panic(http.ErrAbortHandler) // so that the client does not accept an incomplete response
	}
}

// markdownBody is a response that becomes Markdown with its first byte.
type markdownBody struct {
	to    http.ResponseWriter
	begun bool
}

// Write sets the headers on the first call.
func (b *markdownBody) Write(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		h := b.to.Header()
		h.Set("Content-Type", "text/markdown; charset=utf-8")
		h.Set("Cache-Control", "no-store")
	}
	return b.to.Write(p)
}

// chatHistory returns turns of a thread or a session, or a job: of the space that the request
// names, or of those that its token is valid for.
func (s *Server) chatHistory(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	thread, job, session := protocol.ID(q.Get("thread_id")), protocol.ID(q.Get("job_id")), q.Get("session_id")
	selected := 0
	for _, id := range []string{string(thread), string(job), session} {
		if id != "" {
			selected++
		}
	}
	if selected != 1 {
		access.WriteError(w, access.BadRequest("One of the parameters thread_id, job_id and session_id is required. /api/spaces/SPACE/threads and /api/spaces/SPACE/jobs list them."))
		return
	}
	names := []string{q.Get("space")}
	if names[0] == "" {
		token, _, err := access.TokenFromRequest(r)
		if err != nil {
			access.WriteError(w, protocol.Errorf(protocol.CodeUnauthorized, "Send a token: Authorization: Bearer TOKEN."))
			return
		}
		patterns, refused := s.options.Admission.SpacesOf(r.Context(), access.Address(r), token)
		if refused != nil {
			access.WriteError(w, refused)
			return
		}
		existing, err := s.options.Journal.Spaces(r.Context())
		if err != nil {
			access.WriteError(w, protocol.Errorf(protocol.CodeUnavailable, "The log cannot be read now; try again."))
			return
		}
		// A space without a log has no threads, and is not opened for the search.
		names = slices.DeleteFunc(expand(patterns, existing), func(name string) bool { return !slices.Contains(existing, name) })
	}
	switch {
	case job != "":
		s.inOnly(w, r, names, func(w http.ResponseWriter, r *http.Request, v caller) { s.jobOf(w, r, v, job) })
	case session != "":
		s.inOnly(w, r, names, func(w http.ResponseWriter, r *http.Request, v caller) { s.sessionHistory(w, r, v, session) })
	default:
		s.threadIn(w, r, names, thread)
	}
}

// inOnly serves a request that names a space, or whose token is valid for only one:
// the id in it does not tell which space is meant.
func (s *Server) inOnly(w http.ResponseWriter, r *http.Request, names []string, next spaceHandler) {
	switch len(names) {
	case 0:
		writeTurnError(w, turns.ErrUnknown)
	case 1:
		r.SetPathValue("space", names[0])
		s.inSpace(next)(w, r)
	default:
		access.WriteError(w, access.BadRequest("Your token is valid for several spaces. Select one with space=NAME."))
	}
}

// threadIn finds a thread, of which the sender of the request may see something, in the
// spaces that the token is valid for.
func (s *Server) threadIn(w http.ResponseWriter, r *http.Request, names []string, thread protocol.ID) {
	var found []caller
	for _, name := range names {
		if len(names) > 1 { // skip reading the log of a space that does not contain the id
			has, err := s.options.Has(r.Context(), name, thread)
			if err != nil {
				writeTurnError(w, err)
				return
			}
			if !has {
				continue
			}
		}
		sp, identity, err := s.options.Admission.AuthorizeRequest(r, name)
		if err != nil {
			if len(names) == 1 {
				access.WriteError(w, err)
				return
			}
			continue // the participant was kicked there, for example
		}
		v := caller{space: sp, id: identity.Participant, identity: identity}
		view, err := s.options.Turns.View(r.Context(), sp, v.viewer())
		if err == nil {
			_, err = view.History(r.Context(), thread, 1, 0, view.Viewer)
		}
		switch {
		case err == nil:
			found = append(found, v)
		case !errors.Is(err, turns.ErrUnknown):
			writeTurnError(w, err)
			return
		}
	}
	switch len(found) {
	case 0:
		writeTurnError(w, turns.ErrUnknown)
	case 1:
		s.serve(w, r, found[0], func(w http.ResponseWriter, r *http.Request, v caller) { s.turnsOf(w, r, v, thread) }, access.WriteError)
	default:
		access.WriteError(w, access.BadRequest("Several of your spaces have a thread with this id. Select one with space=NAME."))
	}
}

// pageOf returns the parameters of a page of turns, and the view that it is read from.
func (s *Server) pageOf(r *http.Request, v caller) (q turnQuery, view *derived.TurnView, err error) {
	for name, values := range r.URL.Query() {
		switch name {
		case "limit":
			q.limit, err = strconv.Atoi(values[0])
			if q.limit < 1 {
				err = strconv.ErrRange
			}
		case "before":
			q.before, err = strconv.ParseUint(values[0], 10, 64)
		}
		if err != nil {
			return q, nil, badParameter(name, values[0])
		}
	}
	view, err = s.options.Turns.View(r.Context(), v.space, v.viewer())
	if err != nil {
		return q, nil, turnError(err)
	}
	return q, view, nil
}

// turnQuery has the parameters of a page.
type turnQuery struct {
	limit  int
	before uint64
}

func writeTurnError(w http.ResponseWriter, err error) { access.WriteError(w, turnError(err)) }

// turnError converts an error of the turns store to the API's.
func turnError(err error) *protocol.Error {
	switch {
	case errors.Is(err, turns.ErrUnknown):
		return protocol.Errorf(protocol.CodeNotFound, "This space has no such thread, job or session, or you cannot see it.")
	case errors.Is(err, derived.ErrTurnsClosed):
		return protocol.Errorf(protocol.CodeShuttingDown, "The gateway is shutting down; try again in a moment.")
	case errors.Is(err, space.ErrRetired):
		return protocol.Errorf(protocol.CodeUnavailable, "The space was closed because it was idle; try again.")
	}
	return protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot be read now; try again.")
}
