package space

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of one delivery, and of a member's memory.
const (
	deliveryEntries = 256
	maxControlBytes = 1 << 18 // acks and errors that wait for the writer
	journalRetry    = 250 * time.Millisecond
	// catchUpTimeout bounds how long a member waits for a journal that cannot be
	// read. Then it is closed, to resume here or elsewhere.
	catchUpTimeout = 30 * time.Second
)

// JoinOptions are the options of a connection.
type JoinOptions struct {
	ID      protocol.ParticipantID
	Dialect protocol.Dialect // initial dialect, see Member.Switch
	Filter  protocol.Filter
	Since   *protocol.Seq // replay entries after this position; nil: from now
	Log     string        // id of the log that Since belongs to; "": unknown
	NoEcho  bool          // omit the participant's own envelopes
	Ack     bool          // acknowledge each admitted envelope by system.ack
	Observe bool          // receive only
	Tools   bool          // the participant has declared that it serves tools
	Linger  bool          // the participant stays present for PresenceLinger afterwards
	Expires time.Time     // of the token; zero: never
	// VisibleAfter is the VisibleAfter of the connection's [Viewer].
	VisibleAfter protocol.Seq
	// Recheck returns an error if the participant is no longer admitted after a
	// change of the configuration; nil: always admitted.
	Recheck func() error
}

// Viewer returns the member as a viewer.
func (m *Member) Viewer() ring.Viewer { return ring.Viewer{ID: m.ID, VisibleAfter: m.VisibleAfter} }

// Member is one connection of a participant: a cursor over the space's log with a
// filter, and a queue of control frames for it alone.
type Member struct {
	JoinOptions

	space *Space
	who   *participant

	joinedAt protocol.Seq // the head when the member joined

	// Owned by the goroutine that calls Next or Poll.
	pos      uint64       // position in the ring; valid unless behind
	seq      protocol.Seq // everything durable up to here was processed
	live     uint64       // position in the ring: entries without a Seq before it were processed
	lives    uint64       // number of entries without a Seq before live
	welcomed bool
	behind   bool // reads the journal until the ring has the next entry
	// controlFirst: the last delivery postponed the journal in favor of the
	// control frames; the next one does not.
	controlFirst bool
	failing      time.Time   // when the journal first could not be read; zero: it can be read
	retryAt      time.Time   // when to read the journal again; zero: at once
	retry        *time.Timer // wakes the member then; nil: not needed so far
	postponed    bool        // the close waits for entries before it

	matcher        atomic.Pointer[protocol.Matcher]
	visibility     atomic.Pointer[ring.Visibility] // for one state; see refreshVisibility
	currentDialect atomic.Uint32

	// Answering: the reader publishes envelopes, or queues the answers to them.
	// [Hub.Drain] closes the connection after that.
	Answering atomic.Bool

	// writer is what the writer does, of the writer… constants.
	writer   atomic.Int32
	onWake   func() // OnWake; nil: wakeup
	wakeup   chan struct{}
	notified atomic.Bool
	closed   chan struct{}

	mu         sync.Mutex
	control    []byte // frames for this member alone
	drained    sync.Cond
	welcomeDue bool
	pingDue    bool
	pong       []byte // payload of the pong to send; nil: none
	closing    *Closing
	onClose    func()
}

// Closing describes the end of a connection.
type Closing struct {
	Code   int
	Reason string
	// Now: undelivered entries are left for the next connection.
	Now bool
	// UpTo: later entries are left for the next connection; 0: all entries are
	// delivered first.
	UpTo protocol.Seq
}

// Delivery is the next write of a member: its control frames first, then the
// shared entries, then the close, if any.
type Delivery struct {
	Control []byte
	Entries []*ring.Entry
	Close   *Closing
	// Seq: with this delivery everything durable up to here was processed,
	// visible or not.
	Seq protocol.Seq
	// Notified: Notify was called.
	Notified bool
}

// Empty reports whether there is nothing to write.
func (d *Delivery) Empty() bool {
	return len(d.Control) == 0 && len(d.Entries) == 0 && d.Close == nil && !d.Notified
}

