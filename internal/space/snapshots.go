package space

import (
	"context"
	"errors"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
)

// SaveSnapshots stores the states of the open spaces until ctx ends, and then once
// more, so that opening a space reads only the state entries after its snapshot.
func (h *Hub) SaveSnapshots(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true
		case <-t.C:
		}
		for _, s := range h.openSpaces() {
			err := s.stored.Save(s.state.Load(), h.services.Clock())
			if err == nil || errors.Is(err, journal.ErrReplaced) || s.unstored {
				continue
			}
			s.unstored = true
			s.log.Warn("the state is not stored; until it is, opening the space reads more state entries", "error", err)
		}
	}
}
