package httpapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

// HookHandler answers the hook of a coding agent. release returns the memory that
// is reserved for the request. Without a space, the participant was removed from it.
type HookHandler func(w http.ResponseWriter, r *http.Request, s *space.Space, id protocol.ParticipantID, body []byte, release func())

// kickedHook responds to the hooks of a participant that was removed: an agent takes an
// error for no answer, and would make its calls by its own rules.
func (s *Server) kickedHook(next HookHandler) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		if !errors.Is(err, &protocol.Error{Code: protocol.CodeKicked}) {
			access.WriteError(w, err)
			return
		}
		hold, ok := s.budget.Take("hooks of removed participants", 2*maxHook)
		defer hold.Release()
		if !ok {
			access.WriteError(w, busy())
			return
		}
		body, readErr := access.ReadBody(w, r, maxHook, hookTimeout)
		if readErr != nil {
			access.WriteError(w, readErr)
			return
		}
		next(w, r, nil, "", body, hold.Release)
	}
}

// Bounds of the body of a hook.
const (
	maxHook     = 1 << 20 // bytes
	hookTimeout = 15 * time.Second
)

// hooks reads the body of a hook within the memory of its participant.
func (s *Server) hooks(next HookHandler) spaceHandler {
	return func(w http.ResponseWriter, r *http.Request, v caller) {
		size := r.ContentLength
		if size > maxHook {
			body := access.OpenBody(w, r, maxSendBytes, hookTimeout)
			defer body.Close()
			body.Discard() // clients read no response before they have sent the body
			access.WriteError(w, tooLarge(maxHook))
			return
		}
		if size < 0 {
			size = maxHook
		}
		if !v.hold.Grow(4 * size) { // the body, its index, and what is published of it
			access.WriteError(w, busy())
			return
		}
		body, err := access.ReadBody(w, r, maxHook, hookTimeout)
		if err != nil {
			access.WriteError(w, err)
			return
		}
		next(w, r, v.space, v.id, body, v.hold.Release)
	}
}
