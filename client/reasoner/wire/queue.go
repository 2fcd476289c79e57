package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Types of a job.
const (
	JobAgentIntent    = "agent_intent"
	JobWorkflowIntent = "workflow_intent"
)

// QueueJob is a job in the stream of jobs, on the subject QueueNames.Job of its
// correlation id.
type QueueJob struct {
	Type          string          `json:"type"`
	CorrelationID string          `json:"correlation_id"`
	Submitted     time.Time       `json:"submitted"`
	Payload       json.RawMessage `json:"payload"` // AgentIntentRequest or WorkflowIntentRequest
}

// CallbackURL returns the URL that the job's result is posted to; empty: none.
func (j *QueueJob) CallbackURL() string {
	if j.Type != JobAgentIntent || !bytes.Contains(j.Payload, []byte(`"callback_url"`)) {
		return ""
	}
	var fields map[string]json.RawMessage // not a struct, which would ignore the case of keys
	var address string
	if json.Unmarshal(j.Payload, &fields) != nil || json.Unmarshal(fields["callback_url"], &address) != nil {
		return ""
	}
	return address
}

// JobState is the final state of a job.
type JobState string

// Final states. A job without a result is queued or processing, which follows
// from the stream of jobs.
const (
	JobDone     JobState = "done"
	JobCanceled JobState = "canceled"
	JobFailed   JobState = "failed"
)

// QueueResult is the result of a job in the stream of results, on the subject
// QueueNames.Result of its correlation id. There is one per id: the first that
// is written is the result.
type QueueResult struct {
	Type          string          `json:"type"`
	CorrelationID string          `json:"correlation_id"`
	Request       string          `json:"request,omitempty"` // Digest of the job's payload
	State         JobState        `json:"state"`
	Finished      time.Time       `json:"finished"`
	Result        json.RawMessage `json:"result,omitempty"` // with JobDone: the response
	// With JobFailed: the status and the body of the equivalent HTTP response.
	Status int        `json:"status,omitempty"`
	Error  *ErrorBody `json:"error,omitempty"`
	// CallbackCanceled means that the job was canceled after the result was
	// written and before its callback was delivered. The result remains valid.
	CallbackCanceled bool `json:"callback_canceled,omitempty"`
}

// Canceled reports whether the job was canceled, before it had a result or
// before its callback was delivered.
func (r *QueueResult) Canceled() bool { return r.State == JobCanceled || r.CallbackCanceled }

// Codes of QueueResult.Error in addition to the codes of HTTP.
const (
	CodeTooManyAttempts = "too_many_attempts"       // started MaxDeliver times, and never settled
	CodeAPIKeyInQueue   = "api_key_in_queue"        //nolint:gosec // a code: the request has a key that must not be stored
	CodeResultTooLarge  = "result_too_large"        // larger than the maximum message of this NATS server
	CodeUnsupported     = "unsupported"             // a type of job that this worker does not support
	CodeConflict        = "correlation_id_conflict" // another request has the same correlation id
)

// Digest identifies a job's payload: two requests with the same correlation id
// are equal if their digests are.
func Digest(payload []byte) string {
	sum := sha256.Sum256(payload)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Conflict returns the body of the response, with status 409, to a request
// whose correlation id belongs to another request.
func Conflict() *ErrorBody {
	return &ErrorBody{
		Error: CodeConflict, Path: "/correlation_id",
		Message: "Another request was made under this correlation_id. Choose a new one, or leave it out.",
	}
}

// MaxCorrelationID bounds a correlation id, in bytes.
const MaxCorrelationID = 256

// ErrCorrelationID means that a correlation id is not valid for a job.
var ErrCorrelationID = errors.New("correlation_id is not valid for a job")

// CheckCorrelationID validates a correlation id. Its errors match
// ErrCorrelationID.
func CheckCorrelationID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: it is empty", ErrCorrelationID)
	case len(id) > MaxCorrelationID:
		return fmt.Errorf("%w: it has %d bytes, more than %d", ErrCorrelationID, len(id), MaxCorrelationID)
	}
	return nil
}

// DefaultQueue is the name of the queue if none is given.
const DefaultQueue = "MEUP_INTENT"

// QueueConsumer is the name of the one consumer that all workers of a queue
// share.
const QueueConsumer = "workers"

// QueueNames derives the names of the streams and subjects of one queue.
// Several queues can share a NATS server under different names.
type QueueNames struct{ name string }

// NewQueueNames returns the names of the queue with this name, or of
// DefaultQueue if it is empty. A name consists of letters, digits, '-' and '_'.
func NewQueueNames(name string) (QueueNames, error) {
	if name == "" {
		name = DefaultQueue
	}
	for _, c := range name {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
		if !plain {
			return QueueNames{}, fmt.Errorf("queue name %q: only letters, digits, '-' and '_' are allowed", name)
		}
	}
	return QueueNames{name: name}, nil
}

// JobsStream returns the name of the stream of jobs.
func (n QueueNames) JobsStream() string { return n.name + "_JOBS" }

// ResultsStream returns the name of the stream of results.
func (n QueueNames) ResultsStream() string { return n.name + "_RESULTS" }

// Key returns the token for a correlation id in subjects: 43 letters, digits,
// '-' and '_' for any id.
func (QueueNames) Key(correlationID string) string {
	sum := sha256.Sum256([]byte(correlationID))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Job returns the subject of a job; with key "*", of all jobs.
func (n QueueNames) Job(key string) string { return n.subject("job", key) }

// Result returns the subject on which a result is written.
func (n QueueNames) Result(key string) string { return n.subject("result", key) }

// Done returns the subject on which a result is announced, in full, after it
// was written. Only JetStream publishes there.
func (n QueueNames) Done(key string) string { return n.subject("done", key) }

// Canceled returns the subject of the notices to workers that a job was
// canceled. The messages are empty.
func (n QueueNames) Canceled(key string) string { return n.subject("canceled", key) }

func (n QueueNames) subject(kind, key string) string {
	return strings.ToLower(n.name) + "." + kind + "." + key
}
