package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/intent"
)

// job is one delivery of a job.
type job struct {
	wire.QueueJob
	key      string
	attempts int
	secret   string // a key that came with it and is to be told nobody
}

// mask takes the key out of what is logged.
func (j *job) mask(text string) string {
	if j.secret == "" {
		return text
	}
	return strings.ReplaceAll(text, j.secret, "[key]")
}

// handle settles a job, or leaves it to another worker. jobs is what all jobs
// run under; this one has a context of its own besides, that ends when it is
// canceled.
func (q *Queue) handle(jobs context.Context, msg jetstream.Msg) {
	j, fault := readJob(msg)
	ctx, cancel := context.WithCancelCause(jobs)
	defer cancel(nil)
	h := &held{key: j.key, msg: msg, cancel: cancel}
	q.running.add(h)
	defer q.running.remove(h)

	result, err := q.look(jobs, j.key)
	if result == nil {
		result, err = q.settle(jobs, ctx, j, fault)
	}
	if err != nil {
		q.log.Warn("job is left to another worker", "correlation_id", j.CorrelationID, "attempt", j.attempts, "error", err)
		_ = msg.NakWithDelay(retryWait) // or AckWait passes
		return
	}
	q.call(jobs, j, result)
	// Not waited for: should it get lost, the job comes again and its result is
	// found. Waiting costs a quarter of the throughput.
	if err := msg.Ack(); err != nil {
		q.log.Warn("settled job is not acknowledged and comes again", "correlation_id", j.CorrelationID, "error", err)
	}
}

// settle makes a result and writes it. Of a canceled job it returns the one
// that is there. fault is why the job cannot be read.
func (q *Queue) settle(jobs, ctx context.Context, j *job, fault error) (*wire.QueueResult, error) {
	r := q.decide(ctx, j, fault)
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return q.write(jobs, j, r)
	case errors.Is(cause, errCanceled):
		return q.look(jobs, j.key)
	default:
		return nil, cause
	}
}

// decide makes a result. When ctx has ended meanwhile it means nothing.
func (q *Queue) decide(ctx context.Context, j *job, fault error) *wire.QueueResult {
	var answer any
	switch {
	case fault != nil:
	case j.attempts > q.opts.MaxDeliver:
		fault = &intent.Fault{
			Status: http.StatusInternalServerError, Code: wire.CodeTooManyAttempts,
			Message: "The job was begun several times and never came to an end. The workers' logs may say why.",
		}
	default:
		answer, fault = q.compute(ctx, j)
	}
	r := &wire.QueueResult{Type: j.Type, CorrelationID: j.CorrelationID, State: wire.JobDone, Finished: q.opts.Now()}
	if fault == nil {
		r.Result, fault = json.Marshal(answer)
	}
	if fault != nil {
		f := intent.FaultOf(fault)
		body := f.Body()
		r.State, r.Status, r.Error, r.Result = wire.JobFailed, f.Status, &body, nil
		if f.Code == intent.CodeInternal && ctx.Err() == nil {
			q.log.Error("job failed", "correlation_id", j.CorrelationID, "error", j.mask(fault.Error()))
		}
	}
	return r
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
		req, err := intent.DecodeAgentIntent(j.Payload)
		if err != nil {
			return nil, err
		}
		if req.LLM != nil {
			j.secret = req.LLM.APIKey
		}
		if j.secret != "" && !q.opts.AllowAPIKeys {
			return nil, &intent.Fault{
				Status: http.StatusUnprocessableEntity, Code: wire.CodeAPIKeyInQueue, Path: "/llm/api_key",
				Message: "A key would lie in the queue's files. Leave it out; the worker has its own.",
			}
		}
		return q.opts.Decide(ctx, req)
	case j.Type == wire.JobWorkflowIntent && q.opts.Workflow != nil:
		req, err := intent.DecodeWorkflow(j.Payload)
		if err != nil {
			return nil, err
		}
		return q.opts.Workflow(ctx, req)
	}
	return nil, &intent.Fault{Status: http.StatusBadRequest, Code: wire.CodeUnsupported, Message: "This worker knows no job of type " + clip(j.Type) + "."}
}

// readJob reads a delivery. Of one that cannot be read there is still the key,
// under which whoever sent it may wait for an answer.
func readJob(msg jetstream.Msg) (*job, error) {
	j := &job{key: msg.Subject()[strings.LastIndexByte(msg.Subject(), '.')+1:], attempts: 1}
	if meta, err := msg.Metadata(); err == nil {
		j.attempts = int(meta.NumDelivered)
	}
	return j, decodeJob(msg.Data(), j)
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
		return &intent.Fault{Status: http.StatusBadRequest, Code: intent.CodeInvalidRequest, Message: "The job cannot be read: " + clip(err.Error()) + "."}
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
