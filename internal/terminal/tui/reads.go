package tui

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
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

func (s *session) history(ctx context.Context, e conversation.ReadHistory) conversation.Event {
	page := api.Page{Limit: turnsPage}
	if e.Which == conversation.One {
		page = api.Page{Limit: 1, Before: e.Number + 1}
	}
	out := conversation.HistoryRead{Request: e}
	for {
		h, err := s.opts.API.History(ctx, s.opts.Space, e.Thread, page)
		if err != nil {
			out.Err = err
			return out
		}
		out.Turns, out.More = append(h.Turns[:len(h.Turns):len(h.Turns)], out.Turns...), h.HasMore
		if e.Which != conversation.All || !h.HasMore || len(h.Turns) == 0 || len(out.Turns) >= maxTurns {
			return out
		}
		page.Before = h.Turns[0].TurnNumber
	}
}

// export writes a transcript into a new file. It does not overwrite an existing
// one.
func (s *session) export(ctx context.Context, e conversation.Export) conversation.Event {
	out := conversation.Exported{File: e.File}
	text, err := s.opts.API.Transcript(ctx, s.opts.Space, e.Thread)
	if err != nil {
		out.Err = err
		return out
	}
	clean := []byte(termsafe.Text(string(text))) // the file will be read in a terminal too
	f, err := os.OpenFile(e.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.Write(clean)
		err = errors.Join(err, f.Close())
	}
	out.Size, out.Err = len(clean), err
	return out
}

// TerminalWidth returns the width of a terminal, in cells; 0: it is not one, or has none.
func TerminalWidth(w any) int {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok {
		return 0
	}
	cells, _, err := term.GetSize(f.Fd())
	if err != nil {
		return 0
	}
	return cells
}

// IsTerminal reports whether a reader or writer is a terminal.
func IsTerminal(rw any) bool {
	f, ok := rw.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(f.Fd())
}
