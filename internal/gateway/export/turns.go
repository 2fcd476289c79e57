package export

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/transcript"
	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// newTracker returns a tracker that holds the index of threads and turns,
// with room for about three million turns, but no contents: each turn is read
// from the log when it is written. It has the same bound for known ids as a
// gateway, so that the threads are the same.
func newTracker(space string, log turns.Reader, mask turns.Masker) *turns.Tracker {
	return turns.NewTracker(turns.Options{Space: space, Reader: log, Mask: mask, IndexBytes: 1 << 30, CacheBytes: -1})
}

// membership finds the entries of a thread.
type membership struct {
	space   string
	thread  protocol.ID
	tracker *turns.Tracker
	found   bool
	other   protocol.ID // the thread in which the id was found
}

func (x *exporter) membership(p *turns.Tracker) *membership {
	return &membership{space: x.log.spaceName(), thread: x.Thread, tracker: p}
}

// has handles the next entry of the log and reports whether it is in the
// thread. It queries the tracker immediately, before the entry's id can be
// evicted.
func (m *membership) has(ctx context.Context, e turns.Entry) bool {
	m.tracker.Apply(ctx, e)
	if m.thread == "" {
		return true
	}
	thread, _, ok := m.tracker.TurnOf(e.Envelope.ID)
	if ok && e.Envelope.ID == m.thread {
		m.other = thread
	}
	in := ok && thread == m.thread
	m.found = m.found || in
	return in
}

// missing returns the error for an unknown thread; nil if the thread was found.
func (m *membership) missing() error {
	switch {
	case m.found || m.thread == "":
		return nil
	case m.other != "":
		return isMessageOf(m.thread, m.other)
	}
	return fmt.Errorf("the space %s has no thread %s", m.space, m.thread)
}

func isMessageOf(id, thread protocol.ID) error {
	return fmt.Errorf("%s is a message in thread %s: use --thread with that id", id, thread)
}

// turns writes threads. It reads the log twice: once to build the index, and
// then thread by thread.
func (l *folder) turns(ctx context.Context, x *exporter) error {
	p := newTracker(l.space, l, l.mask)
	place := x.membership(p)
	for e, err := range l.Range(ctx, 1, atEnd) {
		if err != nil {
			return err
		}
		place.has(ctx, e)
		x.progress.read()
	}
	if err := place.missing(); err != nil {
		return err
	}
	list := []protocol.ID{place.thread}
	if place.thread == "" {
		list = threadsOf(p)
	}
	if len(list) == 0 {
		return fmt.Errorf("the space %s has no threads", l.space)
	}
	return x.threads(ctx, p, list)
}

// threadsOf lists the threads, oldest first.
func threadsOf(p *turns.Tracker) []protocol.ID {
	var all []protocol.ID
	for before := protocol.Seq(0); ; {
		list, next := p.Threads(turns.MaxPage, before, turns.Viewer{})
		for _, th := range list {
			all = append(all, th.ThreadID)
		}
		if before = next; next == 0 {
			slices.Reverse(all)
			return all
		}
	}
}

// threads writes threads in order. No participant counts as connected, since no
// gateway is running.
func (x *exporter) threads(ctx context.Context, p *turns.Tracker, list []protocol.ID) error {
	nobody := turns.Viewer{Present: func(protocol.ParticipantID) bool { return false }}
	write := transcript.Markdown
	if x.Format == Traces {
		write = traces
	}
	for _, id := range list {
		head := transcript.Head{
			Space: x.log.spaceName(), ThreadID: id, SessionID: turns.SessionID(x.log.spaceName(), id), Exported: time.Now().UTC(),
		}
		if err := write(x.out, head, x.counted(p.All(ctx, id, nobody))); err != nil {
			return fmt.Errorf("thread %s: %w", id, err)
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
