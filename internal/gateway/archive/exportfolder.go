package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/internal/journal/pebblejournal"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// folder is a log in the folder of a gateway that is not running.
type folder struct {
	journal journal.Journal
	space   string
	mask    turns.Masker
}

// OpenFolder opens the log of a space in the data folder of a gateway that is
// not running. mask masks the secrets in turns.
func OpenFolder(ctx context.Context, data, space string, mask turns.Masker, log *slog.Logger) (ExportSource, error) {
	dir := filepath.Join(data, "log")
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("no log in %s: %w", data, err)
	}
	j, err := pebblejournal.Open(pebblejournal.Options{Dir: dir, MustExist: true, Logger: log})
	if errors.Is(err, entrydb.ErrInUse) {
		return nil, fmt.Errorf("the log in %s is in use by a running gateway: stop it, or use --gateway URL and --token-env NAME", data)
	}
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	names, err := j.Spaces(ctx)
	switch {
	case err != nil:
		err = fmt.Errorf("read the log: %w", err)
	case len(names) == 0:
		err = fmt.Errorf("the log in %s is empty", data)
	case !slices.Contains(names, space):
		err = fmt.Errorf("the log in %s has no space %q; it has %s", data, space, strings.Join(names, ", "))
	}
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return &folder{j, space, mask}, nil
}

// Range implements turns.Reader.
func (l *folder) Range(ctx context.Context, first, last protocol.Seq) iter.Seq2[turns.Entry, error] {
	return func(yield func(turns.Entry, error) bool) {
		for e, err := range l.journal.Range(ctx, l.space, journal.Query{After: max(first, 1) - 1, Before: last + 1}) {
			if err != nil {
				yield(turns.Entry{}, fmt.Errorf("read the log: %w", err))
				return
			}
			if !e.Hidden && !yield(turns.Entry{Envelope: &e.Envelope, Audience: e.Audience}, nil) {
				return
			}
		}
	}
}

func (l *folder) spaceName() string { return l.space }

func (l *folder) Close() error { return l.journal.Close() }

// turns writes threads and jobs. It reads the log twice: once to build the index,
// and then part by part.
func (l *folder) turns(ctx context.Context, x *exporter) error {
	p := newTracker(l.space, l, l.mask)
	place := x.membership(p)
	only, one := x.selected()
	for e, err := range l.Range(ctx, 1, atEnd) {
		switch {
		case err != nil:
			return err
		case one:
			place.has(ctx, e)
		default:
			p.Apply(ctx, e)
		}
		x.progress.read()
	}
	list := []part{only}
	if !one {
		list = partsOf(p)
	} else if err := place.missing(); err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("the space %s has no threads or jobs", l.space)
	}
	return x.parts(ctx, p, list)
}

// partsOf lists the threads and jobs, oldest first.
func partsOf(p *turns.Tracker) (all []part) {
	for before, more := protocol.Seq(0), true; more; more = before > 0 {
		var list []api.Thread
		list, before = p.Threads(turns.MaxPage, before, turns.Viewer{})
		for _, th := range list {
			all = append(all, part{thread: th.ThreadID, seq: th.Seq})
		}
	}
	for before, more := protocol.Seq(0), true; more; more = before > 0 {
		var list []api.Job
		list, before = p.Jobs(turns.MaxPage, before, turns.Viewer{})
		for _, j := range list {
			all = append(all, part{job: j.JobID, seq: j.Seq})
		}
	}
	return byBeginning(all)
}
