package client

import (
	"fmt"
	"testing"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// A full outbox at a gateway that admits 100 envelopes per second: after the first
// rejections, envelopes are written at that rate, and hardly one is rejected again.
func TestOutbox_Pace(t *testing.T) {
	o := newOutbox(200, func() {})
	for i := range 200 {
		if err := o.add(t.Context(), nil, &Pending{ID: protocol.ID(fmt.Sprint(i)), done: make(chan struct{})}); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	tokens, last, rejected := 0.0, now, 0
	var flying []*Pending
	answer := func() { // the gateway charges a rejected envelope, too
		for _, p := range flying {
			tokens = min(200, tokens+now.Sub(last).Seconds()*100)
			last = now
			if tokens >= 1 {
				o.answer(p.ID, protocol.Ack{Seq: 1}, nil)
			} else {
				rejected++
				o.scheduleRetry(p.ID, func(int) time.Time { return now.Add(10 * time.Millisecond) }, 10*time.Millisecond)
			}
			tokens = max(0, tokens-1)
		}
		flying = nil
	}
	for range 20_000 {
		p, wait := o.next(now)
		switch {
		case p != nil:
			flying = append(flying, p)
			if len(flying) == 64 {
				answer()
			}
		case len(flying) > 0:
			answer()
		case wait > 0:
			now = now.Add(wait)
		default:
			if rejected > 100 {
				t.Errorf("%d rejections of 200 envelopes", rejected)
			}
			return
		}
	}
	t.Errorf("not all were admitted; %d rejections", rejected)
}
