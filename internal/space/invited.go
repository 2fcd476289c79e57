package space

import "time"

// Invited reports whether a token of this hash is an invitation to any of the
// spaces that are open here. It looks at all of them, whichever has it, so that
// the time it takes tells nobody where that is.
func (h *Hub) Invited(hash [32]byte, now time.Time) bool {
	invited := false
	for _, s := range h.some() {
		_, expires, ok := s.LookupInvitation(hash)
		invited = invited || ok && (expires.IsZero() || now.Before(expires))
	}
	return invited
}

// some returns the spaces that are open, in no order.
func (h *Hub) some() []*Space {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*Space, 0, len(h.spaces))
	for _, s := range h.spaces {
		select {
		case <-s.opened:
			if s.openErr == nil {
				list = append(list, s)
			}
		default:
		}
	}
	return list
}
