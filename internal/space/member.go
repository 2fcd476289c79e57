package space

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/internal/frame"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of one delivery, and of what a member holds in memory.
const (
	deliveryEntries = 256
	deliveryBytes   = 1 << 20 // taken from the ring or the journal at a time
	maxControlBytes = 1 << 18 // acks and errors that wait for the writer
	journalRetry    = 250 * time.Millisecond
	// catchUpTimeout bounds how long a member that needs the journal waits for
	// one that cannot be read. Then it is closed, to resume here or elsewhere.
	catchUpTimeout = 30 * time.Second
)

// JoinOptions say how a connection takes part.
type JoinOptions struct {
	ID      protocol.ParticipantID
	Dialect protocol.Dialect // at first, see Member.Switch
	Filter  protocol.Filter
	Since   *protocol.Seq // replay what came after; nil: from now
	Log     string        // id of the log that Since belongs to; "": not known
	NoEcho  bool          // leave out the participant's own envelopes
	Ack     bool          // answer each admitted envelope by system.ack
	Observe bool          // look on, say nothing
	Tools   bool          // the participant has declared that it serves tools
	Expires time.Time     // of the token; zero: never
	// VisibleAfter is that of the connection's [Viewer].
	VisibleAfter protocol.Seq
	// Recheck reports whether what let the participant in still does, after
	// the configuration has changed; nil: it does.
	Recheck func() error
}

// Viewer returns the member as a viewer.
func (m *Member) Viewer() Viewer { return Viewer{m.ID, m.VisibleAfter} }

// Member is one connection of a participant: a cursor over the space's log
// with a filter, and the few frames that are meant for it alone.
type Member struct {
	JoinOptions

	space *Space
	who   *participant

	joinedAt protocol.Seq // the head when the member entered

	// Owned by the goroutine that calls Collect.
	pos      uint64       // in the ring; meaningful unless behind
	seq      protocol.Seq // everything durable up to here has been dealt with
	live     uint64       // in the ring: so has what is not durable before here
	lives    uint64       // how many of those there were
	welcomed bool
	behind   bool // reads the journal until the ring has what is next
	// controlFirst: the last delivery left the journal out in favor of the
	// control frames; the next one does not.
	controlFirst bool
	failing      time.Time // since when the journal cannot be read; zero: it can
	retryAt      time.Time // when the journal is read again; zero: at once

	matcher        atomic.Pointer[protocol.Matcher]
	visibility     atomic.Pointer[Visibility] // of one state; see refreshVisibility
	currentDialect atomic.Uint32

	asleep   atomic.Bool
	notified atomic.Bool
	wakeup   chan struct{}
	closed   chan struct{}

	mu         sync.Mutex
	control    []byte // frames for this member alone
	drained    *sync.Cond
	welcomeDue bool
	pingDue    bool
	pong       []byte // the answer to the last ping; nil: none is due
	closing    *Closing
	onClose    func()
}

// Closing says how a connection ends.
type Closing struct {
	Code   int
	Reason string
	// Now: what has not been delivered yet is left for the next connection.
	Now bool
	// UpTo: what came later is left for the next connection; 0: everything
	// that there is gets delivered first.
	UpTo protocol.Seq
}

// Delivery is what a member has to write next: its own frames first, then the
// shared entries, and behind them the end, if it is time.
type Delivery struct {
	Control []byte
	Entries []*Entry
	Close   *Closing
	// Seq: with this delivery everything durable up to here has been dealt
	// with, seen or not.
	Seq protocol.Seq
	// Notified: somebody called Nudge.
	Notified bool
}

// Empty reports whether there is nothing to write.
func (d *Delivery) Empty() bool {
	return len(d.Control) == 0 && len(d.Entries) == 0 && d.Close == nil && !d.Notified
}

// scratch holds room for the entries of a delivery, borrowed while there are
// any: members that wait hold none.
var scratch = sync.Pool{New: func() any { s := make([]*Entry, 0, deliveryEntries); return &s }}

