package queue

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// work processes jobs one at a time until taking ends. jobs is the parent
// context of the jobs.
func (q *Queue) work(taking, jobs context.Context) {
	for taking.Err() == nil {
		err := q.receive(taking, jobs)
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

// receive processes jobs until the consumer fails. It requests one job at a
// time, and only when idle: a job in an idle worker's buffer would wait
// although other workers are free.
func (q *Queue) receive(taking, jobs context.Context) error {
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
			returnPending(messages)
			return taking.Err()
		case errors.Is(err, jetstream.ErrNoHeartbeat):
			// NATS is temporarily unreachable; the library retries.
		default:
			return err
		}
	}
}

// returnPending returns a job that was received while the worker stops.
func returnPending(messages jetstream.MessagesContext) {
	messages.Drain()
	for {
		msg, err := messages.Next(jetstream.NextMaxWait(time.Second))
		if err != nil {
			return
		}
		_ = msg.Nak() // if lost, AckWait expires
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(retryWait):
	}
}
