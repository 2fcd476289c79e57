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

	"github.com/meup-protocol/meup/internal/kit/textutil"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/reasoner"
)

// job is one delivery of a job.
type job struct {
	wire.QueueJob
	key      string
	attempts int
	digest   string    // of its payload; empty if it cannot be decoded
	llm      *wire.LLM // of the request; its key must not be disclosed
}

// handle settles a job, or leaves it to another worker. ctx is the parent
// context of all jobs.
func (q *Queue) handle(ctx context.Context, msg jetstream.Msg) {
	j := &job{key: msg.Subject()[strings.LastIndexByte(msg.Subject(), '.')+1:], attempts: 1}
	if meta, err := msg.Metadata(); err == nil {
		j.attempts = int(meta.NumDelivered)
	}
	fault := j.decode(msg.Data()) // if it fails, the job still has the key, under which its client may wait
	h := &lease{key: j.key, msg: msg}
	if !q.running.add(h) {
		return // redelivered although its lease was extended, which continues
	}
	r, err := q.result(ctx, h, j, fault)
	switch {
	case errors.Is(err, errResultExists):
		// The other worker posts and acknowledges, or the job is redelivered.
		q.running.remove(h)
		q.log.Debug("job was settled by another worker", "correlation_id", j.CorrelationID)
	case err != nil:
		q.running.remove(h)
		q.log.Warn("job is left to another worker", "correlation_id", j.CorrelationID, "attempt", j.attempts, "error", err)
		_ = msg.NakWithDelay(retryWait) // if lost, AckWait expires
	default:
		q.finish(ctx, h, j, r)
	}
}

// acknowledge removes a job from the queue. It does not wait for confirmation:
// if the acknowledgement is lost, the job is redelivered and its result is
// found. Waiting costs a quarter of the throughput.
func (q *Queue) acknowledge(h *lease, id string) {
	q.running.remove(h)
	if err := h.msg.Ack(); err != nil {
		q.log.Warn("settled job is not acknowledged and will be redelivered", "correlation_id", id, "error", err)
	}
}

// result returns the result of a job: an existing one, or a new one that it
// computes and writes, or JobCanceled. The error errResultExists means that
// another worker wrote a result meanwhile. fault is the error from decoding the
// job.
func (q *Queue) result(ctx context.Context, h *lease, j *job, fault error) (*wire.QueueResult, error) {
	r, err := q.lookupResult(ctx, j.key)
	switch {
	case err != nil:
		return nil, err
	case r != nil && fault == nil && r.Request != "" && r.Request != j.digest:
		return failed(j, &reasoner.Fault{Status: http.StatusConflict, Code: wire.CodeConflict, Message: wire.Conflict().Message}, time.Now()), nil
	case r != nil:
		return r, nil
	}
	r, err = q.decide(ctx, h, j, fault)
	if err == nil {
		return q.writeResult(ctx, j, r)
	}
	if !errors.Is(err, errCanceled) {
		return nil, err
	}
	r, err = q.lookupResult(ctx, j.key)
	if err == nil && (r == nil || r.State != wire.JobCanceled) {
		err = errResultExists
	}
	return r, err
}

// failed returns the result of a job that failed.
func failed(j *job, fault error, now time.Time) *wire.QueueResult {
	f := reasoner.FaultOf(fault)
	body := f.Body()
	body.Usage = reasoner.UsageOf(fault)
	return &wire.QueueResult{
		Type: j.Type, CorrelationID: j.CorrelationID, Request: j.digest, Finished: now,
		State: wire.JobFailed, Status: f.Status, Error: &body,
	}
}

// decide computes a result. An error means that the decision was interrupted:
// the job was canceled, or this process stops.
func (q *Queue) decide(ctx context.Context, h *lease, j *job, fault error) (*wire.QueueResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q.running.setCancel(h, cancel)
	var answer any
	switch {
	case fault != nil:
	case j.attempts > q.opts.MaxDeliver:
		fault = &reasoner.Fault{
			Status: http.StatusInternalServerError, Code: wire.CodeTooManyAttempts,
			Message: "The job was started several times and never settled. The logs of the workers may have the reason.",
		}
	default:
		answer, fault = q.compute(ctx, j)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r := &wire.QueueResult{Type: j.Type, CorrelationID: j.CorrelationID, Request: j.digest, State: wire.JobDone, Finished: time.Now()}
	if fault == nil {
		r.Result, fault = json.Marshal(answer)
	}
	if fault == nil {
		return r, nil
	}
	r = failed(j, fault, r.Finished)
	if r.Error.Error == reasoner.CodeInternal {
		q.log.Error("job failed", "correlation_id", j.CorrelationID, "error", reasoner.MaskKey(fault.Error(), j.llm))
	}
	return r, nil
}

// compute makes the decision within JobTimeout. It turns a panic into an error,
// so that one job cannot end the others.
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
		j.llm = req.LLM
		if !q.allows(j.llm) {
			return nil, keyFault()
		}
		return q.opts.Decide(ctx, req)
	case j.Type == wire.JobWorkflowIntent && q.opts.Workflow != nil:
		req, err := reasoner.DecodeWorkflow(j.Payload)
		if err != nil {
			return nil, err
		}
		j.llm = req.LLM
		if !q.allows(j.llm) {
			return nil, keyFault()
		}
		return q.opts.Workflow(ctx, req)
	}
	return nil, &reasoner.Fault{Status: http.StatusBadRequest, Code: wire.CodeUnsupported, Message: "This worker does not support jobs of type " + textutil.Shorten(j.Type, 120) + "."}
}

// allows reports whether the queue may store the key of a request.
func (q *Queue) allows(l *wire.LLM) bool {
	return l == nil || l.APIKey == "" || q.opts.AllowAPIKeys
}

func keyFault() error {
	return &reasoner.Fault{
		Status: http.StatusUnprocessableEntity, Code: wire.CodeAPIKeyInQueue, Path: "/llm/api_key",
		Message: "The key would be stored in the files of the queue. Leave it out; the worker has its own.",
	}
}

// decode decodes the body of a job, whose key must match its id.
func (j *job) decode(data []byte) error {
	err := json.Unmarshal(data, &j.QueueJob)
	if err == nil {
		err = wire.CheckCorrelationID(j.CorrelationID)
	}
	if err == nil && (wire.QueueNames{}).Key(j.CorrelationID) != j.key {
		err = errors.New("its subject does not match its correlation_id")
	}
	if err != nil {
		return &reasoner.Fault{Status: http.StatusBadRequest, Code: reasoner.CodeInvalidRequest, Message: "The job is invalid: " + textutil.Shorten(err.Error(), 120) + "."}
	}
	j.digest = wire.Digest(j.Payload)
	return nil
}
