package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/meup-protocol/meup/internal/natsconn"
)

// Defaults of [Options]. A gateway that is killed is forgotten after Expiry
// and, at the most, one Interval.
const (
	DefaultPrefix   = "meup"
	DefaultInterval = 2 * time.Second
	DefaultExpiry   = 6 * time.Second
)

// Bounds of what waits to be handled. What does not fit is dropped: of live
// messages, that is their nature; rosters repair themselves.
const (
	pendingMessages = 16_384
	pendingBytes    = 32 << 20
)

// byeWait bounds how long Close waits for NATS to take the goodbye.
const byeWait = time.Second

// Options say where the others are. Zero values stand for the defaults.
type Options struct {
	// Conn is the connection to use; the caller closes it, after the Peers.
	// Without it they make their own, with natsconn.Connect.
	Conn *nats.Conn
	URL  string // where NATS is, if Conn is nil

	Prefix   string        // begins all subjects
	Interval time.Duration // between heartbeats
	Expiry   time.Duration // silence after which a gateway is taken for dead

	// Now is the clock by which gateways are taken for dead; nil: time.Now.
	Now func() time.Time
	// Logger is told of gateways that come and go; nil: nobody.
	Logger *slog.Logger
}

// ErrNotConnected: NATS is away; a live message reaches nobody.
var ErrNotConnected = errors.New("not connected to NATS")

// Peers are the other gateways. All methods may be called concurrently;
// Subscribe and OnRoster once each.
type Peers struct {
	nc       *nats.Conn
	ownConn  bool
	opts     Options
	log      *slog.Logger
	subjects subjects
	gateway  string // random

	sub      *nats.Subscription
	messages chan *nats.Msg // without room: the subscription's bounds count
	wake     chan struct{}  // there is something in dirty
	retell   chan struct{}  // OnRoster was called
	stop     chan struct{}
	running  sync.WaitGroup
	closing  sync.Once

	onMessage atomic.Pointer[func(space string, message []byte)]
	onRoster  atomic.Pointer[func(space string, here []RosterEntry)]

	// Owned by run.
	version  uint64
	answered time.Time        // when the last snapshot was sent
	due      <-chan time.Time // when the next one is; nil: nobody asked

	mu    sync.Mutex
	table *table
	local map[string][]RosterEntry
	dirty map[string]bool // spaces whose roster has not been announced
}

// Join makes a gateway known to the others and them to it. It does not wait
// for NATS: who is away is found later. Err: a connection that cannot be.
func Join(o Options) (*Peers, error) {
	o = o.withDefaults()
	p := &Peers{
		nc: o.Conn, opts: o, log: o.Logger, gateway: nuid.Next(),
		subjects: newSubjects(o.Prefix),
		messages: make(chan *nats.Msg), wake: make(chan struct{}, 1),
		retell: make(chan struct{}, 1), stop: make(chan struct{}),
		table: newTable(o.Expiry),
		local: make(map[string][]RosterEntry), dirty: make(map[string]bool),
	}
	if p.nc == nil {
		nc, err := natsconn.Connect(o.URL, o.Logger)
		if err != nil {
			return nil, fmt.Errorf("join the other gateways: %w", err)
		}
		p.nc, p.ownConn = nc, true
	}
	if err := p.listen(); err != nil {
		p.hangUp()
		return nil, fmt.Errorf("join the other gateways: %w", err)
	}
	p.running.Go(p.run)
	return p, nil
}

func (o Options) withDefaults() Options {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	if o.Expiry <= 0 {
		o.Expiry = DefaultExpiry
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (p *Peers) listen() error {
	sub, err := p.nc.Subscribe(p.subjects.all(), func(m *nats.Msg) {
		select {
		case p.messages <- m:
		case <-p.stop:
		}
	})
	if err != nil {
		return err
	}
	p.sub = sub
	return sub.SetPendingLimits(pendingMessages, pendingBytes)
}

// Subscribe sets who gets the live messages of the other gateways, those of one
// gateway in their order. f must not block and must not call Close.
func (p *Peers) Subscribe(f func(space string, message []byte)) { p.onMessage.Store(&f) }

// OnRoster sets who is told when the other gateways' participants in a space
// change: all of them, as Remote returns them. It is told of those that are
// there already, too. f must not block and must not call Close.
func (p *Peers) OnRoster(f func(space string, here []RosterEntry)) {
	p.onRoster.Store(&f)
	p.retell <- struct{}{}
}

// Publish sends a live message to the other gateways. Err: ErrNotConnected, or
// a message that is too large for NATS.
func (p *Peers) Publish(space string, message []byte) error {
	if !p.nc.IsConnected() {
		return fmt.Errorf("publish live message: %w", ErrNotConnected)
	}
	if err := p.nc.Publish(p.subjects.live(p.gateway, space), message); err != nil {
		return fmt.Errorf("publish live message: %w", err)
	}
	return nil
}

// SetRoster says who is connected to this gateway in a space; nobody, if
// participants is empty. It is announced soon and does not wait.
func (p *Peers) SetRoster(space string, participants []RosterEntry) {
	here := slices.Clone(participants)
	sortRoster(here)
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Equal(p.local[space], here) {
		return
	}
	if len(here) > 0 {
		p.local[space] = here
	} else {
		delete(p.local, space)
	}
	p.dirty[space] = true
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Remote returns who is connected to the other gateways in a space, sorted by
// id, the connections of all of them added up.
func (p *Peers) Remote(space string) []RosterEntry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.table.union(space)
}

// Close says goodbye: this gateway's participants leave the others' rosters at
// once.
func (p *Peers) Close() error {
	p.closing.Do(func() {
		close(p.stop)
		p.running.Wait()
		_ = p.sub.Unsubscribe() // only fails on a connection that is closed
		p.sendControl(opBye, struct{}{})
		if p.nc.IsConnected() {
			_ = p.nc.FlushTimeout(byeWait) // then the others find out by themselves
		}
		p.hangUp()
	})
	return nil
}

func (p *Peers) hangUp() {
	if p.ownConn {
		p.nc.Close()
	}
}

// takeDirty returns the spaces to announce and their rosters.
func (p *Peers) takeDirty() map[string][]RosterEntry {
	p.mu.Lock()
	defer p.mu.Unlock()
	changes := make(map[string][]RosterEntry, len(p.dirty))
	for space := range p.dirty {
		changes[space] = p.local[space]
	}
	clear(p.dirty)
	return changes
}

// remoteSpaces returns where other gateways have anybody.
func (p *Peers) remoteSpaces() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.table.spaces()
}

// localRosters returns a copy of all rosters; the entries are shared.
func (p *Peers) localRosters() map[string][]RosterEntry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.local)
}
