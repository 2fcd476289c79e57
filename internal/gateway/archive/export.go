package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/internal/turns/transcript"
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

// WriteExport writes the log of a space, or one thread or job of it, as JSON Lines,
// Markdown or traces. It reports the progress
// periodically. A closed reader of stdout is no error.
func WriteExport(ctx context.Context, log ExportSource, o ExportOptions, stdout, progress io.Writer) error {
	out, err := newSink(o.Output, stdout)
	if err != nil {
		return err
	}
	unit := "turn"
	_, isRemote := log.(*remote)
	switch {
	case o.Format == Lines:
		unit = "envelope"
	case o.Format == Markdown && isRemote:
		unit = "thread"
	}
	x := &exporter{ExportOptions: o, log: log, out: out, progress: &exportProgress{to: progress, unit: unit, last: time.Now()}}
	if o.Format == Lines {
		err = x.lines(ctx)
	} else {
		err = log.turns(ctx, x)
	}
	err = out.end(err)
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
	progress *exportProgress
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

// newTracker returns a tracker that holds the index of threads and turns,
// with room for about three million turns, but no contents: each turn is read
// from the log when it is written. It has the same bound for known ids as a
// gateway, so that the threads are the same.
func newTracker(space string, log turns.Reader, mask turns.Masker) *turns.Tracker {
	return turns.NewTracker(turns.Options{Space: space, Reader: log, Mask: mask, IndexBytes: 1 << 30, CacheBytes: -1})
}

// membership finds the entries of a thread or a job.
type membership struct {
	space   string
	part    part
	tracker *turns.Tracker
	found   bool
	other   turns.Key // where the id was found
}

func (x *exporter) membership(p *turns.Tracker) *membership {
	only, _ := x.selected()
	return &membership{space: x.log.spaceName(), part: only, tracker: p}
}

// has handles the next entry of the log and reports whether it belongs to the
// part. It queries the tracker immediately, before the entry's id can be
// evicted.
func (m *membership) has(ctx context.Context, e turns.Entry) bool {
	m.tracker.Apply(ctx, e)
	key, ok := m.tracker.TurnOf(e.Envelope.ID)
	if ok && (e.Envelope.ID == m.part.thread || e.Envelope.ID == m.part.job) {
		m.other = key
	}
	in := ok && key.Thread == m.part.thread && key.Job == m.part.job
	m.found = m.found || in
	return in
}

// missing returns the error for an unknown part; nil if it was found.
func (m *membership) missing() error {
	switch {
	case m.found:
		return nil
	case m.other.Thread != "" || m.other.Job != "":
		return isPartOf(m.part, part{thread: m.other.Thread, job: m.other.Job})
	}
	return fmt.Errorf("the space %s has no %s", m.space, m.part)
}

func isPartOf(wanted, is part) error {
	id := cmp.Or(wanted.thread, wanted.job)
	if is.job != "" {
		return fmt.Errorf("%s is in %s: use --job with that id", id, is)
	}
	return fmt.Errorf("%s is a message in %s: use --thread with that id", id, is)
}

// parts writes threads and jobs in order. No participant counts as connected,
// since no gateway is running.
func (x *exporter) parts(ctx context.Context, p *turns.Tracker, list []part) error {
	nobody := turns.Viewer{Present: func(protocol.ParticipantID) bool { return false }}
	write := transcript.Markdown
	if x.Format == Traces {
		write = traces
	}
	for _, of := range list {
		head := transcript.Head{
			Space: x.log.spaceName(), ThreadID: of.thread, JobID: of.job, SessionID: p.SessionOf(of.thread), Exported: time.Now().UTC(),
		}
		turns := p.All(ctx, of.thread, nobody)
		if of.job != "" {
			h, err := p.Job(ctx, of.job, nobody)
			if err != nil {
				return err
			}
			turns, head.SessionID = h.All(), h.SessionID
		}
		if err := write(x.out, head, x.counted(turns)); err != nil {
			return fmt.Errorf("%s: %w", of, err)
		}
	}
	return nil
}

// counted reports the progress of each turn that is written.
func (x *exporter) counted(list iter.Seq2[*api.Turn, error]) iter.Seq2[*api.Turn, error] {
	return func(yield func(*api.Turn, error) bool) {
		for t, err := range list {
			if !yield(t, err) {
				return
			}
			if err == nil {
				x.progress.wrote()
			}
		}
	}
}

// traces writes traces that are safe to display in a terminal.
func traces(w io.Writer, head transcript.Head, list iter.Seq2[*api.Turn, error]) error {
	return transcript.Traces(termsafe.JSONWriter(w), head, list)
}