// scratch holds space for the entries of a delivery, borrowed while it has any,
// so that waiting members hold none.
var scratch = sync.Pool{New: func() any { s := make([]*ring.Entry, 0, deliveryEntries); return &s }}

// Release returns the space of the entries, which are not valid after it.
func (d *Delivery) Release() {
	if d.Entries != nil {
		room := d.Entries[:cap(d.Entries)]
		clear(room)
		room = room[:0]
		scratch.Put(&room)
	}
	*d = Delivery{}
}

// CurrentDialect returns the member's dialect: the one of JoinOptions until
// Switch.
func (m *Member) CurrentDialect() protocol.Dialect { return protocol.Dialect(m.currentDialect.Load()) }

// Switch changes the member's dialect and sends a new welcome in it. A Sender
// created before keeps the old dialect.
func (m *Member) Switch(d protocol.Dialect) {
	m.currentDialect.Store(uint32(d))
	m.welcomeAgain()
}

// JoinedAt returns the head of the log when the member joined.
func (m *Member) JoinedAt() protocol.Seq { return m.joinedAt }

// Sender returns the member as a sender.
func (m *Member) Sender() *admission.Sender {
	return &admission.Sender{Viewer: m.Viewer(), Dialect: m.CurrentDialect(), Observe: m.Observe, Space: m.space.admission, Buckets: m.who.buckets}
}

// Space returns the member's space.
func (m *Member) Space() *Space { return m.space }

// refreshVisibility stores the member's current visibility. Concurrent changes of
// the state may call it at the same time; the last one to store has read the
// latest state.
func (m *Member) refreshVisibility() {
	for {
		st := m.space.state.Load()
		visible := st.Visibility(m.Viewer(), m.space.now())
		m.visibility.Store(&visible)
		if m.space.state.Load() == st {
			return
		}
	}
}

func (m *Member) welcomeAgain() {
	m.mu.Lock()
	m.welcomeDue = true
	m.mu.Unlock()
	m.wake()
}

// What a member's writer does. A wake while it is active makes it look once more before it sleeps.
const (
	writerActive int32 = iota
	writerWoken        // active, and woken since it looked
	writerAsleep
)

// Polled is the result of Member.Poll.
type Polled int

// Results of Member.Poll.
const (
	Asleep    Polled = iota // nothing to write: the member sleeps until it is woken
	Ready                   // the delivery is to be written; it can be empty: the member sees nothing of what it read
	NeedsRead               // the next entries are in the journal, which may block, or need a long time to select
)

