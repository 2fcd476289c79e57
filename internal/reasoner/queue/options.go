package queue

import (
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
	DefaultMaxJobBytes     = 1 << 30
	DefaultResultTTL       = time.Hour
	DefaultResultBytes     = 256 << 20
	DefaultStatusEvery     = time.Minute
	DefaultStatusPoll      = time.Second

	maxWorkers         = 1024
	maxCallbackWorkers = 1024
	minAckWait         = 500 * time.Millisecond
)

// Decide makes the decision of a job. Its ctx ends when the job is canceled,
// times out, or must be left to another worker.
type Decide func(ctx context.Context, req *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error)

// Workflow computes a workflow's transition, under the same conditions.
type Workflow func(ctx context.Context, req *wire.WorkflowIntentRequest) (*wire.WorkflowIntentResponse, error)

// Callback posts a result to the URL of a job. It returns when the post has
// succeeded or was given up, or when its ctx ends.
type Callback func(ctx context.Context, url string, body *wire.Callback) error

// Options configures a queue and its processing. Conn and Decide are required.
type Options struct {
	// Conn is the connection to use; the caller closes it after Run.
	Conn *nats.Conn
	// Name of the queue; empty: wire.DefaultQueue.
	Name string

	Decide   Decide
	Workflow Workflow // nil: such jobs fail
	Callback Callback // nil: callback URLs are ignored
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
	Replicas    int           // 0: 1
	MaxJobs     int64         // bound on queued jobs; further ones are rejected
	MaxJobBytes int64         // bound on their bytes
	ResultTTL   time.Duration // how long results are kept
	ResultBytes int64         // bound on the bytes of results

	// StatusEvery is the maximum interval between status lines, StatusPoll the
	// interval of checks for a change.
	StatusEvery, StatusPoll time.Duration

	// Now is the clock for stored timestamps; nil: time.Now.
	Now func() time.Time
	// Logger receives events for operators; nil: none.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Conn == nil:
		return o, errors.New("open queue: no connection")
	case o.Decide == nil:
		return o, errors.New("open queue: nobody decides")
	}
	orDefault(&o.Workers, DefaultWorkers)
	orDefault(&o.CallbackWorkers, DefaultCallbackWorkers)
	orDefault(&o.AckWait, DefaultAckWait)
	orDefault(&o.MaxDeliver, DefaultMaxDeliver)
	orDefault(&o.JobTimeout, DefaultJobTimeout)
	orDefault(&o.Drain, DefaultDrain)
	orDefault(&o.Replicas, 1)
	orDefault(&o.MaxJobs, DefaultMaxJobs)
	orDefault(&o.MaxJobBytes, DefaultMaxJobBytes)
	orDefault(&o.ResultTTL, DefaultResultTTL)
	orDefault(&o.ResultBytes, DefaultResultBytes)
	orDefault(&o.StatusEvery, DefaultStatusEvery)
	orDefault(&o.StatusPoll, DefaultStatusPoll)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := o.check(); err != nil {
		return o, err
	}
	return o, nil
}

func (o *Options) check() error {
	switch {
	case o.Workers < 0 || o.Workers > maxWorkers:
		return fmt.Errorf("open queue: %d workers: from 1 to %d", o.Workers, maxWorkers)
	case o.CallbackWorkers < 0 || o.CallbackWorkers > maxCallbackWorkers:
		return fmt.Errorf("open queue: %d callbacks at the same time: from 1 to %d", o.CallbackWorkers, maxCallbackWorkers)
	case o.AckWait < minAckWait:
		return fmt.Errorf("open queue: a job is taken from its worker after %s: at least %s", o.AckWait, minAckWait)
	case o.Replicas < 0 || o.Replicas > 5:
		return fmt.Errorf("open queue: %d replicas: from 1 to 5", o.Replicas)
	case o.MaxDeliver < 0 || o.JobTimeout < 0 || o.ResultTTL < 0 || o.StatusPoll < 0 || o.StatusEvery < 0:
		return errors.New("open queue: a bound is below zero")
	}
	return nil
}

func orDefault[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}
