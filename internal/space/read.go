package space

import (
	"context"
	"time"

	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// readEntries reads from the cursor on, from the ring or the journal, until it
// has an entry that the member may see, or reaches the head. Unless mayRead, it does not read the journal, and the
// ring once. It reports whether it ended without an entry where there may be more.
func (m *Member) readEntries(ctx context.Context, d *Delivery, mayRead bool) (unread bool) {
	for len(d.Entries) == 0 {
		if m.behind {
			if !m.catchUp(ctx, d, mayRead) {
				return !mayRead && !m.space.now().Before(m.retryAt)
			}
			continue
		}
		entries, pos, lives, ok := m.space.ring.Read(d.Entries, m.pos)
		if !ok {
			m.behind = true
			continue
		}
		if pos == m.pos {
			return false
		}
		first := m.pos
		m.pos = pos
		m.space.observer().FromRing(len(entries))
		d.Entries = m.filterVisible(entries, first)
		if pos > m.live {
			m.live, m.lives = pos, lives
		}
		if !mayRead {
			return len(d.Entries) == 0
		}
	}
	return false
}

// filterVisible keeps, in place, the entries that are new to the member and
// visible to it: section 1 defines who may see an entry, section 6 the entries
// that no filter hides. first is the ring position of the first entry; it matters
// for entries without a Seq.
func (m *Member) filterVisible(entries []*ring.Entry, first uint64) []*ring.Entry {
	matcher := m.matcher.Load()
	visible := *m.visibility.Load()
	out := entries[:0]
	for i, e := range entries {
		switch seq := e.Envelope.Seq; {
		case seq == 0 && first+uint64(i) < m.live, seq != 0 && seq <= m.seq:
			continue
		case seq != 0:
			m.seq = seq
		}
		if m.NoEcho && e.Envelope.From == m.ID || !e.VisibleTo(visible) {
			continue
		}
		mustSee := !m.Observe && (e.Envelope.Kind.IsWork() || e.Envelope.AddressedTo(m.ID))
		if matcher == nil || mustSee || matcher.Match(e.Envelope) {
			out = append(out, e)
		}
	}
	return out
}

// catchUp reads the journal from the cursor on, and switches to the ring once the
// ring has everything that follows. It reports whether the member moved. A read that
// fails is tried again later; a member that cannot read for too long is closed.
func (m *Member) catchUp(ctx context.Context, d *Delivery, mayRead bool) bool {
	if pos, gone, ok := m.space.ring.Seek(m.seq, m.live); ok {
		if gone > m.lives {
			m.space.observer().LiveDropped(int(gone - m.lives))
			m.lives = gone
		}
		m.pos, m.behind = pos, false
		m.readable()
		return true
	}
	if !mayRead || m.space.now().Before(m.retryAt) {
		return false
	}
	floor := m.space.ring.Bottom()
	entries, err := m.readJournal(ctx, d, floor)
	if err != nil {
		now := m.space.now()
		if m.failing.IsZero() {
			m.failing = now
			m.space.log.Warn("read the log for a member", "participant", m.ID, "error", err)
		}
		m.retryAt = now.Add(journalRetry)
		if now.Sub(m.failing) >= catchUpTimeout {
			m.Close(Closing{Code: protocol.CloseGoingAway, Reason: "the log cannot be read now; connect again", Now: true})
		}
		return false
	}
	m.readable()
	if len(entries) == 0 { // the log no longer has the evicted entries
		m.seq = max(m.seq, floor)
		return true
	}
	m.space.observer().FromJournal(len(entries))
	d.Entries = m.filterVisible(entries, 0)
	if m.CurrentDialect() == protocol.DialectMEUP01 {
		ring.EncodeTogether(d.Entries)
	}
	return true
}

func (m *Member) readable() { m.failing, m.retryAt = time.Time{}, time.Time{} }

// readJournal reads from the cursor on, up to upTo. Later entries are read from
// the ring, which has the live ones between them.
func (m *Member) readJournal(ctx context.Context, d *Delivery, upTo protocol.Seq) ([]*ring.Entry, error) {
	oldest, _, err := m.space.journal().Bounds(ctx, m.space.name)
	if err != nil {
		return nil, err
	}
	if oldest > 0 && m.seq < oldest-1 {
		if m.seq > 0 { // the error is sent before the following entries
			d.Control = ring.AppendFrame(d.Control, m.CurrentDialect(), m.expired(oldest))
		}
		m.seq = oldest - 1
	}
	return m.space.readLog(ctx, d.Entries, m.seq, upTo)
}

// expired returns the error for a member whose next entries are no longer stored.
func (m *Member) expired(oldest protocol.Seq) *protocol.Envelope {
	err := protocol.Errorf(protocol.CodeCursorExpired, "What came before %d is no longer kept; delivery goes on from there.", oldest)
	err.OldestSeq = oldest
	return m.newControl(protocol.KindSystemError, "", err)
}