// Next waits until there is something to write and fills d with it. The Entries
// of d are valid until the next call. It returns an error when ctx ends. Only the
// member's writer may call it, and only of a member without OnWake.
func (m *Member) Next(ctx context.Context, d *Delivery) error {
	if m.wakeup == nil {
		m.wakeup = make(chan struct{}, 1)
	}
	for m.Poll(ctx, d, true) == Asleep {
		select {
		case <-m.wakeup:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Poll fills d with what there is to write. If there is nothing, the member sleeps from then on,
// and the function of OnWake is called once when there is. It blocks only on the journal, and only
// if mayRead. If not, it looks at a bounded number of entries. Only the member's writer may call it.
//
// A member that reads the journal gets its control frames in a separate delivery
// first, since they do not depend on the log.
func (m *Member) Poll(ctx context.Context, d *Delivery, mayRead bool) Polled {
	if !mayRead && m.matcher.Load().Slow() {
		m.writer.Store(writerWoken) // nothing was looked at, so it must not sleep
		d.Release()
		return NeedsRead
	}
	for {
		m.writer.Store(writerActive) // what came before is seen below
		d.Notified = m.notified.Load() && m.notified.Swap(false)
		d.Control, d.Close = m.takeControl(d.Control[:0])
		d.Entries, d.Seq = d.Entries[:0], m.seq
		atOnce := d.Close != nil && d.Close.Now
		m.controlFirst = !atOnce && m.behind && !m.controlFirst && len(d.Control) > 0
		ending, unread := d.Close != nil, false
		switch {
		case atOnce:
		case m.controlFirst:
			d.Close = nil // after the entries in the journal
		default:
			if d.Entries == nil {
				d.Entries = *scratch.Get().(*[]*ring.Entry) //nolint:forcetypeassert // the pool holds nothing else
			}
			unread = m.readEntries(ctx, d, mayRead)
			m.deferClose(d)
		}
		if unread {
			d.Close = nil // after the entries that were not read
		}
		m.postponed = ending && d.Close == nil
		switch {
		case !d.Empty():
			return Ready
		case unread && m.behind:
			return NeedsRead
		case unread:
			return Ready
		case m.sleep():
			d.Release()
			return Asleep
		}
	}
}

// Sleep puts the member to sleep after a delivery was written, unless there is more to write: then it
// returns false, and Poll is to be called again. Only the member's writer may call it.
func (m *Member) Sleep() bool {
	_, head, _ := m.space.ring.Position()
	return !m.behind && !m.postponed && m.pos == head && m.sleep()
}

// sleep returns false if the member was woken since it looked.
func (m *Member) sleep() bool {
	if !m.retryAt.IsZero() { // it is woken when it is time to read the journal again
		wait := m.retryAt.Sub(m.space.now())
		if m.retry == nil {
			m.retry = time.AfterFunc(wait, m.wake)
		} else {
			m.retry.Reset(wait)
		}
	}
	return m.writer.CompareAndSwap(writerActive, writerAsleep)
}

// OnWake sets the function that is called, once for each sleep, to make the writer call Poll. It must not
// block. It is set before the first call of Poll.
func (m *Member) OnWake(f func()) { m.onWake = f }

// wake wakes the writer, if it sleeps.
func (m *Member) wake() {
	for {
		switch m.writer.Load() {
		case writerWoken:
			return
		case writerActive:
			if m.writer.CompareAndSwap(writerActive, writerWoken) {
				return
			}
		default:
			if !m.writer.CompareAndSwap(writerAsleep, writerActive) {
				continue
			}
			if m.onWake != nil {
				m.onWake()
				return
			}
			select {
			case m.wakeup <- struct{}{}:
			default: // of a sleep that was given up
			}
			return
		}
	}
}

// deferClose postpones the close while there are entries to deliver before it.
func (m *Member) deferClose(d *Delivery) {
	d.Seq = m.seq
	if d.Close == nil {
		return
	}
	upTo := d.Close.UpTo
	if upTo > 0 {
		d.Seq = min(d.Seq, upTo)
	}
	if len(d.Entries) == 0 {
		return
	}
	if upTo == 0 || m.seq < upTo {
		d.Close = nil
		return
	}
	for len(d.Entries) > 0 && d.Entries[len(d.Entries)-1].After() > upTo {
		d.Entries = d.Entries[:len(d.Entries)-1]
	}
}

// takeControl moves the control frames to dst.
func (m *Member) takeControl(dst []byte) ([]byte, *Closing) {
	m.mu.Lock()
	if len(m.control) == 0 && !m.welcomeDue && !m.pingDue && m.pong == nil && m.closing == nil {
		m.mu.Unlock()
		return dst, nil
	}
	if !m.welcomed && m.welcomeDue { // the welcome is always the first frame
		m.welcomeDue = false
		m.mu.Unlock() // the space's own locks guard the contents of a welcome
		dst = m.appendWelcome(dst)
		m.mu.Lock()
	}
	dst = append(dst, m.control...)
	m.control = m.control[:0]
	if cap(m.control) > maxControlBytes/8 {
		m.control = nil
	}
	welcome, ping, pong, closing := m.welcomeDue, m.pingDue, m.pong, m.closing
	m.welcomeDue, m.pingDue, m.pong = false, false, nil
	m.drained.Broadcast()
	m.mu.Unlock()

	if welcome {
		dst = m.appendWelcome(dst)
	}
	if ping {
		dst = append(dst, ring.PingFrame...)
	}
	if pong != nil {
		dst = ring.AppendPongFrame(dst, pong)
	}
	return dst, closing
}

// newControl returns an envelope of the gateway for this member.
func (m *Member) newControl(kind protocol.Kind, correlation protocol.ID, payload any) *protocol.Envelope {
	e, err := protocol.FromGateway(m.space.hub.newID(), kind, m.space.now(), payload)
	if err != nil { // the payloads are types that marshal
		m.space.log.Error("encode an envelope of the gateway's own", "kind", kind, "error", err)
	}
	if correlation != "" {
		e.Correlation = protocol.CorrelateTo(correlation)
	}
	return &e
}

// enqueueControl queues a frame for this member alone.
func (m *Member) enqueueControl(e *protocol.Envelope) {
	m.mu.Lock()
	m.control = ring.AppendFrame(m.control, m.CurrentDialect(), e)
	m.mu.Unlock()
	m.wake()
}

// SendControl sends an envelope of the gateway to this member alone. Only the
// member's reader may call it: it blocks until the writer catches up, which slows
// down a client that sends and does not read.
func (m *Member) SendControl(kind protocol.Kind, correlation protocol.ID, payload any) {
	e := m.newControl(kind, correlation, payload)
	m.mu.Lock()
	for len(m.control) > maxControlBytes && m.closing == nil {
		m.drained.Wait()
	}
	m.control = ring.AppendFrame(m.control, m.CurrentDialect(), e)
	m.mu.Unlock()
	m.wake()
}

// Refuse answers an envelope by system.error; id is empty if it could not be
// read.
func (m *Member) Refuse(id protocol.ID, err *protocol.Error) {
	m.SendControl(protocol.KindSystemError, id, err)
}

// Notify makes Next return even if there is nothing to deliver, so that a writer
// can write frames of its own.
func (m *Member) Notify() {
	m.notified.Store(true)
	m.wake()
}

// Ping asks the writer to send a ping.
func (m *Member) Ping() {
	m.mu.Lock()
	m.pingDue = true
	m.mu.Unlock()
	m.wake()
}

// Pong asks the writer to answer a ping; only the last of several pings is
// answered.
func (m *Member) Pong(payload []byte) {
	m.mu.Lock()
	m.pong = append(make([]byte, 0, len(payload)), payload...)
	m.mu.Unlock()
	m.wake()
}

// OnClose sets the function that is called when the connection must end, so that
// a writer blocked on its peer can be interrupted.
func (m *Member) OnClose(f func()) {
	m.mu.Lock()
	m.onClose = f
	m.mu.Unlock()
}

// Limits returns the member's limits.
func (m *Member) Limits() protocol.Limits { return m.space.settings(m.ID).Limits }

// Close asks the writer to end the connection after all pending entries, or at
// once if c.Now. The first call wins, except that a later one with Now replaces
// one without.
func (m *Member) Close(c Closing) {
	m.mu.Lock()
	if m.closing == nil || c.Now && !m.closing.Now {
		m.closing = &c
	}
	hurry := m.onClose
	m.drained.Broadcast()
	m.mu.Unlock()
	if hurry != nil && (c.Now || c.UpTo > 0) {
		hurry()
	}
	m.wake()
}

// Closed returns a channel that is closed after the member's writer has finished.
func (m *Member) Closed() <-chan struct{} { return m.closed }

// MarkClosed records that the writer has finished. Only the member's writer may
// call it, once.
func (m *Member) MarkClosed() {
	m.Close(Closing{Code: protocol.CloseNormal, Now: true}) // unblocks SendControl
	close(m.closed)
}

// Ending reports whether the connection is closing.
func (m *Member) Ending() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closing != nil
}

func (m *Member) controlFull() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.control) > maxControlBytes
}

// Subscribe replaces the member's filter and confirms it to the member. The error
// is a *protocol.Error.
func (m *Member) Subscribe(correlation protocol.ID, f protocol.Filter) error {
	matcher, err := f.Compile()
	if err != nil {
		return err
	}
	m.matcher.Store(matcher)
	m.SendControl(protocol.KindSystemSubscribed, correlation, f)
	return nil
}
