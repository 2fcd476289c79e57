package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// Defaults of [Options].
const (
	DefaultWorkers         = 4
	DefaultCallbackWorkers = 64
	DefaultAckWait         = 10 * time.Second
	DefaultMaxDeliver      = 5
	DefaultJobTimeout      = 5 * time.Minute
	DefaultDrain           = 8 * time.Second
	DefaultMaxJobs         = 100_000
	DefaultResultTTL       = time.Hour
	DefaultStatusEvery     = time.Minute
	DefaultStatusPoll      = time.Second

	maxWorkers         = 1024
	maxCallbackWorkers = 1024
	minAckWait         = 500 * time.Millisecond

	maxJobBytes    = 1 << 30   // of queued jobs; further ones are rejected
	maxResultBytes = 256 << 20 // of results; the oldest are dropped
)

// Options configures a queue and its processing. Conn and Decide are required.
type Options struct {
	// Conn is the connection to use; the caller closes it after Run.
	Conn *nats.Conn
	// Name of the queue; empty: wire.DefaultQueue.
	Name string

	// Decide makes the decision of a job. Its ctx ends when the job is
	// canceled, times out, or must be left to another worker.
	Decide func(ctx context.Context, req *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error)
	// Workflow computes the transition of a workflow, under the same
	// conditions; nil: such jobs fail.
	Workflow func(ctx context.Context, req *wire.WorkflowIntentRequest) (*wire.WorkflowIntentResponse, error)
	// Callback posts a result to the URL of a job. It returns when the post has
	// succeeded or was given up, or when its ctx ends. nil: callback URLs are
	// ignored.
	Callback func(ctx context.Context, url string, body *wire.Callback) error
	// AllowAPIKeys permits jobs that contain a provider's API key, which is
	// then stored in the stream's files. Otherwise such jobs fail.
	AllowAPIKeys bool

	Workers         int           // concurrent jobs; 0: 4
	CallbackWorkers int           // concurrent callbacks, at most a quarter of them to one host; 0: 64
	AckWait         time.Duration // a job without a heartbeat for this time is redelivered
	MaxDeliver      int           // how often a job is started; 0: 5
	JobTimeout      time.Duration // for one decision
	Drain           time.Duration // how long Run waits for running jobs after its ctx ends

	// For new streams; existing streams are not changed.
	Replicas  int           // 0: 1
	MaxJobs   int64         // bound on queued jobs; further ones are rejected
	ResultTTL time.Duration // how long results are kept

	// StatusEvery is the maximum interval between status lines, StatusPoll the
	// interval of checks for a change.
	StatusEvery, StatusPoll time.Duration

	// Logger receives events for operators; nil: none.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Conn == nil:
		return o, errors.New("open queue: Options.Conn is missing")
	case o.Decide == nil:
		return o, errors.New("open queue: Options.Decide is missing")
	}
	o.Workers = cmp.Or(o.Workers, DefaultWorkers)
	o.CallbackWorkers = cmp.Or(o.CallbackWorkers, DefaultCallbackWorkers)
	o.AckWait = cmp.Or(o.AckWait, DefaultAckWait)
	o.MaxDeliver = cmp.Or(o.MaxDeliver, DefaultMaxDeliver)
	o.JobTimeout = cmp.Or(o.JobTimeout, DefaultJobTimeout)
	o.Drain = cmp.Or(o.Drain, DefaultDrain)
	o.Replicas = cmp.Or(o.Replicas, 1)
	o.MaxJobs = cmp.Or(o.MaxJobs, DefaultMaxJobs)
	o.ResultTTL = cmp.Or(o.ResultTTL, DefaultResultTTL)
	o.StatusEvery = cmp.Or(o.StatusEvery, DefaultStatusEvery)
	o.StatusPoll = cmp.Or(o.StatusPoll, DefaultStatusPoll)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.Workers < 0 || o.Workers > maxWorkers:
		return o, fmt.Errorf("open queue: %d workers: must be 1 to %d", o.Workers, maxWorkers)
	case o.CallbackWorkers < 0 || o.CallbackWorkers > maxCallbackWorkers:
		return o, fmt.Errorf("open queue: %d callback workers: must be 1 to %d", o.CallbackWorkers, maxCallbackWorkers)
	case o.AckWait < minAckWait:
		return o, fmt.Errorf("open queue: --ack-wait %s: must be at least %s", o.AckWait, minAckWait)
	case o.Replicas < 0 || o.Replicas > 5:
		return o, fmt.Errorf("open queue: %d replicas: must be 1 to 5", o.Replicas)
	case o.MaxDeliver < 0 || o.JobTimeout < 0 || o.ResultTTL < 0 || o.StatusPoll < 0 || o.StatusEvery < 0:
		return o, errors.New("open queue: MaxDeliver, JobTimeout, ResultTTL, StatusPoll and StatusEvery must not be negative")
	}
	return o, nil
}
