package turns

import (
	"context"
	"errors"

	"github.com/meup-protocol/meup/internal/space"
)

// View is the turns of a space for one participant: its Viewer is the argument of
// the Tracker's methods.
type View struct {
	*Tracker
	Viewer Viewer
}

// View returns the turns of a space for a participant, once the log as it is now
// has been applied, so that a writer finds its own envelopes. Errors: the log's,
// ctx's, space.ErrRetired, ErrClosed.
func (s *Store) View(ctx context.Context, sp *space.Space, who space.Viewer) (*View, error) {
	for {
		t, err := s.tailer(sp)
		if err != nil {
			return nil, err
		}
		err = t.waitFor(ctx, s, sp.Head())
		if err == nil {
			return &View{t.tracker, viewerOf(sp, who)}, nil
		}
		if !errors.Is(err, errDropped) {
			return nil, err
		}
	}
}

func viewerOf(sp *space.Space, who space.Viewer) Viewer {
	visibility := sp.VisibilityOf(who)
	return Viewer{
		Allows:  func(e *Entry) bool { return visibility.Allows(e.Envelope, e.Thread) },
		Present: sp.IsPresent,
	}
}
