package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// codeNotClustered is JetStream's error code for more replicas than servers.
const codeNotClustered jetstream.ErrorCode = 10074

// ensure creates missing streams and the consumer.
func (q *Queue) ensure(ctx context.Context) error {
	// One message per subject. When the stream is full, it rejects new messages instead of
	// dropping old ones.
	jobs, err := q.stream(ctx, jetstream.StreamConfig{
		Name:        q.names.JobsStream(),
		Description: "Jobs of the Reasoning API that are not settled.",
		Subjects:    []string{q.names.Job("*")},
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.WorkQueuePolicy,
		Replicas:    q.opts.Replicas,
		MaxMsgs:     q.opts.MaxJobs, MaxBytes: maxJobBytes,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
	})
	if err != nil {
		return err
	}
	results, err := q.stream(ctx, jetstream.StreamConfig{
		Name:        q.names.ResultsStream(),
		Description: "Results of the Reasoning API's jobs, for a while.",
		Subjects:    []string{q.names.Result("*")},
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy,
		Replicas:    q.opts.Replicas,
		MaxAge:      q.opts.ResultTTL, MaxBytes: maxResultBytes,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardOld,
		Duplicates:  min(2*time.Minute, q.opts.ResultTTL),
		AllowDirect: q.opts.Replicas == 1, // with several replicas, one may lag
		RePublish:   &jetstream.RePublish{Source: q.names.Result("*"), Destination: q.names.Done("{{wildcard(1)}}")},
	})
	if err != nil {
		return err
	}
	// The number of deliveries is not limited: a message that JetStream stopped delivering would
	// be a job without a result.
	consumer, err := jobs.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable:    wire.QueueConsumer,
		AckPolicy:  jetstream.AckExplicitPolicy,
		AckWait:    q.opts.AckWait,
		MaxDeliver: -1,
		// Workers process one job at a time, but jobs whose callbacks are being
		// posted or wait for a slot are unacknowledged too.
		MaxAckPending: -1,
	})
	if err != nil {
		return fmt.Errorf("make consumer of %s: %w", q.names.JobsStream(), err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.consumer, q.results = consumer, results
	return nil
}

// stream returns an existing stream unchanged, or creates it.
func (q *Queue) stream(ctx context.Context, config jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := q.js.Stream(ctx, config.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = q.js.CreateStream(ctx, config)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			s, err = q.js.Stream(ctx, config.Name) // another worker has created it
		}
	}
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == codeNotClustered {
		return nil, fmt.Errorf("make stream %s: %d replicas need a cluster, and this NATS is a single server", config.Name, config.Replicas)
	}
	if err != nil {
		return nil, fmt.Errorf("make stream %s: %w", config.Name, err)
	}
	return s, nil
}

// ensureSoon retries ensure until it succeeds, ctx ends, or the error is
// permanent.
func (q *Queue) ensureSoon(ctx context.Context) error {
	var warned time.Time
	for {
		err := q.ensure(ctx)
		if err == nil || !isTemporary(err) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		if now := time.Now(); now.Sub(warned) >= warnInterval {
			q.log.Warn("the queue is not ready; trying again", "error", err)
			warned = now
		}
		pause(ctx)
	}
}

// isTemporary reports whether an error may be temporary: NATS is unreachable,
// or its cluster has no leader yet.
func isTemporary(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.Code >= 500
	}
	for _, e := range []error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, jetstream.ErrNoStreamResponse, nats.ErrConnectionReconnecting,
		nats.ErrReconnectBufExceeded, nats.ErrDisconnected,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
