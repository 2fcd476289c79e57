package reasoner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// Error codes of JetStream that its client does not define.
const (
	codeWrongSequence jetstream.ErrorCode = 10071 // the subject already has a message
	codeStoreFailed   jetstream.ErrorCode = 10077 // the stream is full
)

// requestTimeout bounds the requests to JetStream of one submission.
const requestTimeout = 5 * time.Second

// announcementBuffer is the capacity for announcements of one result. One is
// expected.
const announcementBuffer = 4

// await submits a job and waits for its result.
func (c *queueClient) await(ctx context.Context, j *job, into any) error {
	// Subscribe first, then look for a result, then submit: this order cannot
	// miss a result.
	done := make(chan *nats.Msg, announcementBuffer)
	sub, err := c.nc.ChanSubscribe(c.names.Done(j.key), done)
	if err != nil {
		return c.convertError(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	var result *wire.QueueResult
	err = c.retry(ctx, "wait for job "+j.id, func(ctx context.Context) error {
		var err error
		result, err = c.attempt(ctx, j, done)
		if err != nil && ctx.Err() == nil && (isTimeout(err) || c.canWait(err)) {
			c.waiting(j, err)
		}
		return err
	})
	if err != nil {
		return err
	}
	switch result.State {
	case wire.JobDone:
		if err := json.Unmarshal(result.Result, into); err != nil {
			return fmt.Errorf("read result of job %s: %w", j.id, err)
		}
		return nil
	case wire.JobCanceled:
		return fmt.Errorf("job %s: %w", j.id, ErrCanceled)
	case wire.JobFailed:
		e := &APIError{Status: result.Status, Message: http.StatusText(result.Status)}
		if result.Error != nil {
			e.Code, e.Message, e.Path, e.Usage = result.Error.Error, result.Error.Message, result.Error.Path, result.Error.Usage
		}
		return e
	}
	return fmt.Errorf("read result of job %s: unknown state %q", j.id, result.State)
}

// attempt ensures that the job is in the queue, unless it has a result, and
// waits for the result. It starts over when the connection was restored.
func (c *queueClient) attempt(ctx context.Context, j *job, done <-chan *nats.Msg) (*wire.QueueResult, error) {
	look := time.NewTimer(firstWorkerCheck)
	defer look.Stop()
	if c.opts.Waiting == nil {
		look.Stop() // no checks
	}
	var absent error // no worker was there at the latest check
	for {
		back := c.reconnected()
		r, err := c.submit(ctx, j)
		if err != nil && ctx.Err() != nil {
			return nil, joinReason(absent, err)
		}
		if r != nil || err != nil {
			return r, err
		}
		select {
		case msg := <-done:
			if r := decodeResult(msg.Data, j); r != nil {
				return j.checkOwner(r)
			}
		case <-back:
			if c.isClosed() {
				return nil, ErrClosed
			}
		case <-look.C:
			look.Reset(workerCheckInterval)
			found := c.checkWorkers(ctx)
			if ctx.Err() != nil { // the check was cut off; the one before it counts
				return nil, joinReason(absent, ctx.Err())
			}
			absent = found
			if absent != nil {
				c.waiting(j, absent)
			}
			continue
		case <-ctx.Done():
			return nil, joinReason(absent, ctx.Err())
		}
	}
}

// joinReason adds the reason of a wait, if there is one, to the error that ended
// it.
func joinReason(reason, err error) error {
	if reason == nil {
		return err
	}
	return fmt.Errorf("%w: %w", reason, err)
}

// Times of the checks whether there is a worker, while a job waits.
const (
	firstWorkerCheck    = 2 * time.Second
	workerCheckInterval = 10 * time.Second
)

// checkWorkers returns ErrNoWorker if no worker requests jobs and none has one.
// Errors of NATS are ignored: the wait itself handles them.
func (c *queueClient) checkWorkers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	consumer, err := c.js.Consumer(ctx, c.names.JobsStream(), wire.QueueConsumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return ErrNoWorker
	}
	if err != nil {
		return nil
	}
	if info := consumer.CachedInfo(); info.NumWaiting == 0 && info.NumAckPending == 0 {
		return ErrNoWorker
	}
	return nil
}

// waiting calls Options.Waiting once for a job.
func (c *queueClient) waiting(j *job, err error) {
	if c.opts.Waiting != nil && !j.waited {
		j.waited = true
		c.opts.Waiting(err)
	}
}

// decodeResult decodes an announcement; nil if it is not for this job.
func decodeResult(data []byte, j *job) *wire.QueueResult {
	var r wire.QueueResult
	if json.Unmarshal(data, &r) != nil || r.CorrelationID != j.id {
		return nil
	}
	return &r
}

// submit returns the job's result if it exists. Otherwise it adds the job to
// the queue, unless the queue already has it.
func (c *queueClient) submit(ctx context.Context, j *job) (*wire.QueueResult, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	if int64(len(j.data)) > c.nc.MaxPayload() {
		return nil, &APIError{
			Status: http.StatusRequestEntityTooLarge, Code: "too_large",
			Message: fmt.Sprintf("The job has %d bytes; a message of this NATS may have %d.", len(j.data), c.nc.MaxPayload()),
		}
	}
	for range maxSubmitAttempts {
		if !j.fresh {
			r, _, err := c.result(ctx, s, j)
			if err != nil {
				return nil, err
			}
			if r != nil {
				return j.checkOwner(r)
			}
		}
		j.fresh = false
		_, err = c.js.PublishMsg(ctx, &nats.Msg{Subject: c.names.Job(j.key), Data: j.data},
			jetstream.WithExpectStream(c.names.JobsStream()),
			jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithRetryAttempts(0))
		var api *jetstream.APIError
		switch {
		case err == nil:
			return nil, nil
		case errors.As(err, &api) && api.ErrorCode == codeWrongSequence: // there is a job with its id
		case errors.As(err, &api) && api.ErrorCode == codeStoreFailed:
			return nil, &APIError{Status: http.StatusServiceUnavailable, Code: CodeQueueFull, Message: "The queue has no room for more jobs. Try again later."}
		default:
			return nil, c.convertError(err)
		}
		there, err := c.isQueued(ctx, s, j)
		if err != nil || there {
			return nil, err
		}
		// It was settled meanwhile.
	}
	return nil, &APIError{Status: http.StatusServiceUnavailable, Message: "Other jobs with the same correlation_id were settled during each attempt. Try again later."}
}

// maxSubmitAttempts bounds the attempts to submit a job that turns out to be
// settled.
const maxSubmitAttempts = 3

// isQueued reports whether the job is in the queue. A different job in its
// place is an error.
func (c *queueClient) isQueued(ctx context.Context, s *store, j *job) (bool, error) {
	msg, err := s.jobs.GetLastMsgForSubject(ctx, c.names.Job(j.key))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, c.convertError(err)
	}
	var was wire.QueueJob
	if json.Unmarshal(msg.Data, &was) != nil || wire.Digest(was.Payload) != j.digest {
		return false, conflict()
	}
	return true, nil
}

