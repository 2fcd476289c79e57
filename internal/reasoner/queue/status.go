package queue

import (
	"context"
	"errors"
	"time"
)

// Counts is the state of a queue. Queued and Processing count the jobs of the
// whole queue; Processing includes jobs whose callback is pending. Done and
// Failed count the jobs that this process has settled since it started,
// Canceled all cancellations since then.
type Counts struct {
	Queued, Processing     int64
	Done, Canceled, Failed int64
}

// Counts requests the state of the queue from JetStream.
func (q *Queue) Counts(ctx context.Context) (Counts, error) {
	c := Counts{Done: q.done.Load(), Canceled: q.canceled.Load(), Failed: q.failed.Load()}
	consumer, _ := q.handles()
	if consumer == nil {
		return c, errors.New("the queue is not open")
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	info, err := consumer.Info(ctx)
	if err != nil {
		return c, err
	}
	c.Queued, c.Processing = int64(info.NumPending), int64(info.NumAckPending)
	return c, nil
}

// status logs the counts when they have changed, and at least once per
// StatusEvery. While JetStream does not respond, it logs the last known counts.
func (q *Queue) status(ctx context.Context) {
	tick := time.NewTicker(q.opts.StatusPoll)
	defer tick.Stop()
	var last Counts
	var failing bool
	var printed time.Time
	for {
		c, err := q.Counts(ctx)
		if err != nil {
			c.Queued, c.Processing = last.Queued, last.Processing
		}
		if now := time.Now(); ctx.Err() == nil && (c != last || failing != (err != nil) || now.Sub(printed) >= q.opts.StatusEvery) {
			args := []any{"queued", c.Queued, "processing", c.Processing, "done", c.Done, "canceled", c.Canceled, "failed", c.Failed}
			if err != nil {
				q.log.Warn("queue", append(args, "error", err)...)
			} else {
				q.log.Info("queue", args...)
			}
			last, failing, printed = c, err != nil, now
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