func (d *Delivery) borrow() {
	if d.Entries == nil {
		d.Entries = *scratch.Get().(*[]*Entry) //nolint:forcetypeassert // the pool holds nothing else
	}
}

func (d *Delivery) release() {
	if d.Entries != nil {
		room := d.Entries[:cap(d.Entries)]
		clear(room)
		room = room[:0]
		scratch.Put(&room)
	}
	*d = Delivery{}
}

// CurrentDialect returns the member's dialect: that of JoinOptions until Switch.
func (m *Member) CurrentDialect() protocol.Dialect { return protocol.Dialect(m.currentDialect.Load()) }

// Switch changes the member's dialect and sends a fresh welcome in it. A Sender
// that was made before keeps the old one.
func (m *Member) Switch(d protocol.Dialect) {
	m.currentDialect.Store(uint32(d))
	m.welcomeAgain()
}

// Participant returns who the member is.
func (m *Member) Participant() protocol.ParticipantID { return m.ID }

// JoinedAt returns the head of the log when the member came in.
func (m *Member) JoinedAt() protocol.Seq { return m.joinedAt }

// Space returns where the member is.
func (m *Member) Space() *Space { return m.space }

// Next waits until there is something to write and fills d with it. The
// Entries of d are valid until the next call. It returns an error when ctx
// ends. Only the member's writer may call it.
func (m *Member) Next(ctx context.Context, d *Delivery) error {
	for {
		m.collect(ctx, d)
		if !d.Empty() {
			return nil
		}
		m.asleep.Store(true)
		m.collect(ctx, d)
		if !d.Empty() {
			m.asleep.Store(false)
			return nil
		}
		d.release()
		if err := m.sleep(ctx); err != nil {
			return err
		}
	}
}