// open finds the streams, once.
func (c *queueClient) open(ctx context.Context) (*store, error) {
	c.mu.Lock()
	s, closed := c.store, c.closed
	c.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case s != nil:
		return s, nil
	}
	s = new(store)
	var err error
	s.jobs, err = c.js.Stream(ctx, c.names.JobsStream())
	if err == nil {
		s.results, err = c.js.Stream(ctx, c.names.ResultsStream())
	}
	if err != nil {
		return nil, c.convertError(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store = s
	return s, nil
}

// convertError converts an error of NATS to one of this package.
func (c *queueClient) convertError(err error) error {
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		c.mu.Lock()
		c.store = nil
		c.mu.Unlock()
		return fmt.Errorf("%w as %s: start a worker, which creates it", ErrNoQueue, c.names.JobsStream())
	case errors.Is(err, nats.ErrConnectionClosed) && c.isClosed():
		return ErrClosed
	case isDisconnected(err):
		return fmt.Errorf("no connection to the NATS server%s; start it, or correct its address: %w", c.server(), err)
	}
	return err
}

// server returns the hosts of the NATS server for an error text, without
// passwords; "" if they are not known.
func (c *queueClient) server() string {
	var hosts []string
	for _, address := range strings.Split(c.opts.NATSURL, ",") {
		if u, err := url.Parse(strings.TrimSpace(address)); err == nil && u.Host != "" {
			hosts = append(hosts, u.Host)
		}
	}
	if len(hosts) == 0 {
		return ""
	}
	return " at " + strings.Join(hosts, ", ")
}

// canWait reports whether an error of one request may be temporary within an
// attempt.
func (c *queueClient) canWait(err error) bool {
	var refused *APIError
	isFull := errors.As(err, &refused) && refused.Code == CodeQueueFull
	return isDisconnected(err) || isFull || c.opts.WaitForQueue && errors.Is(err, ErrNoQueue)
}

// retry calls try until it succeeds, bounded by Timeout each time. Temporary
// errors of NATS are retried within the attempt.
func (c *queueClient) retry(ctx context.Context, what string, try func(context.Context) error) error {
	var err error
	for attempt := range c.opts.Retries + 1 {
		err = c.tryOnce(ctx, try)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil && errors.Is(err, context.Canceled):
			return fmt.Errorf("%s: %w", what, err)
		case ctx.Err() != nil || attempt == c.opts.Retries && isTimeout(err):
			return timeoutError(ctx, what, c.opts.Timeout, attempt+1, err)
		case !isRetryable(err):
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// tryOnce makes one attempt. It retries while NATS is unreachable.
func (c *queueClient) tryOnce(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	var reason error // of the wait so far
	for n := 0; ; n++ {
		err := try(ctx)
		if reason != nil && ctx.Err() != nil && isTimeout(err) {
			return errors.Join(reason, err)
		}
		unheard := isTimeout(err) && ctx.Err() == nil // a request was lost with its connection
		if err == nil || !unheard && !c.canWait(err) {
			return err
		}
		if unheard {
			err = errors.Join(reason, err)
		} else {
			reason = err
		}
		if late := wait(ctx, c.opts.pause(n)); late != nil {
			return errors.Join(err, late)
		}
	}
}

// isDisconnected reports whether NATS is temporarily unreachable.
func isDisconnected(err error) bool {
	return errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrConnectionReconnecting) || errors.Is(err, nats.ErrDisconnected)
}
