package queue

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// work takes one job after the other until taking ends. jobs is what they run
// under.
func (q *Queue) work(taking, jobs context.Context) {
	for taking.Err() == nil {
		err := q.take(taking, jobs)
		if taking.Err() != nil {
			return
		}
		q.log.Warn("queue is interrupted", "error", err)
		pause(taking)
		if err := q.ensureSoon(taking); err != nil && taking.Err() == nil {
			q.log.Error("queue cannot be used", "error", err)
		}
	}
}

// take takes jobs as long as the consumer is there. It asks for one at a time
// and only when it is idle: a job that waits in a worker's memory waits for
// nobody else.
func (q *Queue) take(taking, jobs context.Context) error {
	consumer, _ := q.handles()
	messages, err := consumer.Messages(jetstream.PullMaxMessages(1))
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		msg, err := messages.Next(jetstream.NextContext(taking))
		switch {
		case err == nil:
			q.handle(jobs, msg)
		case taking.Err() != nil:
			giveBack(messages)
			return taking.Err()
		case errors.Is(err, jetstream.ErrNoHeartbeat):
			// NATS is away for a moment; the library asks again.
		default:
			return err
		}
	}
}

// giveBack returns a job that came while the worker was told to end.
func giveBack(messages jetstream.MessagesContext) {
	messages.Drain()
	for {
		msg, err := messages.Next(jetstream.NextMaxWait(time.Second))
		if err != nil {
			return
		}
		_ = msg.Nak() // or AckWait passes
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(retryWait):
	}
}
