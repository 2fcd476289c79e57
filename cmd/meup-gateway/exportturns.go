package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/transcript"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// newExportProjection makes one that holds the index of threads and turns, with
// room for some three million turns, and no contents: each turn is read from
// the log when its time comes. What it knows by its id is as much as a gateway
// knows, so that threads are what they are there.
func newExportProjection(f *exportFlags, log turns.Reader, mask turns.Masker) *turns.Projection {
	return turns.New(turns.Options{Space: f.space, Reader: log, Mask: mask, IndexBytes: 1 << 30, CacheBytes: 1})
}

// membership finds what belongs to a thread, entry by entry.
type membership struct {
	space      string
	thread     protocol.ID
	projection *turns.Projection
	found      bool
	other      protocol.ID // the thread that the id was found in
}

func newMembership(f *exportFlags, p *turns.Projection) *membership {
	return &membership{space: f.space, thread: protocol.ID(f.thread), projection: p}
}

// has takes the next entry of the log and reports whether it is in the thread.
// It asks at once, while the id of the entry is known for certain.
func (m *membership) has(e turns.Entry) bool {
	m.projection.Apply(e)
	if m.thread == "" {
		return true
	}
	thread, _, ok := m.projection.TurnOf(e.Envelope.ID)
	if ok && e.Envelope.ID == m.thread {
		m.other = thread
	}
	in := ok && thread == m.thread
	m.found = m.found || in
	return in
}

// missing is the error that there is no such thread; nil if there is.
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
	return fmt.Errorf("%s is a message of the thread %s: give that one to --thread", id, thread)
}

// turns writes threads. The log is read twice: once to see what belongs
// together, and then thread by thread.
func (l *folder) turns(ctx context.Context, x *exporter) error {
	p := newExportProjection(&x.flags, l, l.mask)
	place := newMembership(&x.flags, p)
	for e, err := range l.Range(ctx, 1, atEnd) {
		if err != nil {
			return err
		}
		place.has(e)
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
		return fmt.Errorf("the space %s has no threads", x.flags.space)
	}
	return x.threads(ctx, p, list)
}

// threadsOf lists the threads, oldest first.
func threadsOf(p *turns.Projection) []protocol.ID {
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

// threads writes threads one after the other. Where no gateway runs, nobody is
// connected.
func (x *exporter) threads(ctx context.Context, p *turns.Projection, list []protocol.ID) error {
	nobody := turns.Viewer{Present: func(protocol.ParticipantID) bool { return false }}
	write := transcript.Markdown
	if x.flags.format == formatTraces {
		write = transcript.Traces
	}
	for _, id := range list {
		head := transcript.Head{
			Space: x.flags.space, ThreadID: id, SessionID: turns.SessionID(x.flags.space, id), Exported: time.Now().UTC(),
		}
		if err := write(x.out, head, x.counted(p.All(ctx, id, nobody))); err != nil {
			return fmt.Errorf("thread %s: %w", id, err)
		}
	}
	return nil
}

// counted tells the progress of each turn that is written.
func (x *exporter) counted(list iter.Seq2[*turns.TurnInfo, error]) iter.Seq2[*turns.TurnInfo, error] {
	return func(yield func(*turns.TurnInfo, error) bool) {
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
