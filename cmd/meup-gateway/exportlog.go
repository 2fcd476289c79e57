package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/pebblejournal"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// exportLog is the log of one space as it is to be exported: all of it, or what
// somebody may see.
type exportLog interface {
	turns.Reader
	// present returns what says who is connected.
	present(ctx context.Context) (func(protocol.ParticipantID) bool, error)
	io.Closer
}

// folder is a log in the folder of a gateway that does not run.
type folder struct {
	journal journal.Journal
	space   string
}

func openFolder(ctx context.Context, f *exportFlags, warnings io.Writer) (exportLog, error) {
	dir := filepath.Join(f.data, "log")
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("there is no log in %s: %w", f.data, err)
	}
	log := slog.New(slog.NewTextHandler(warnings, &slog.HandlerOptions{Level: slog.LevelWarn}))
	j, err := pebblejournal.Open(pebblejournal.Options{Dir: dir, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("open the log (a running gateway holds it; use --gateway then): %w", err)
	}
	if err := knows(ctx, j, f); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return &folder{j, f.space}, nil
}

// knows says what there is, if the space is not.
func knows(ctx context.Context, j journal.Journal, f *exportFlags) error {
	names, err := j.Spaces(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read the log: %w", err)
	case len(names) == 0:
		return fmt.Errorf("the log in %s is empty", f.data)
	case !slices.Contains(names, f.space):
		return fmt.Errorf("the log in %s has no space %q; it has %s", f.data, f.space, strings.Join(names, ", "))
	}
	return nil
}

// Range implements turns.Reader.
func (l *folder) Range(ctx context.Context, first, last protocol.Seq) iter.Seq2[turns.Entry, error] {
	return func(yield func(turns.Entry, error) bool) {
		for e, err := range l.journal.Range(ctx, l.space, journal.Query{After: max(first, 1) - 1, Before: last + 1}) {
			if err != nil {
				yield(turns.Entry{}, fmt.Errorf("read the log: %w", err))
				return
			}
			if !e.Hidden && !yield(turns.Entry{Envelope: &e.Envelope, Thread: e.Thread}, nil) {
				return
			}
		}
	}
}

// present: where no gateway runs, nobody is.
func (*folder) present(context.Context) (func(protocol.ParticipantID) bool, error) {
	return func(protocol.ParticipantID) bool { return false }, nil
}

func (l *folder) Close() error { return l.journal.Close() }

// remote is what a running gateway shows of a log.
type remote struct {
	client *api.Client
	space  string
}

func openRemote(f *exportFlags) (exportLog, error) {
	token := os.Getenv(f.tokenEnv)
	if token == "" {
		return nil, fmt.Errorf("the environment variable %s has no token", f.tokenEnv)
	}
	c, err := api.New(api.Options{URL: f.gateway, Token: token})
	if err != nil {
		return nil, &usageError{fmt.Errorf("--gateway, --token-env: %w", err)}
	}
	return &remote{c, f.space}, nil
}

// pageSize is how many envelopes are asked for at once: as many as a gateway
// gives.
const pageSize = 1000

// Range implements turns.Reader. It holds one page.
func (l *remote) Range(ctx context.Context, first, last protocol.Seq) iter.Seq2[turns.Entry, error] {
	return func(yield func(turns.Entry, error) bool) {
		q := api.EnvelopeQuery{Since: max(first, 1) - 1, Before: last + 1, Limit: int(min(pageSize, last-min(first, last)+1))}
		for {
			page, err := l.client.Envelopes(ctx, l.space, q)
			if err == nil && page.HasMore && page.Next <= q.Since {
				err = errors.New("the gateway's pages do not go on")
			}
			if err != nil {
				yield(turns.Entry{}, fmt.Errorf("ask the gateway: %w", err))
				return
			}
			for i := range page.Envelopes {
				if !yield(turns.Entry{Envelope: &page.Envelopes[i]}, nil) {
					return
				}
			}
			if !page.HasMore {
				return
			}
			q.Since = page.Next
		}
	}
}

func (l *remote) present(ctx context.Context) (func(protocol.ParticipantID) bool, error) {
	list, err := l.client.Participants(ctx, l.space)
	if err != nil {
		return nil, fmt.Errorf("ask the gateway: %w", err)
	}
	here := make(map[protocol.ParticipantID]bool, len(list))
	for _, p := range list {
		here[p.ID] = true
	}
	return func(id protocol.ParticipantID) bool { return here[id] }, nil
}

func (l *remote) Close() error {
	l.client.Close()
	return nil
}
