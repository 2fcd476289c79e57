// Package export writes the log of a space, or one thread or job of it, as JSON
// Lines, Markdown or traces. The log is in the folder of a stopped gateway, or a
// running gateway returns it.
package archive

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// The formats of an export.
const (
	Lines    = "jsonl"
	Markdown = "md"
	Traces   = "otel"
)

// ExportOptions selects a part of a log, and a format.
type ExportOptions struct {
	Thread protocol.ID // one thread
	Job    protocol.ID // one job; with neither: all threads and jobs
	Format string
	Since  protocol.Seq // of Lines: only entries after it
	// Keep selects the envelopes of Lines; nil: all.
	Keep   func(*protocol.Envelope) bool
	Output string // file to write completely or not at all; "": standard output
}

// ExportSource is the log of one space: all of it, or the part that is visible to a
// participant.
type ExportSource interface {
	turns.Reader
	io.Closer
	spaceName() string
	// turns writes threads and jobs in a format other than Lines.
	turns(ctx context.Context, x *exporter) error
}

// WriteExport exports the selected part of a log. It reports the progress
// periodically. A closed reader of stdout is no error.
func WriteExport(ctx context.Context, log ExportSource, o ExportOptions, stdout, progress io.Writer) error {
	out, err := newSink(o.Output, stdout)
	if err != nil {
		return err
	}
	x := &exporter{ExportOptions: o, log: log, out: out, progress: newProgress(progress, log, o.Format)}
	err = out.end(x.run(ctx))
	if errors.Is(err, errReaderGone) {
		return nil
	}
	if err == nil {
		x.progress.done()
	}
	return err
}

// exporter is an export in progress.
type exporter struct {
	ExportOptions
	log      ExportSource
	out      *sink
	progress *progress
}

func (x *exporter) run(ctx context.Context) error {
	if x.Format == Lines {
		return x.lines(ctx)
	}
	return x.log.turns(ctx, x)
}

// atEnd is greater than the Seq of every entry of a log.
const atEnd = protocol.Seq(math.MaxInt64 - 1)

// part is a thread or a job.
type part struct {
	thread, job protocol.ID // one of them
	seq         protocol.Seq
}

func (p part) String() string {
	if p.job != "" {
		return "job " + string(p.job)
	}
	return "thread " + string(p.thread)
}

// selected returns the only part to export; false: all are.
func (o *ExportOptions) selected() (part, bool) {
	return part{thread: o.Thread, job: o.Job}, o.Thread != "" || o.Job != ""
}

// byBeginning sorts parts, the oldest first.
func byBeginning(list []part) []part {
	slices.SortFunc(list, func(a, b part) int { return cmp.Compare(a.seq, b.seq) })
	return list
}

// lines writes envelopes: all after a Seq, or the envelopes of a thread or a job.
func (x *exporter) lines(ctx context.Context) error {
	begin, only := x.Since+1, (*membership)(nil)
	if _, one := x.selected(); one {
		// To find the part of each entry, it has to read the log from the
		// beginning.
		begin, only = 1, x.membership(newTracker(x.log.spaceName(), nil, nil))
	}
	var line []byte
	for e, err := range x.log.Range(ctx, begin, atEnd) {
		if err != nil {
			return err
		}
		if only != nil && !only.has(ctx, e) || e.Envelope.Seq <= x.Since || x.Keep != nil && !x.Keep(e.Envelope) {
			x.progress.read()
			continue
		}
		line = append(protocol.OneLine(protocol.AppendEnvelope(line[:0], protocol.DialectMEUP01, e.Envelope)), '\n')
		if _, err := x.out.Write(termsafe.JSON(line)); err != nil {
			return err
		}
		x.progress.wrote()
	}
	if only == nil {
		return nil
	}
	return only.missing()
}
