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
			if err := s.stored.Save(s.state.Load(), h.services.Clock()); err != nil && !errors.Is(err, journal.ErrReplaced) {
				s.log.Debug("store the state", "error", err)
			}
		}
	}
}
