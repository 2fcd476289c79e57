package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/internal/turns/transcript"
	"github.com/meup-protocol/meup/protocol"
)

// jobs lists the jobs of a space, latest start first.
func (s *Server) jobs(w http.ResponseWriter, r *http.Request, v caller) {
	q, view, refused := s.pageOf(r, v)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	list, next := view.Jobs(q.limit, protocol.Seq(q.before), view.Viewer)
	if err := view.Err(); err != nil {
		writeTurnError(w, err)
		return
	}
	v.writeJSON(w, api.Jobs{Jobs: list, Next: next, HasMore: next > 0})
}

func (s *Server) session(w http.ResponseWriter, r *http.Request, v caller) {
	s.sessionHistory(w, r, v, r.PathValue("session"))
}

// sessionHistory returns a page of the turns and jobs of a session: the newest, or the
// ones before a given seq.
func (s *Server) sessionHistory(w http.ResponseWriter, r *http.Request, v caller, id string) {
	q, view, refused := s.pageOf(r, v)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	h, err := view.Session(r.Context(), id, q.limit, protocol.Seq(q.before), view.Viewer)
	if err != nil {
		writeTurnError(w, err)
		return
	}
	v.writeHistory(w, h)
}

func (s *Server) job(w http.ResponseWriter, r *http.Request, v caller) {
	s.jobOf(w, r, v, protocol.ID(r.PathValue("job")))
}

// jobOf returns a job or, for an id that ends in .md, the job as Markdown. A job
// whose own id ends in .md takes precedence, like a thread.
func (s *Server) jobOf(w http.ResponseWriter, r *http.Request, v caller, id protocol.ID) {
	view, err := s.options.Turns.View(r.Context(), v.space, v.viewer())
	if err != nil {
		writeTurnError(w, err)
		return
	}
	h, err := view.Job(r.Context(), id, view.Viewer)
	if of, markdown := strings.CutSuffix(string(id), ".md"); markdown && errors.Is(err, turns.ErrUnknown) {
		h, err = view.Job(r.Context(), protocol.ID(of), view.Viewer)
		if err == nil {
			head := transcript.Head{Space: v.space.Name(), JobID: h.JobID, SessionID: h.SessionID, Exported: time.Now().UTC()}
			s.transcript(w, head, h.All())
			return
		}
	}
	if err != nil {
		writeTurnError(w, err)
		return
	}
	v.writeHistory(w, h)
}
