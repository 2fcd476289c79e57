//go:build linux

package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// roomSeats is how many participants each of many spaces has.
const roomSeats = 4

// rooms has one envelope in flight in each of many spaces: its first
// participant sends the next one when the last has come back and is acknowledged.
type rooms struct {
	*crowd
	talking bool
}

// roomsOf returns the seats of many spaces. Each space has another first
// participant, since the spaces that one participant creates are limited.
func roomsOf(spaces int) []seat {
	var seats []seat
	for i := range spaces * roomSeats {
		space := i / roomSeats
		seats = append(seats, seat{"s-" + strconv.Itoa(space), participantName((space + i%roomSeats) % participants), ""})
	}
	return seats
}

// idleSpaces measures the memory of many spaces with idle connections.
func idleSpaces(spaces int) func(s *process, o *options) (figures, error) {
	return idle("configured", roomsOf(spaces))
}

func manySpaces(spaces int) func(s *process, o *options) (figures, error) {
	return func(s *process, o *options) (figures, error) {
		cr, err := gather(s, roomsOf(spaces))
		if err != nil {
			return nil, err
		}
		defer cr.close()
		return (&rooms{crowd: cr}).run(s, o)
	}
}

func (r *rooms) run(s *process, o *options) (figures, error) {
	r.talking = true
	body := chat(256, "")
	for i := 0; i < len(r.conns); i += roomSeats {
		r.conns[i].frame, r.conns[i].onAck = r.conns[i].encode(body, 1), r.next
		if err := r.say(r.conns[i]); err != nil {
			return nil, err
		}
	}
	if err := r.pollUntil(after(o.warmUp)); err != nil {
		return nil, err
	}
	delivered := r.delivered
	profile := s.profileInto(o.profileFile("spaces"), o.seconds)
	p, err := s.measure(func() error { return r.pollUntil(after(o.seconds)) })
	delivered = r.delivered - delivered
	return figures{"deliveries": p.perSecond(delivered), "cpu": p.cpuMicroseconds(delivered)}, errors.Join(err, r.finish(), <-profile)
}

func (r *rooms) say(c *conn) error {
	c.sent++
	return c.write(c.frame)
}

func (r *rooms) visit(c *conn, body []byte) error {
	r.delivered++
	if c.id%roomSeats != 0 {
		return nil
	}
	return r.next(c, body)
}

// next sends the next envelope, unless one is in flight.
func (r *rooms) next(c *conn, _ []byte) error {
	if !r.talking || c.frames < c.sent || c.acknowledges && c.acks < c.sent {
		return nil
	}
	return r.say(c)
}

func (r *rooms) pollUntil(stop func() bool) error {
	for !stop() {
		if err := r.poller.poll(100*time.Millisecond, r.visit); err != nil {
			return err
		}
	}
	return nil
}

// finish waits until everything has arrived.
func (r *rooms) finish() error {
	r.talking = false
	late := after(time.Minute)
	if err := r.pollUntil(func() bool { return late() || r.complete() == nil }); err != nil {
		return err
	}
	return r.complete()
}

// complete returns an error while a connection has more or fewer frames or
// acknowledgments than were sent in its space.
func (r *rooms) complete() error {
	for i, c := range r.conns {
		sender := r.conns[i-i%roomSeats]
		if c.frames != sender.sent || sender.acknowledges && sender.acks != sender.sent {
			return fmt.Errorf("connection %d has %d frames of %d, of which %d are acknowledged", i, c.frames, sender.sent, sender.acks)
		}
	}
	return nil
}