// sleep returns when rouse was called, when it is time to read the journal
// again, or with an error when ctx ends.
func (m *Member) sleep(ctx context.Context) error {
	if !m.retryAt.IsZero() {
		t := time.NewTimer(m.retryAt.Sub(m.space.now()))
		defer t.Stop()
		defer m.asleep.Store(false)
		select {
		case <-m.wakeup:
		case <-t.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return nil
	}
	if ctx.Done() == nil { // ended by Close: a plain receive costs half
		<-m.wakeup
		return nil
	}
	select {
	case <-m.wakeup:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wake wakes the writer, if it sleeps.
func (m *Member) wake() {
	if m.asleep.Load() && m.asleep.Swap(false) {
		select {
		case m.wakeup <- struct{}{}:
		default:
		}
	}
}

// collect fills d without waiting for anything but the journal. A member that
// reads the journal gets its control frames in a delivery of their own before
// that: they do not depend on the log.
func (m *Member) collect(ctx context.Context, d *Delivery) {
	d.Notified = m.notified.Load() && m.notified.Swap(false)
	d.Control, d.Close = m.takeControl(d.Control[:0])
	d.Entries, d.Seq = d.Entries[:0], m.seq
	if d.Close != nil && d.Close.Now {
		return
	}
	if m.controlFirst = m.behind && !m.controlFirst && len(d.Control) > 0; m.controlFirst {
		d.Close = nil // after what is in the journal
		return
	}
	d.borrow()
	// One round may find only what this member may not see; go on until
	// there is something to write or the head is reached.
	for len(d.Entries) == 0 && m.advance(ctx, d) {
		continue
	}
	m.deferClose(d)
	if d.Seq = m.seq; d.Close != nil && d.Close.UpTo > 0 {
		d.Seq = min(d.Seq, d.Close.UpTo)
	}
}

// deferClose puts the end off while there is something to deliver before it.
func (m *Member) deferClose(d *Delivery) {
	if d.Close == nil || len(d.Entries) == 0 {
		return
	}
	upTo := d.Close.UpTo
	if upTo == 0 || m.seq < upTo {
		d.Close = nil
		return
	}
	for len(d.Entries) > 0 && d.Entries[len(d.Entries)-1].after > upTo {
		d.Entries = d.Entries[:len(d.Entries)-1]
	}
}

// takeControl moves the frames for this member alone to dst.
func (m *Member) takeControl(dst []byte) ([]byte, *Closing) {
	m.mu.Lock()
	if len(m.control) == 0 && !m.welcomeDue && !m.pingDue && m.pong == nil && m.closing == nil {
		m.mu.Unlock()
		return dst, nil
	}
	if !m.welcomed && m.welcomeDue { // the first frame, whatever else is there
		m.welcomeDue = false
		m.mu.Unlock() // what a welcome tells is guarded by the space's own locks
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
		dst = append(dst, frame.Ping...)
	}
	if pong != nil {
		dst = frame.AppendPong(dst, pong)
	}
	return dst, closing
}

// newControl makes an envelope that the gateway says to this member.
func (m *Member) newControl(kind protocol.Kind, correlation protocol.ID, payload any) *protocol.Envelope {
	e, err := protocol.FromGateway(m.space.hub.newID(), kind, m.space.now(), payload)
	if err != nil { // what the gateway says is made of types that marshal
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
	m.control = appendFrame(m.control, m.CurrentDialect(), e)
	m.mu.Unlock()
	m.wake()
}

// SendControl sends an envelope of the gateway's own to this member alone. Only the
// member's reader may call it: it waits while the writer is behind, which is
// how a client that sends and does not read is slowed down.
func (m *Member) SendControl(kind protocol.Kind, correlation protocol.ID, payload any) {
	e := m.newControl(kind, correlation, payload)
	m.mu.Lock()
	for len(m.control) > maxControlBytes && m.closing == nil {
		m.drained.Wait()
	}
	m.control = appendFrame(m.control, m.CurrentDialect(), e)
	m.mu.Unlock()
	m.wake()
}

// Refuse answers an envelope by system.error; id is empty when it could not
// be read.
func (m *Member) Refuse(id protocol.ID, err *protocol.Error) {
	m.SendControl(protocol.KindSystemError, id, err)
}

// Notify makes Next return, even with nothing to deliver: a writer that has more
// to say than what the member finds is to look.
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

// Pong asks the writer to answer a ping; of several, the last is answered.
func (m *Member) Pong(payload []byte) {
	m.mu.Lock()
	m.pong = append(make([]byte, 0, len(payload)), payload...)
	m.mu.Unlock()
	m.wake()
}

// OnClose sets what is called when the connection is to end, so that a writer
// that hangs on its peer can be hurried.
func (m *Member) OnClose(f func()) {
	m.mu.Lock()
	m.onClose = f
	m.mu.Unlock()
}

// Limits returns the limits that hold for the member.
func (m *Member) Limits() protocol.Limits { return m.space.settings(m.ID).Limits }

// Close asks the writer to end the connection, behind what is there to
// deliver unless c.Now. The first call decides.
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

// Closed is closed when the member's writer has written its last.
func (m *Member) Closed() <-chan struct{} { return m.closed }

// MarkClosed says that nothing more is written. Only the member's writer may
// call it, once.
func (m *Member) MarkClosed() {
	m.Close(Closing{Code: protocol.CloseNormal, Now: true}) // nobody waits for room any more
	close(m.closed)
}

// Acknowledge answers an admitted envelope by system.ack.
func (m *Member) Acknowledge(id protocol.ID, seq protocol.Seq) {
	m.SendControl(protocol.KindSystemAck, id, protocol.Ack{Seq: seq})
}

// Ending reports whether the connection is to end.
func (m *Member) Ending() bool { return m.isClosing() }

func (m *Member) isClosing() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closing != nil
}

// Subscribe puts a filter in force, and tells the member so.
func (m *Member) Subscribe(correlation protocol.ID, f protocol.Filter) *protocol.Error {
	matcher, err := f.Compile()
	if err != nil {
		return err
	}
	m.matcher.Store(matcher)
	m.SendControl(protocol.KindSystemSubscribed, correlation, f)
	return nil
}
