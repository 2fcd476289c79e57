package main

import (
	"cmp"
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

	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/internal/journal/pebblejournal"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// exportLog is the log of one space: all of it, or the part that is visible to
// a participant.
type exportLog interface {
	turns.Reader
	// turns writes threads in a format other than JSON lines.
	turns(ctx context.Context, x *exporter) error
	io.Closer
}

// folder is a log in the folder of a gateway that is not running.
type folder struct {
	journal journal.Journal
	space   string
	mask    turns.Masker
}

func openFolder(ctx context.Context, f *exportFlags, warnings io.Writer) (exportLog, error) {
	data, mask, err := f.configured(warnings)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(data, "log")
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("no log in %s: %w", data, err)
	}
	log := program.TextLogger(warnings, slog.LevelWarn)
	j, err := pebblejournal.Open(pebblejournal.Options{Dir: dir, Logger: log})
	if errors.Is(err, entrydb.ErrInUse) {
		return nil, fmt.Errorf("the log in %s is in use by a running gateway: stop it, or use --gateway URL and --token-env NAME", data)
	}
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	if err := hasSpace(ctx, j, data, f.space); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return &folder{j, f.space, mask}, nil
}

// configured returns the folder, and the masker for all secrets in the
// gateway's configuration, if there is one.
func (f *exportFlags) configured(warnings io.Writer) (data string, mask turns.Masker, err error) {
	if f.config == "" {
		if f.format != formatLines {
			fmt.Fprintln(warnings, "Without --config, secrets are masked by the built-in rules only.")
		}
		mask, err = safety.New(safety.Config{})
		return f.data, mask, err
	}
	cfg, err := serveFlags{config: f.config}.load(printFaults(warnings))
	if err != nil {
		return "", nil, err
	}
	data = cmp.Or(f.data, cfg.Data)
	if f.data == "" && (cfg.NATS != "" || cfg.Data == ":memory:") {
		return "", nil, fmt.Errorf("%s stores the log outside of a folder: use --gateway", f.config)
	}
	mask, err = gateway.SafetyOf(cfg, nil)
	return data, mask, err
}

// hasSpace returns an error that lists the existing spaces if the space does not
// exist.
func hasSpace(ctx context.Context, j journal.Journal, data, space string) error {
	names, err := j.Spaces(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read the log: %w", err)
	case len(names) == 0:
		return fmt.Errorf("the log in %s is empty", data)
	case !slices.Contains(names, space):
		return fmt.Errorf("the log in %s has no space %q; it has %s", data, space, strings.Join(names, ", "))
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
			if !e.Hidden && !yield(turns.Entry{Envelope: &e.Envelope, Thread: e.Audience}, nil) {
				return
			}
		}
	}
}

func (l *folder) Close() error { return l.journal.Close() }
