package space

import (
	"context"
	"time"
)

// recordTimeout bounds how long RecordGuests waits for the log of one space.
const recordTimeout = 10 * time.Second

// RecordGuests records the guests that are connected, or have made a request, before
// they are forgotten. It is called once a minute: joins and requests do not wait for it.
func (h *Hub) RecordGuests(ctx context.Context) {
	for _, s := range h.openSpaces() {
		for _, m := range s.members() {
			s.admission.NoteGuest(m.ID)
		}
		within, cancel := context.WithTimeout(ctx, recordTimeout)
		if err := s.admission.RecordGuests(within); err != nil {
			s.log.Warn("record guests again", "error", err)
		}
		cancel()
		if h.services.Journal.Ready() != nil || ctx.Err() != nil {
			return // the next call tries again
		}
	}
}
