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

// The types of a job.
const (
	JobAgentIntent    = "agent_intent"
	JobWorkflowIntent = "workflow_intent"
)

// QueueJob is a job as it stands in the stream of jobs, on the subject
// QueueNames.Job of its correlation id.
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
	var fields map[string]json.RawMessage // not a struct, which would fold the case of keys
	var address string
	if json.Unmarshal(j.Payload, &fields) != nil || json.Unmarshal(fields["callback_url"], &address) != nil {
		return ""
	}
	return address
}

// JobState is what became of a job.
type JobState string

// The states that are written down. A job without a result is queued or
// processing, which the stream of jobs knows.
const (
	JobDone     JobState = "done"
	JobCanceled JobState = "canceled"
	JobFailed   JobState = "failed"
)

// QueueResult is what became of a job, as it stands in the stream of results,
// on the subject QueueNames.Result of its correlation id. There is one for
// each: the first that is written is the result.
type QueueResult struct {
	Type          string          `json:"type"`
	CorrelationID string          `json:"correlation_id"`
	Request       string          `json:"request,omitempty"` // Digest of the job's payload
	State         JobState        `json:"state"`
	Finished      time.Time       `json:"finished"`
	Result        json.RawMessage `json:"result,omitempty"` // with JobDone: the response
	// With JobFailed: the status and the body with which HTTP would have
	// answered.
	Status int        `json:"status,omitempty"`
	Error  *ErrorBody `json:"error,omitempty"`
	// CallbackCanceled: the job was canceled after the result was written and
	// before its callback was delivered. The result stays what it is.
	CallbackCanceled bool `json:"callback_canceled,omitempty"`
}

// Canceled reports whether the job was canceled, before it had a result or
// before its callback was delivered.
func (r *QueueResult) Canceled() bool { return r.State == JobCanceled || r.CallbackCanceled }

// What QueueResult.Error can have for a code besides those of HTTP.
const (
	CodeTooManyAttempts = "too_many_attempts"       // begun again and again, and never settled
	CodeAPIKeyInQueue   = "api_key_in_queue"        //nolint:gosec // a code: the request brought a key that must not lie in a file
	CodeResultTooLarge  = "result_too_large"        // larger than a message of this NATS may be
	CodeUnsupported     = "unsupported"             // a type of job that this worker does not know
	CodeConflict        = "correlation_id_conflict" // another request has the same correlation id
)

// Digest stands for a job's payload: two requests of one correlation id are the
// same when theirs are.
func Digest(payload []byte) string {
	sum := sha256.Sum256(payload)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Conflict is the body of the answer, of status 409, to a request whose
// correlation id belongs to another one.
func Conflict() *ErrorBody {
	return &ErrorBody{
		Error: CodeConflict, Path: "/correlation_id",
		Message: "Another request was made under this correlation_id. Choose a new one, or leave it out.",
	}
}

// MaxCorrelationID bounds a correlation id, in bytes.
const MaxCorrelationID = 256

// ErrCorrelationID: a correlation id cannot name a job.
var ErrCorrelationID = errors.New("correlation_id cannot name a job")

// CheckCorrelationID says why a correlation id cannot name a job, as an error
// that matches ErrCorrelationID.
func CheckCorrelationID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: it is empty", ErrCorrelationID)
	case len(id) > MaxCorrelationID:
		return fmt.Errorf("%w: it has %d bytes, more than %d", ErrCorrelationID, len(id), MaxCorrelationID)
	}
	return nil
}

// DefaultQueue is the name of the queue where none is given.
const DefaultQueue = "MEUP_INTENT"

// QueueNames are the streams and subjects of one queue. Several queues can
// share a NATS under different names.
type QueueNames struct{ name string }

// NewQueueNames returns the names of the queue called name, DefaultQueue if it
// is empty. Letters, digits, '-' and '_' can be in a name.
func NewQueueNames(name string) (QueueNames, error) {
	if name == "" {
		name = DefaultQueue
	}
	for _, c := range name {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
		if !plain {
			return QueueNames{}, fmt.Errorf("queue name %q: only letters, digits, '-' and '_' can be in it", name)
		}
	}
	return QueueNames{name: name}, nil
}

// JobsStream and ResultsStream are the names of the two streams.
func (n QueueNames) JobsStream() string { return n.name + "_JOBS" }

// ResultsStream is the stream of results.
func (n QueueNames) ResultsStream() string { return n.name + "_RESULTS" }

// Key stands for a correlation id within a subject: whatever bytes the id
// has, it is one token of 43 letters, digits, '-' and '_'.
func (QueueNames) Key(correlationID string) string {
	sum := sha256.Sum256([]byte(correlationID))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Job is the subject of a job; with key "*", of all.
func (n QueueNames) Job(key string) string { return n.subject("job", key) }

// Result is the subject under which a result is written.
func (n QueueNames) Result(key string) string { return n.subject("result", key) }

// Done is the subject on which a result is announced, whole, once it is
// written. Nobody else should publish there.
func (n QueueNames) Done(key string) string { return n.subject("done", key) }

// Canceled is the subject of notices to the workers, which are empty messages:
// the job was canceled.
func (n QueueNames) Canceled(key string) string { return n.subject("canceled", key) }

func (n QueueNames) subject(kind, key string) string {
	return strings.ToLower(n.name) + "." + kind + "." + key
}
