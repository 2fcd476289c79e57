package journaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

type openRetaining = func(*testing.T, journal.Retention, func() time.Time) journal.Journal

func startClock() time.Time { return start }

// waitFor waits until the space lab has exactly these entries.
func (s *subject) waitFor(t *testing.T, want ...protocol.Seq) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("the space holds %v", want), func() bool {
		return slices.Equal(seqsOf(s.read(t, "lab", journal.Query{})), want)
	})
}

func testRetentionByAge(t *testing.T, open openRetaining) {
	s := follow(t, open(t, journal.Retention{Age: time.Hour}, startClock))
	old, fresh := at(start.Add(-2*time.Hour)), at(start.Add(-time.Minute))
	known := checkedAt(1 << 40)
	q := s.must(t, "lab",
		draft("a", old, within("x"), settles("p-1")), draft("b", old, state, within("x")), draft("c", old, known),
		draft("d", fresh, known), draft("e", fresh, known, within("x")))
	keep := s.must(t, "other", draft("a", fresh))

	s.waitFor(t, q[1], q[3], q[4])
	s.want(t, "lab", journal.Query{Context: "x"}, q[1], q[4])
	s.want(t, "lab", journal.Query{StateOnly: true}, q[1])
	s.want(t, "other", journal.Query{}, keep...)
	oldest, newest, err := s.Bounds(context.Background(), "lab")
	if oldest <= q[2] || oldest > q[3] || newest != q[4] || err != nil {
		t.Errorf("Bounds = %d, %d, %v; want above %d to %d, and %d", oldest, newest, err, q[2], q[3], q[4])
	}
	if _, err := s.Lookup(context.Background(), "lab", "c"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("Lookup of what was dropped: %v", err)
	}
	if _, err := s.Lookup(context.Background(), "lab", "b"); err != nil {
		t.Errorf("Lookup of a state entry: %v", err)
	}
	s.must(t, "lab", draft("f", fresh, known, settles("p-1"))) // the decision was dropped too
}

func testRetentionByBytes(t *testing.T, open openRetaining) {
	const limit = 200 << 10
	s := follow(t, open(t, journal.Retention{Bytes: limit}, startClock))
	first := s.must(t, "lab", draft("s", state))
	kilobyte := make([]byte, 1000)
	for i := range kilobyte {
		kilobyte[i] = 'x'
	}
	var last [2]protocol.Seq
	for i := range 600 {
		space := i % 2
		d := draft(protocol.ID(fmt.Sprintf("m-%d", i)), checkedAt(1<<40), at(start.Add(time.Duration(i)*time.Second)))
		d.Envelope.Payload = []byte(`{"message":"` + string(kilobyte) + `"}`)
		last[space] = s.must(t, []string{"lab", "other"}[space], d)[0]
	}
	var lab, other []*journal.Entry
	testkit.Eventually(t, "the log keeps to its bytes, oldest entries first in both spaces", func() bool {
		lab, other = s.read(t, "lab", journal.Query{}), s.read(t, "other", journal.Query{})
		if len(lab) < 2 || len(other) < 1 {
			t.Fatalf("%d and %d entries are left", len(lab), len(other))
		}
		apart := lab[1].Envelope.TS.Sub(other[0].Envelope.TS).Abs()
		return len(lab)+len(other) <= limit/1000 && apart <= time.Second
	})
	if n := len(lab) + len(other); n < limit/1000/2 {
		t.Errorf("only %d entries are left", n)
	}
	if lab[0].Envelope.Seq != first[0] || lab[len(lab)-1].Envelope.Seq != last[0] ||
		other[len(other)-1].Envelope.Seq != last[1] {
		t.Error("the state entry or the newest ones are gone")
	}
}

func testRetentionOfEverything(t *testing.T, open openRetaining) {
	s := follow(t, open(t, journal.Retention{Age: time.Hour}, startClock))
	old := at(start.Add(-2 * time.Hour))
	q := s.must(t, "lab", draft("a", old), draft("b", old), draft("c", old))
	s.waitFor(t)
	testkit.Eventually(t, "Bounds tell what was dropped", func() bool {
		oldest, newest, err := s.Bounds(context.Background(), "lab")
		return oldest == q[2]+1 && newest == q[2] && err == nil
	})
	next := s.must(t, "lab", draft("d"))
	if next[0] <= q[2] {
		t.Errorf("the number %d was given out again after %d", next[0], q[2])
	}
	s.want(t, "lab", journal.Query{}, next...)
}

// The records of the gateways are dropped after their own timestamps, with any retention.
func testRetentionOfGatewayLog(t *testing.T, open openRetaining) {
	for name, ret := range map[string]journal.Retention{"none": {}, "bytes": {Bytes: 1}, "age": {Age: time.Hour}} {
		t.Run(name, func(t *testing.T) {
			s := follow(t, open(t, ret, startClock))
			known := checkedAt(1 << 40)
			q := s.must(t, journal.GatewayLog,
				draft("secret", at(start.Add(-2*time.Hour)), state), draft("old", at(start.Add(-2*time.Minute)), known),
				draft("older", at(start.Add(-2*time.Hour)), known), draft("needed", at(start.Add(time.Minute)), known))
			testkit.Eventually(t, "what is needed no more is dropped", func() bool {
				return slices.Equal(seqsOf(s.read(t, journal.GatewayLog, journal.Query{})), []protocol.Seq{q[0], q[3]})
			})
			if _, err := s.Lookup(context.Background(), journal.GatewayLog, "old"); !errors.Is(err, journal.ErrNotFound) {
				t.Errorf("Lookup of what was dropped: %v", err)
			}
			if base, err := s.Base(journal.GatewayLog); err != nil || base.Before != 0 {
				t.Errorf("it has a base: %+v, %v", base, err)
			}
		})
	}
}

// A clock with a monotonic reading, like time.Now's, jumps ahead by more than the age.
func testRetentionAfterClockJump(t *testing.T, open openRetaining) {
	began := time.Now()
	var jump, readings atomic.Int64
	clock := func() time.Time {
		readings.Add(1)
		elapsed := time.Since(began)
		return testkit.ClockReading(t, began, elapsed+time.Duration(jump.Load()), elapsed)
	}
	s := follow(t, open(t, journal.Retention{Age: time.Hour}, clock))
	want := s.must(t, "lab", draft("old", at(clock().Add(-2*time.Hour))), draft("a", at(clock())))[1:]
	s.waitFor(t, want...)
	jump.Store(int64(2 * time.Hour))
	before, n := readings.Load(), 0
	testkit.Eventually(t, "some rounds of retention have the time after the jump", func() bool {
		n++
		want = append(want, s.must(t, "lab", draft(protocol.ID(fmt.Sprintf("later-%d", n)), at(clock())))...)
		return readings.Load()-before-int64(n) >= 3 // the others are retention's
	})
	s.want(t, "lab", journal.Query{}, want...)
}
