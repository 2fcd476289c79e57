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
// participant sends the next one when the last has come back.
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
		r.conns[i].frame = r.conns[i].encode(body, 1)
		if err := r.say(r.conns[i]); err != nil {
			return nil, err
		}
	}
	if err := r.pollUntil(after(o.warmUp)); err != nil {
		return nil, err
	}
	delivered, sent := r.delivered, r.sent
	profile := s.profileInto(o.profileFile("spaces"), o.seconds)
	p, err := s.measure(func() error { return r.pollUntil(after(o.seconds)) })
	delivered, sent = r.delivered-delivered, r.sent-sent
	memory, memoryErr := s.memory("VmRSS")
	if err := errors.Join(err, memoryErr, r.finish(), <-profile); err != nil {
		return nil, err
	}
	return figures{
		"envelopes": p.perSecond(sent), "deliveries": p.perSecond(delivered),
		"cpu": p.cpuMicroseconds(delivered), "memory": float64(memory) / 1e6,
	}, nil
}

func (r *rooms) say(c *conn) error {
	r.sent++
	return c.write(c.frame)
}

func (r *rooms) visit(c *conn, _ []byte) error {
	r.delivered++
	if !r.talking || c.id%roomSeats != 0 {
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
	if err := r.pollUntil(func() bool { return late() || r.delivered >= roomSeats*r.sent }); err != nil {
		return err
	}
	if r.delivered != roomSeats*r.sent {
		return fmt.Errorf("%d of %d deliveries", r.delivered, roomSeats*r.sent)
	}
	return nil
}
