package archive

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/internal/turns/transcript"
	"github.com/meup-protocol/meup/protocol"
)

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
