// Package cluster exchanges the state that the gateways on one NATS share but
// do not log: who is connected where, and messages that are delivered live
// only.
//
// It uses core NATS, which delivers a message at most once. Therefore nothing
// depends on a single message: a roster has a version, every heartbeat contains
// it, and a gateway that has another version requests a snapshot.
//
//	meup.gw.GATEWAY.live.SPACE   a live message, unchanged
//	meup.gw.GATEWAY.beat         heartbeat, every 2 s, with the version of the rosters
//	meup.gw.GATEWAY.roster       who is connected in a space, on every change
//	meup.gw.GATEWAY.snapshot     all rosters, in parts
//	meup.gw.GATEWAY.hello        requests a snapshot from all, or from one
//	meup.gw.GATEWAY.spent        what participants spent from their rate limits, every 0.5 s
//	meup.gw.GATEWAY.bye          the gateway leaves
//
// # Local outages
//
// A gateway whose heartbeats are missing for 6 s is declared dead. But the
// cause may be local: a lost connection, a stopped process. Therefore a gateway
// also receives its own heartbeats, and checks the others only when one
// arrives. While its own heartbeats are missing, it declares no gateway dead;
// when they return, it sends a hello and gives the others time to answer.
//
// # Goroutines
//
// One goroutine, Peers.run, owns the protocol state, sends all messages and
// calls the callbacks. The goroutine of the nats.go subscription passes
// messages to it. Both end with Close.
package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
)

// Defaults of [Options]. A killed gateway is removed after Expiry and at most
// one Interval.
const (
	defaultPrefix   = "meup"
	defaultInterval = 2 * time.Second
	defaultExpiry   = 6 * time.Second
)

// Bounds of the queue of received messages. Further messages are dropped: live
// messages may be lost, and rosters are repaired by the next heartbeat.
const (
	pendingMessages = 16_384
	pendingBytes    = 32 << 20
)

// byeWait bounds how long Close waits until NATS has received the bye message.
const byeWait = time.Second

// Options configures Peers. Zero values select the defaults.
type Options struct {
	// Conn is a connection of natsconn.Connect; the caller closes it, after the
	// Peers.
	Conn *nats.Conn

	Prefix   string        // prefix of all subjects
	Interval time.Duration // between heartbeats
	Expiry   time.Duration // silence after which a gateway is declared dead

	// Now is the clock for Expiry; nil: time.Now.
	Now func() time.Time
	// Logger logs gateways that join and leave; nil: no log.
	Logger *slog.Logger
}

// errNotConnected: there is no connection to NATS, so that a live message
// reaches no gateway.
var errNotConnected = errors.New("not connected to NATS")

// Peers connects to the other gateways. All methods may be called concurrently;
// call Subscribe and OnRoster at most once each.
type Peers struct {
	nc       *nats.Conn
	opts     Options
	log      *slog.Logger
	subjects subjects
	gateway  string // random

	sub      *nats.Subscription
	messages chan *nats.Msg // unbuffered: the limits of the subscription apply
	wake     chan struct{}  // dirty is not empty
	renotify chan struct{}  // OnRoster was called
	stop     chan struct{}
	running  sync.WaitGroup
	closing  sync.Once

	onMessage atomic.Pointer[func(space string, message []byte)]
	onRoster  atomic.Pointer[func(space string, here []RosterEntry)]
	spending  atomic.Pointer[spendingFuncs]

	// Owned by run.
	version  uint64
	answered time.Time        // when the last snapshot was sent
	due      <-chan time.Time // when to send the next snapshot; nil: none requested

	mu    sync.Mutex
	table *table
	local map[string][]RosterEntry
	dirty map[string]bool // spaces whose roster has not been announced
}

// Join announces the gateway to the others and requests their rosters. It does
// not wait for NATS; gateways that are not connected yet are found later. It
// returns an error if the connection cannot be created.
func Join(o Options) (*Peers, error) {
	o.Prefix = cmp.Or(o.Prefix, defaultPrefix)
	o.Interval = cmp.Or(o.Interval, defaultInterval)
	o.Expiry = cmp.Or(o.Expiry, defaultExpiry)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Peers{
		nc: o.Conn, opts: o, log: o.Logger, gateway: uuid.NewString(),
		subjects: newSubjects(o.Prefix),
		messages: make(chan *nats.Msg), wake: make(chan struct{}, 1),
		renotify: make(chan struct{}, 1), stop: make(chan struct{}),
		table: newTable(o.Expiry),
		local: make(map[string][]RosterEntry), dirty: make(map[string]bool),
	}
	var err error
	p.sub, err = p.nc.Subscribe(p.subjects.all(), func(m *nats.Msg) {
		select {
		case p.messages <- m:
		case <-p.stop:
		}
	})
	if err == nil {
		err = p.sub.SetPendingLimits(pendingMessages, pendingBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("join the other gateways: %w", err)
	}
	p.running.Go(p.run)
	return p, nil
}

// Subscribe sets the callback for live messages of the other gateways; those
// from one gateway arrive in order. f must not block and must not call Close.
func (p *Peers) Subscribe(f func(space string, message []byte)) { p.onMessage.Store(&f) }

// OnRoster sets the callback for changes to the participants of other gateways.
// f receives all of them in a space, as Remote returns them. It is also called
// for participants that are already connected. f must not block and must not
// call Close.
func (p *Peers) OnRoster(f func(space string, here []RosterEntry)) {
	p.onRoster.Store(&f)
	p.renotify <- struct{}{}
}

// spendingFuncs are the arguments of ShareSpending.
type spendingFuncs struct {
	take   func() []Spending
	charge func(there []Spending)
}

// ShareSpending exchanges the tokens that participants spend from their rate limits:
// take returns the ones spent at this gateway since its last call, charge receives the
// ones spent at another one. Both must not block and must not call Close.
func (p *Peers) ShareSpending(take func() []Spending, charge func(there []Spending)) {
	p.spending.Store(&spendingFuncs{take, charge})
}

// Publish sends a live message to the other gateways. It returns
// errNotConnected, or an error for a message that is too large for NATS.
func (p *Peers) Publish(space string, message []byte) error {
	if !p.nc.IsConnected() {
		return fmt.Errorf("publish live message: %w", errNotConnected)
	}
	if err := p.nc.Publish(p.subjects.live(p.gateway, space), message); err != nil {
		return fmt.Errorf("publish live message: %w", err)
	}
	return nil
}

// SetRoster sets the participants that are connected to this gateway in a
// space. It does not wait for the announcement.
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

// Remote returns the participants in a space that are connected to other
// gateways, sorted by id, with the sum of their connections.
func (p *Peers) Remote(space string) []RosterEntry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.table.union(space)
}

// Close sends a bye message, so that the others remove this gateway's
// participants at once.
func (p *Peers) Close() error {
	p.closing.Do(func() {
		close(p.stop)
		p.running.Wait()
		_ = p.sub.Unsubscribe() // fails only on a closed connection
		p.sendControl(opBye, struct{}{})
		if p.nc.IsConnected() {
			_ = p.nc.FlushTimeout(byeWait) // on a timeout the others use Expiry
		}
	})
	return nil
}
