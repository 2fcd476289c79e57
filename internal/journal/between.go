package journal

import (
	"context"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// clockSlack is how far the times of entries may deviate from the order of the log.
// An entry gets its time before its position, and gateways have clocks of their
// own.
const clockSlack = 10 * time.Minute

// Between returns bounds for the After and the Before of a Query that needs the
// entries of a period: from (zero: no bound) and before until (zero: no bound). No
// entry of the period is outside of the bounds if no time deviates from the order
// by more than clockSlack; entries of other times can be within them. It reads a
// few entries, and its cost grows with the logarithm of the log. before 0: no bound.
func Between(ctx context.Context, log Reader, space string, from, until time.Time) (after, before protocol.Seq, err error) {
	if from.IsZero() && until.IsZero() {
		return 0, 0, nil
	}
	_, newest, err := log.Bounds(ctx, space)
	if err != nil {
		return 0, 0, err
	}
	if !from.IsZero() {
		after, err = lastBefore(ctx, log, space, newest, from.Add(-clockSlack))
		if err != nil {
			return 0, 0, err
		}
	}
	if !until.IsZero() {
		last, err := lastBefore(ctx, log, space, newest, until.Add(clockSlack))
		if err != nil {
			return 0, 0, err
		}
		before = last + 1
	}
	return after, before, nil
}

// lastBefore returns a position at which the times of the log cross t: the entry at
// it, or the next one before it, is earlier than t, and the next one is not. It is at
// most newest.
func lastBefore(ctx context.Context, log Reader, space string, newest protocol.Seq, t time.Time) (protocol.Seq, error) {
	low, high := protocol.Seq(0), newest // the crossing is in [low, high]
	for low < high {
		middle := low + (high-low)/2
		seq, earlier := high+1, false // no entry after the middle
		for e, err := range log.Range(ctx, space, Query{After: middle, Before: high + 1, Limit: 1}) {
			if err != nil {
				return 0, err
			}
			seq, earlier = e.Envelope.Seq, e.Envelope.TS.Before(t)
		}
		if earlier {
			low = seq
		} else {
			high = middle
		}
	}
	return low, nil
}
