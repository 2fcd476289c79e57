package httpapi

import (
	"io"
	"net/http"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

// Hook is a request that the hook of a coding agent sends.
type Hook struct {
	Space       *space.Space
	Participant protocol.ParticipantID
	Body        []byte
	// Release returns the memory that is reserved for the request.
	Release func()
	// Refused is why the request is not served; nil: it is. Space and Participant are
	// not known then, and Body is only the beginning of it.
	Refused error
}

// HookHandler answers the hooks of coding agents, including refused ones: an agent
// takes an error for no answer, and would make its calls by its own rules.
type HookHandler func(w http.ResponseWriter, r *http.Request, h Hook)

// Bounds of the body of a hook, in bytes.
const (
	maxHook     = 1 << 20
	refusedHook = 64 << 10 // is read of a request that is refused, to find its event
	hookTimeout = 15 * time.Second
)

// hooks reads the bodies of hooks within the memory of their participants.
func (s *Server) hooks(next HookHandler) http.HandlerFunc {
	serve := func(w http.ResponseWriter, r *http.Request, v caller) {
		size := r.ContentLength
		if size > maxHook {
			s.refuseHook(next, w, r, tooLarge(maxHook))
			return
		}
		if size < 0 {
			size = maxHook
		}
		if !v.hold.Grow(4 * size) { // the body, its index, and what is published of it
			s.refuseHook(next, w, r, access.Busy())
			return
		}
		body := access.OpenBody(w, r, maxHook, hookTimeout)
		defer body.Close()
		h := Hook{Space: v.space, Participant: v.id, Release: v.hold.Release}
		var err error
		h.Body, err = io.ReadAll(body)
		if err != nil {
			h = Hook{Body: h.Body, Release: v.hold.Release, Refused: access.BodyError(err, maxHook)}
		}
		next(w, r, h)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		refuse := func(w http.ResponseWriter, err error) { s.refuseHook(next, w, r, err) }
		if err := access.CheckHost(r, s.options.Origins); err != nil {
			refuse(w, err)
			return
		}
		sp, identity, err := s.options.Admission.AuthorizeRequest(r, r.PathValue("space"))
		if err != nil {
			refuse(w, err)
			return
		}
		s.serve(w, r, caller{space: sp, id: identity.Participant, identity: identity}, serve, refuse)
	}
}

// refuseHook reads the beginning of the body, and passes the refusal on. It discards the rest,
// because clients read no response before they have sent the body.
func (s *Server) refuseHook(next HookHandler, w http.ResponseWriter, r *http.Request, refused error) {
	hold, ok := s.budget.Take("refused hooks", 2*refusedHook)
	defer hold.Release()
	h := Hook{Release: hold.Release, Refused: refused}
	if ok {
		body := access.OpenBody(w, r, maxSendBytes, hookTimeout)
		defer body.Close()
		h.Body, _ = io.ReadAll(io.LimitReader(body, refusedHook)) // a part may have the event
		body.Discard()
	}
	next(w, r, h)
}
