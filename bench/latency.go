//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Parameters of the latency measurement.
const (
	latencyReceivers = 50
	latencyInterval  = 10 * time.Millisecond
)

// The id and the text of an envelope begin with a stamp: a mark, and the send time in
// nanoseconds since the start of the run.
const (
	stampMark   = "::"
	stampDigits = 12
)

// stopwatch sends stamped envelopes at an even pace and records the latency of
// each to each receiver.
type stopwatch struct {
	*crowd
	frame  []byte
	stamps [2][]byte // within frame
	begun  time.Time
	took   []time.Duration

	again bool // the last envelope is to be sent again
}

func latency(s *process, o *options) (figures, error) {
	cr, err := gatherAudience(s, latencyReceivers)
	if err != nil {
		return nil, err
	}
	defer cr.close()
	w := newStopwatch(cr)
	p, err := s.measure(func() error { return w.run(o.seconds) })
	if err == nil && len(w.took) != latencyReceivers*w.sent {
		err = fmt.Errorf("%d deliveries of %d envelopes", len(w.took), w.sent)
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(w.took)
	syncs, err := timeSyncs(o.data, o.pick(100, 20))
	if err != nil {
		return nil, err
	}
	return figures{
		"p50": quantile(w.took, 0.50), "p99": quantile(w.took, 0.99), "cpu": p.cpuMicroseconds(len(w.took)),
		"sync": quantile(syncs, 0.50),
	}, nil
}

func newStopwatch(cr *crowd) *stopwatch {
	for _, c := range cr.conns {
		c.bodies = true
	}
	stamp := stampMark + strings.Repeat("0", stampDigits)
	body := append([]byte(`{"id":"`+stamp+`",`), chat(256, stamp)[1:]...)
	w := &stopwatch{crowd: cr, frame: cr.conns[0].encode(body, 1)}
	at := 0
	for i := range w.stamps {
		at += bytes.Index(w.frame[at:], []byte(stampMark)) + len(stampMark)
		w.stamps[i] = w.frame[at : at+stampDigits]
	}
	return w
}

func (w *stopwatch) run(d time.Duration) error {
	w.begun = time.Now()
	for next := w.begun; time.Since(w.begun) < d; {
		if wait := time.Until(next); wait > 0 {
			if err := w.poller.poll(wait, w.visit); err != nil {
				return err
			}
			continue
		}
		next = next.Add(latencyInterval)
		if err := w.send(); err != nil {
			return err
		}
	}
	return w.drain(w.visit)
}

func (w *stopwatch) send() error {
	now := fmt.Sprintf("%0*d", stampDigits, time.Since(w.begun).Nanoseconds())
	for _, stamp := range w.stamps {
		copy(stamp, now)
	}
	w.sent++
	return w.conns[0].write(w.frame)
}

// once sends an envelope and waits until all connections have received it. While the
// server answers that its log is unavailable, or that the outcome is unknown, it sends
// the envelope again, with the same id.
func (w *stopwatch) once() error {
	if err := w.send(); err != nil {
		return err
	}
	for late := after(time.Minute); w.slowest < w.sent; {
		if late() {
			return errors.New("an envelope did not arrive within a minute")
		}
		if err := w.poller.poll(100*time.Millisecond, w.visitOrRefusal); err != nil {
			return err
		}
		if w.again {
			time.Sleep(latencyInterval)
			w.again = false
			if err := w.conns[0].write(w.frame); err != nil {
				return err
			}
		}
	}
	return nil
}

// visitOrRefusal is visit for a time of faults: it notes refusals, and ignores
// notices.
func (w *stopwatch) visitOrRefusal(c *conn, body []byte) error {
	if bytes.Contains(body, []byte(`"message":"`+stampMark)) {
		return w.visit(c, body)
	}
	c.frames--
	w.again = w.again || bytes.Contains(body, []byte(`"unavailable"`)) || bytes.Contains(body, []byte(`"outcome_unknown"`))
	return nil
}

func (w *stopwatch) visit(c *conn, body []byte) error {
	at := bytes.Index(body, []byte(stampMark)) + len(stampMark)
	if at < len(stampMark) || len(body) < at+stampDigits {
		return fmt.Errorf("there is no time in %.300s", body)
	}
	sent, err := strconv.ParseInt(string(body[at:at+stampDigits]), 10, 64)
	if c.id > 0 {
		w.took = append(w.took, time.Since(w.begun)-time.Duration(sent))
	}
	return errors.Join(err, w.crowd.visit(c, body))
}

// timeSyncs appends 400 bytes to a file below dir n times, at the pace of the latency
// measurement, and returns how long each fdatasync took, sorted.
func timeSyncs(dir string, n int) (took []time.Duration, err error) {
	f, err := os.CreateTemp(dir, "meup-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a file to sync: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	entry := make([]byte, 400)
	for range n {
		time.Sleep(latencyInterval)
		if _, err := f.Write(entry); err != nil {
			return nil, err
		}
		begun := time.Now()
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return nil, fmt.Errorf("sync a file: %w", err)
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	return took, nil
}

// quantile is in milliseconds; took is sorted.
func quantile(took []time.Duration, q float64) float64 {
	return took[int(q*float64(len(took)-1))].Seconds() * 1000
}
