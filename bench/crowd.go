//go:build linux

package main

import (
	"errors"
	"fmt"
	"time"
)

// crowd is a number of connections to one room. Each receives all its frames,
// including its own.
type crowd struct {
	poller  *poller
	quiet   time.Duration // after which no more notices are expected
	conns   []*conn
	senders []*conn // some of conns

	sent      int // frames, of all senders together
	next      int // index of the next sender
	delivered int // frames, at all connections together

	// reached counts, for each of the last frames, the connections that have
	// received it; slowest is the number of frames that all connections have
	// received.
	reached [maxLag]int
	slowest int
}

// maxLag bounds the lag of the slowest receiver: below the size of a gateway's
// ring, so that fan-out is measured and not replay.
const maxLag = 2048

// seat describes a connection to make.
type seat struct{ space, participant, query string }

// gather connects all seats and waits until no more presence notices arrive.
func gather(s *process, seats []seat) (*crowd, error) {
	return gatherAt(func(int) *process { return s }, seats, 200*time.Millisecond)
}

// gatherAt connects each seat to the server of its index, and waits until nothing
// has arrived for a while.
func gatherAt(server func(i int) *process, seats []seat, quiet time.Duration) (*crowd, error) {
	p, err := newPoller()
	if err != nil {
		return nil, err
	}
	cr := &crowd{poller: p, quiet: quiet}
	for i, at := range seats {
		c, err := server(i).connect(at)
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

// settle reads until no more data arrives, and resets the counters.
func (cr *crowd) settle() error {
	ignore := func(*conn, []byte) error { return nil }
	for _, c := range cr.conns {
		if err := c.takeRest(ignore); err != nil {
			return err
		}
	}
	last := time.Now()
	for time.Since(last) < cr.quiet {
		before := cr.total()
		if err := cr.poller.poll(cr.quiet/4, ignore); err != nil {
			return err
		}
		if cr.total() != before {
			last = time.Now()
		}
	}
	for _, c := range cr.conns {
		c.frames, c.acks = 0, 0
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

// visit counts a frame that a connection has received.
func (cr *crowd) visit(c *conn, _ []byte) error {
	cr.delivered++
	if c.frames > cr.sent {
		return fmt.Errorf("connection %d has %d frames of %d", c.id, c.frames, cr.sent)
	}
	at := (c.frames - 1) % maxLag
	cr.reached[at]++
	if cr.reached[at] == len(cr.conns) {
		cr.reached[at] = 0
		cr.slowest++
	}
	return nil
}

// echoed returns the number of frames that all senders have received back.
func (cr *crowd) echoed() int {
	n := cr.sent
	for _, c := range cr.senders {
		n = min(n, c.frames)
	}
	return n
}

// acknowledged returns the number of frames that the server has acknowledged.
func (cr *crowd) acknowledged() int {
	if !cr.conns[0].acknowledges {
		return cr.sent
	}
	n := 0
	for _, c := range cr.senders {
		n += c.acks
	}
	return n
}

// talk keeps window frames in flight until stop returns true: a frame is until it is
// acknowledged, and all senders have received it. frames holds window copies of one frame.
func (cr *crowd) talk(frames []byte, window int, stop func() bool) error {
	size := len(frames) / window
	for !stop() {
		room := min(window-(cr.sent-min(cr.echoed(), cr.acknowledged())), maxLag-(cr.sent-cr.slowest))
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

// drain waits until all connections have received all frames, and these are acknowledged.
func (cr *crowd) drain(visit frameHandler) error {
	end := time.Now().Add(time.Minute)
	for cr.slowest < cr.sent || cr.acknowledged() < cr.sent {
		if time.Now().After(end) {
			return fmt.Errorf("after a minute somebody has %d frames of %d, and %d are acknowledged", cr.slowest, cr.sent, cr.acknowledged())
		}
		if err := cr.poller.poll(100*time.Millisecond, visit); err != nil {
			return err
		}
	}
	if n := cr.acknowledged(); n != cr.sent {
		return fmt.Errorf("%d acknowledgments of %d frames", n, cr.sent)
	}
	return nil
}

// after returns a stop function that returns true after d.
func after(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return func() bool { return time.Now().After(end) }
}

// reading is a snapshot of a server's resource usage.
type reading struct {
	at  time.Time
	cpu time.Duration
}

func (s *process) read() (reading, error) {
	cpu, err := s.cpu()
	return reading{time.Now(), cpu}, err
}

// span is the difference of two readings.
type span struct{ wall, cpu time.Duration }

// measure runs f and returns the wall time and the server's CPU time.
func (s *process) measure(f func() error) (span, error) {
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

func (p span) perSecond(n int) float64 { return float64(n) / p.wall.Seconds() }

func (p span) cpuMicroseconds(n int) float64 {
	return float64(p.cpu.Microseconds()) / float64(max(n, 1))
}

var errNothing = errors.New("nothing was delivered")
