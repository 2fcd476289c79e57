package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/reasoner"
)

// job is one delivery of a job.
type job struct {
	wire.QueueJob
	key      string
	attempts int
	digest   string // of its payload; empty if it cannot be read
	secret   string // a key that came with it and is to be told nobody
}

// mask takes the key out of what is logged.
func (j *job) mask(text string) string {
	if j.secret == "" {
		return text
	}
	return strings.ReplaceAll(text, j.secret, "[key]")
}

// handle settles a job, or leaves it to another worker. ctx is what all jobs
// run under.
func (q *Queue) handle(ctx context.Context, msg jetstream.Msg) {
	j, fault := readJob(msg)
	if q.running.posts(j.key) {
		return // it came again although it is kept, which it will be still
	}
	h := &held{key: j.key, msg: msg}
	q.running.add(h)
	r, err := q.result(ctx, h, j, fault)
	switch {
	case errors.Is(err, errThere):
		// Whoever wrote that posts and acknowledges, or the job comes again.
		q.running.remove(h)
		q.log.Debug("job was settled by another worker", "correlation_id", j.CorrelationID)
	case err != nil:
		q.running.remove(h)
		q.log.Warn("job is left to another worker", "correlation_id", j.CorrelationID, "attempt", j.attempts, "error", err)
		_ = msg.NakWithDelay(retryWait) // or AckWait passes
	default:
		q.finish(ctx, h, j, r)
	}
}

// acknowledge takes a job out of the queue. That is not waited for: should it
// get lost, the job comes again and its result is found. Waiting costs a
// quarter of the throughput.
func (q *Queue) acknowledge(h *held, id string) {
	q.running.remove(h)
	if err := h.msg.Ack(); err != nil {
		q.log.Warn("settled job is not acknowledged and comes again", "correlation_id", id, "error", err)
	}
}

// result returns the result of a job: the one that was there when it came, or
// one that it makes and writes, or JobCanceled. errThere: another worker wrote
// one meanwhile. fault is why the job cannot be read.
func (q *Queue) result(ctx context.Context, h *held, j *job, fault error) (*wire.QueueResult, error) {
	r, err := q.look(ctx, j.key)
	switch {
	case err != nil:
		return nil, err
	case r != nil && fault == nil && r.Request != "" && r.Request != j.digest:
		return failed(j, &reasoner.Fault{Status: http.StatusConflict, Code: wire.CodeConflict, Message: wire.Conflict().Message}, q.opts.Now()), nil
	case r != nil:
		return r, nil
	}
	r, err = q.decide(ctx, h, j, fault)
	if err == nil {
		return q.write(ctx, j, r)
	}
	if !errors.Is(err, errCanceled) {
		return nil, err
	}
	if r, err = q.look(ctx, j.key); err == nil && (r == nil || r.State != wire.JobCanceled) {
		err = errThere
	}
	return r, err
}

// failed is the result of a job that has none.
func failed(j *job, fault error, now time.Time) *wire.QueueResult {
	f := reasoner.FaultOf(fault)
	body := f.Body()
	return &wire.QueueResult{
		Type: j.Type, CorrelationID: j.CorrelationID, Request: j.digest, Finished: now,
		State: wire.JobFailed, Status: f.Status, Error: &body,
	}
}

// decide makes a result. The error says that the decision was ended: by
// whoever canceled the job, or because this process stops.
func (q *Queue) decide(ctx context.Context, h *held, j *job, fault error) (*wire.QueueResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q.running.begin(h, cancel)
	var answer any
	switch {
	case fault != nil:
	case j.attempts > q.opts.MaxDeliver:
		fault = &reasoner.Fault{
			Status: http.StatusInternalServerError, Code: wire.CodeTooManyAttempts,
			Message: "The job was begun several times and never came to an end. The workers' logs may say why.",
		}
	default:
		answer, fault = q.compute(ctx, j)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r := &wire.QueueResult{Type: j.Type, CorrelationID: j.CorrelationID, Request: j.digest, State: wire.JobDone, Finished: q.opts.Now()}
	if fault == nil {
		r.Result, fault = json.Marshal(answer)
	}
	if fault == nil {
		return r, nil
	}
	r = failed(j, fault, r.Finished)
	if r.Error.Error == reasoner.CodeInternal {
		q.log.Error("job failed", "correlation_id", j.CorrelationID, "error", j.mask(fault.Error()))
	}
	return r, nil
}

// compute has the decision made, within JobTimeout. A panic is an error: one
// job must not end the others.
func (q *Queue) compute(ctx context.Context, j *job) (answer any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decide: panic: %v\n%s", p, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, q.opts.JobTimeout)
	defer cancel()
	switch {
	case j.Type == wire.JobAgentIntent:
		req, err := reasoner.DecodeAgentIntent(j.Payload)
		if err != nil {
			return nil, err
		}
		if req.LLM != nil {
			j.secret = req.LLM.APIKey
		}
		if j.secret != "" && !q.opts.AllowAPIKeys {
			return nil, &reasoner.Fault{
				Status: http.StatusUnprocessableEntity, Code: wire.CodeAPIKeyInQueue, Path: "/llm/api_key",
				Message: "A key would lie in the queue's files. Leave it out; the worker has its own.",
			}
		}
		return q.opts.Decide(ctx, req)
	case j.Type == wire.JobWorkflowIntent && q.opts.Workflow != nil:
		req, err := reasoner.DecodeWorkflow(j.Payload)
		if err != nil {
			return nil, err
		}
		return q.opts.Workflow(ctx, req)
	}
	return nil, &reasoner.Fault{Status: http.StatusBadRequest, Code: wire.CodeUnsupported, Message: "This worker knows no job of type " + clip(j.Type) + "."}
}

// readJob reads a delivery. Of one that cannot be read there is still the key,
// under which whoever sent it may wait for an answer.
func readJob(msg jetstream.Msg) (*job, error) {
	j := &job{key: msg.Subject()[strings.LastIndexByte(msg.Subject(), '.')+1:], attempts: 1}
	if meta, err := msg.Metadata(); err == nil {
		j.attempts = int(meta.NumDelivered)
	}
	err := decodeJob(msg.Data(), j)
	if err == nil {
		j.digest = wire.Digest(j.Payload)
	}
	return j, err
}

// decodeJob reads the body of a job. It must stand under the key of its id.
func decodeJob(data []byte, j *job) error {
	err := json.Unmarshal(data, &j.QueueJob)
	if err == nil {
		err = wire.CheckCorrelationID(j.CorrelationID)
	}
	if err == nil && (wire.QueueNames{}).Key(j.CorrelationID) != j.key {
		err = errors.New("its subject is not that of its correlation_id")
	}
	if err != nil {
		return &reasoner.Fault{Status: http.StatusBadRequest, Code: reasoner.CodeInvalidRequest, Message: "The job cannot be read: " + clip(err.Error()) + "."}
	}
	return nil
}

// clip bounds what is repeated of a stranger's text.
func clip(s string) string {
	const most = 120
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
