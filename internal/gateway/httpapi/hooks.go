package httpapi

import (
	"net/http"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

// HookHandler answers the hook of a coding agent. release returns the memory that
// is reserved for the request.
type HookHandler func(w http.ResponseWriter, r *http.Request, s *space.Space, id protocol.ParticipantID, body []byte, release func())

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
