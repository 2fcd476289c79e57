package tui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the reads of a turn. A turn is derived from the log shortly after
// delivery, so a turn that is not found yet is read again.
const (
	turnAttempts = 6
	turnPause    = 150 * time.Millisecond
)

func (s *session) turnOf(ctx context.Context, envelope protocol.ID) (*api.TurnOf, error) {
	for attempt := 1; ; attempt++ {
		turn, err := s.opts.API.TurnOf(ctx, s.opts.Space, envelope)
		var status *api.StatusError
		if err == nil || attempt == turnAttempts || !errors.As(err, &status) || status.Status != http.StatusNotFound {
			return turn, err
		}
		select {
		case <-time.After(turnPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Bounds of /reasoning all.
const (
	turnsPage = 50
	maxTurns  = 500
)

func (s *session) history(ctx context.Context, e readHistory) event {
	page := api.Page{Limit: turnsPage}
	if e.which == one {
		page = api.Page{Limit: 1, Before: e.number + 1}
	}
	out := historyRead{asked: e}
	for {
		h, err := s.opts.API.History(ctx, s.opts.Space, e.thread, page)
		if err != nil {
			out.err = err
			return out
		}
		out.turns, out.more = append(h.Turns[:len(h.Turns):len(h.Turns)], out.turns...), h.HasMore
		if e.which != all || !h.HasMore || len(h.Turns) == 0 || len(out.turns) >= maxTurns {
			return out
		}
		page.Before = h.Turns[0].TurnNumber
	}
}

// export writes a transcript into a new file. It does not overwrite an existing
// one.
func (s *session) export(ctx context.Context, e export) event {
	out := exported{file: e.file}
	text, err := s.opts.API.Transcript(ctx, s.opts.Space, e.thread)
	if err != nil {
		out.err = err
		return out
	}
	clean := []byte(termsafe.Text(string(text))) // the file will be read in a terminal too
	out.size, out.err = len(clean), writeNew(e.file, clean)
	return out
}

func writeNew(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("the file %s is there already", name)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// isTerminal reports whether a reader or writer is a terminal.
func isTerminal(rw any) bool {
	f, ok := rw.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(f.Fd())
}
