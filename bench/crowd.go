//go:build linux

package main

import (
	"errors"
	"fmt"
	"time"
)

// crowd is a number of connections to one room, all of which get everything
// that is said there, their own words included.
type crowd struct {
	poller  *poller
	conns   []*conn
	senders []*conn // some of conns

	sent      int // frames, of all senders together
	next      int // whose turn it is
	delivered int // frames, at all connections together

	// reached counts for each of the last frames how many connections have it;
	// slowest is how many frames everybody has.
	reached [maxLag]int
	slowest int
}

// maxLag is how far the slowest receiver may be behind: below what a gateway
// keeps in memory, so that fan-out is measured and not the catching up.
const maxLag = 2048

// seat is one connection that is to be made.
type seat struct{ space, participant, query string }

// gather connects all seats and waits until nothing more is said about who has
// come.
func gather(s *server, seats []seat) (*crowd, error) {
	p, err := newPoller()
	if err != nil {
		return nil, err
	}
	cr := &crowd{poller: p}
	for i, at := range seats {
		c, err := connect(s.address, path(at.space, at.query), token(at.participant))
		if err != nil {
			p.close()
			return nil, err
		}
		c.id = i
		cr.conns = append(cr.conns, c)
		if err := p.add(c); err != nil {
			p.close()
			return nil, err
		}
	}
	if err := cr.settle(); err != nil {
		p.close()
		return nil, err
	}
	return cr, nil
}

func (cr *crowd) close() { cr.poller.close() }

// settle reads until it is quiet and counts anew from there.
func (cr *crowd) settle() error {
	const quiet = 200 * time.Millisecond
	ignore := func(*conn, []byte) error { return nil }
	for _, c := range cr.conns {
		if err := c.takeRest(ignore); err != nil {
			return err
		}
	}
	last := time.Now()
	for time.Since(last) < quiet {
		before := cr.total()
		if err := cr.poller.poll(quiet/4, ignore); err != nil {
			return err
		}
		if cr.total() != before {
			last = time.Now()
		}
	}
	for _, c := range cr.conns {
		c.frames = 0
	}
	cr.sent, cr.slowest, cr.reached = 0, 0, [maxLag]int{}
	return nil
}

func (cr *crowd) total() int {
	n := 0
	for _, c := range cr.conns {
		n += c.frames
	}
	return n
}

// visit notes a frame that a connection has got.
func (cr *crowd) visit(c *conn, _ []byte) error {
	cr.delivered++
	if c.frames > cr.sent {
		return fmt.Errorf("connection %d has %d frames of %d", c.id, c.frames, cr.sent)
	}
	at := (c.frames - 1) % maxLag
	if cr.reached[at]++; cr.reached[at] == len(cr.conns) {
		cr.reached[at] = 0
		cr.slowest++
	}
	return nil
}

// echoed returns how many frames have come back to every sender.
func (cr *crowd) echoed() int {
	n := cr.sent
	for _, c := range cr.senders {
		n = min(n, c.frames)
	}
	return n
}

// talk keeps window frames in flight, until stop says so. frames holds window
// copies of one frame.
func (cr *crowd) talk(frames []byte, window int, stop func() bool) error {
	size := len(frames) / window
	for !stop() {
		room := min(window-(cr.sent-cr.echoed()), maxLag-(cr.sent-cr.slowest))
		share := (max(room, 0) + len(cr.senders) - 1) / len(cr.senders)
		for room > 0 {
			n := min(share, room)
			if err := cr.senders[cr.next%len(cr.senders)].write(frames[:n*size]); err != nil {
				return err
			}
			cr.next++
			cr.sent += n
			room -= n
		}
		if err := cr.poller.poll(100*time.Millisecond, cr.visit); err != nil {
			return err
		}
	}
	return nil
}

// drain waits until everybody has everything.
func (cr *crowd) drain(visit visitor) error {
	end := time.Now().Add(time.Minute)
	for cr.slowest < cr.sent {
		if time.Now().After(end) {
			return fmt.Errorf("after a minute somebody has %d frames of %d", cr.slowest, cr.sent)
		}
		if err := cr.poller.poll(100*time.Millisecond, visit); err != nil {
			return err
		}
	}
	return nil
}

// after returns a stop that holds from then on.
func after(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return func() bool { return time.Now().After(end) }
}

// reading is what a server had done at one moment.
type reading struct {
	at  time.Time
	cpu time.Duration
}

func (s *server) read() (reading, error) {
	cpu, err := s.cpu()
	return reading{time.Now(), cpu}, err
}

// span is what lies between two readings.
type span struct{ wall, cpu time.Duration }

// measure runs f and says how long it and the server took.
func (s *server) measure(f func() error) (span, error) {
	from, err := s.read()
	if err != nil {
		return span{}, err
	}
	if err := f(); err != nil {
		return span{}, err
	}
	to, err := s.read()
	return span{to.at.Sub(from.at), to.cpu - from.cpu}, err
}

// perSecond and microseconds are how rates and costs are given.
func (p span) perSecond(n int) float64 { return float64(n) / p.wall.Seconds() }

func (p span) cpuMicroseconds(n int) float64 {
	return float64(p.cpu.Microseconds()) / float64(max(n, 1))
}

// cores returns how many processors the server kept busy.
func (p span) cores() float64 { return p.cpu.Seconds() / p.wall.Seconds() }

var errNothing = errors.New("nothing was delivered")
