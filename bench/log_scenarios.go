//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// stoppedPairs is how many phases without a stopped reader alternate with as many
// with one, so that both see the same caches, compactions and other load.
const stoppedPairs = 4

// stoppedReader has one connection that reads nothing while envelopes are delivered
// to ten others. A gateway must not slow down, and then delivers all of them to that
// connection. The bare broadcaster, which keeps little, disconnects it.
func stoppedReader(s *process, o *options) (figures, error) {
	cr, err := gatherAudience(s, 10)
	if err != nil {
		return nil, err
	}
	defer cr.close()
	if _, _, err := cr.sendKilobytes(s, o.warmUp); err != nil {
		return nil, err
	}
	var all []figures
	for pair := range stoppedPairs {
		profile := s.profileInto(o.profileFile("unstopped"), o.seconds)
		before, cpu, err := cr.sendKilobytes(s, o.seconds)
		if err := errors.Join(err, <-profile); err != nil {
			return nil, err
		}
		f, err := cr.sendPast(s, o)
		if err != nil {
			return nil, fmt.Errorf("phase %d: %w", pair, err)
		}
		f["before"], f["kept"], f["cost"] = before, 100*f["during"]/before, 100*f["cpu"]/cpu
		all = append(all, f)
	}
	f := medians(all)
	memory, err := s.memory("VmHWM")
	f["memory"] = float64(memory) / 1e6
	return f, err
}

// stoppedLong has a connection that reads nothing for 150 times the configured time,
// between two phases without one.
func stoppedLong(s *process, o *options) (figures, error) {
	cr, err := gatherAudience(s, 10)
	if err != nil {
		return nil, err
	}
	defer cr.close()
	if _, _, err := cr.sendKilobytes(s, o.warmUp); err != nil {
		return nil, err
	}
	before, cpuBefore, err := cr.sendKilobytes(s, 30*o.seconds)
	if err != nil {
		return nil, err
	}
	long := *o
	long.seconds *= 150
	f, err := cr.sendPast(s, &long)
	if err != nil {
		return nil, err
	}
	after, cpuAfter, err := cr.sendKilobytes(s, 30*o.seconds)
	if err != nil {
		return nil, err
	}
	f["before"], f["after"] = before, after
	f["kept"], f["cost"] = 200*f["during"]/(before+after), 200*f["cpu"]/(cpuBefore+cpuAfter)
	memory, err := s.memory("VmHWM")
	f["memory"] = float64(memory) / 1e6
	return f, err
}

// sendKilobytes sends envelopes of 1 kB, 64 in flight, for a time, and waits until
// all connections have received them. It returns the rate per second, and the
// server's CPU time for each.
func (cr *crowd) sendKilobytes(s *process, d time.Duration) (rate, cpu float64, err error) {
	const window = 64
	sent, frames := cr.sent, cr.conns[0].encode(chat(1000, ""), window)
	p, err := s.measure(func() error { return errors.Join(cr.talk(frames, window, after(d)), cr.drain(cr.visit)) })
	return p.perSecond(cr.sent - sent), p.cpuMicroseconds(cr.sent - sent), err
}

// sendPast sends envelopes while one connection reads nothing, until all others have
// received them. Then that connection reads them.
func (cr *crowd) sendPast(s *process, o *options) (figures, error) {
	sleeper, err := s.connect(seat{"bench", participantName(2), ""})
	if err != nil {
		return nil, err
	}
	closed := sync.OnceFunc(sleeper.close)
	defer closed()
	if err := cr.settle(); err != nil { // discards the presence notice of that connection
		return nil, err
	}
	profile := s.profileInto(o.profileFile("stopped"), o.seconds)
	during, cpu, err := cr.sendKilobytes(s, o.seconds)
	if err := errors.Join(err, <-profile); err != nil {
		return nil, err
	}
	f := figures{"during": during, "cpu": cpu}
	if s.keepsLog() {
		begun := time.Now()
		if err := readLog(sleeper, cr.sent, true); err != nil {
			return nil, fmt.Errorf("the reader that had stopped: %w", err)
		}
		f["caughtUp"] = float64(cr.sent) / time.Since(begun).Seconds()
	}
	closed()
	return f, cr.settle() // discards the notice that it left
}

// replay fills a log and reads it from the beginning.
func replay(n int) func(s *process, o *options) (figures, error) {
	return func(s *process, o *options) (figures, error) {
		cr, err := gather(s, []seat{{"bench", participantName(0), ""}, {"bench", participantName(1), ""}})
		if err != nil {
			return nil, err
		}
		defer cr.close()
		cr.senders = cr.conns
		const window = 250
		begun := time.Now()
		if err := cr.talk(cr.conns[0].encode(chat(256, ""), window), window, func() bool { return cr.sent >= n }); err != nil {
			return nil, err
		}
		if err := cr.drain(cr.visit); err != nil {
			return nil, err
		}
		fill := float64(cr.sent) / time.Since(begun).Seconds()
		profile := s.profileInto(o.profileFile("replay"), time.Second)
		p, err := s.measure(func() error { return fromTheBeginning(s, cr.sent) })
		return figures{"envelopes": p.perSecond(cr.sent), "cpu": p.cpuMicroseconds(cr.sent), "fill": fill}, errors.Join(err, <-profile)
	}
}

func fromTheBeginning(s *process, n int) error {
	c, err := s.connect(seat{"bench", participantName(0), "&since=0"})
	if err != nil {
		return err
	}
	defer c.close()
	return readLog(c, n, s.keepsLog())
}

// readLog reads n envelopes, each within a minute of the one before. The seq of entries of
// a log must increase; envelopes without one (presence) are not counted.
func readLog(c *conn, n int, ofLog bool) error {
	p, err := newPoller()
	if err != nil {
		return err
	}
	defer func() { p.conns = nil; p.close() }() // the connection belongs to the caller
	if err := p.add(c); err != nil {
		return err
	}
	c.bodies = ofLog
	got, last := 0, int64(0)
	visit := func(_ *conn, body []byte) error {
		seq, ok := seqOf(body)
		switch {
		case ofLog && !ok:
			return nil
		case ofLog && seq <= last:
			return fmt.Errorf("seq %d behind %d", seq, last)
		}
		last = seq
		got++
		return nil
	}
	err = c.takeRest(visit)
	for seen, late := 0, after(time.Minute); err == nil && got < n && !late(); err = p.poll(100*time.Millisecond, visit) {
		if got > seen { // as long as there are more, a log of any length is read
			seen, late = got, after(time.Minute)
		}
	}
	if err == nil && got != n {
		err = fmt.Errorf("%d envelopes of %d", got, n)
	}
	return err
}

// seqOf reads the last field of an envelope in the dialect meup/v0.1.
func seqOf(body []byte) (int64, bool) {
	const field = `"seq":`
	at := bytes.LastIndexByte(body, ',') + 1
	if !bytes.HasPrefix(body[at:], []byte(field)) {
		return 0, false
	}
	seq, err := strconv.ParseInt(string(body[at+len(field):len(body)-1]), 10, 64)
	return seq, err == nil
}
