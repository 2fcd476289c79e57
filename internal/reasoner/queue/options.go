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
	DefaultWorkers     = 4
	DefaultPosters     = 64
	DefaultAckWait     = 10 * time.Second
	DefaultMaxDeliver  = 5
	DefaultJobTimeout  = 5 * time.Minute
	DefaultDrain       = 8 * time.Second
	DefaultMaxJobs     = 100_000
	DefaultMaxJobBytes = 1 << 30
	DefaultResultTTL   = time.Hour
	DefaultResultBytes = 256 << 20
	DefaultStatusEvery = time.Minute
	DefaultStatusPoll  = time.Second

	maxWorkers = 1024
	maxPosters = 1024
	minAckWait = 500 * time.Millisecond
)

// Decide makes the decision that a job asks for. Its ctx ends when the job is
// canceled, takes too long, or has to be left to another worker.
type Decide func(ctx context.Context, req *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error)

// Workflow does the same for a workflow's transition.
type Workflow func(ctx context.Context, req *wire.WorkflowIntentRequest) (*wire.WorkflowIntentResponse, error)

// Callback posts a result to the URL that a job names. It returns when that
// has succeeded or was given up, or when its ctx ends.
type Callback func(ctx context.Context, url string, body *wire.Callback) error

// Options say where a queue is and how it is worked off. Conn and Decide are
// required.
type Options struct {
	// Conn is the connection to use; the caller closes it, after Run.
	Conn *nats.Conn
	// Name of the queue; empty stands for wire.DefaultQueue.
	Name string

	Decide   Decide
	Workflow Workflow // nil: such jobs fail
	Callback Callback // nil: callback URLs are ignored
	// AllowAPIKeys takes jobs that bring a provider's key with them, which
	// then lies in the stream's files. Others are failed.
	AllowAPIKeys bool

	Workers    int           // jobs at the same time; 0 stands for 4
	Posters    int           // callbacks at the same time besides, a quarter of them to one host; 0 stands for 64
	AckWait    time.Duration // without a sign of life a job goes to another worker
	MaxDeliver int           // how often a job is begun; 0 stands for 5
	JobTimeout time.Duration // for one decision
	Drain      time.Duration // how long Run lets jobs go on when it has to end

	// Of streams that have to be made; those that are there stay as they are.
	Replicas    int           // 0 stands for 1
	MaxJobs     int64         // that wait; more are refused
	MaxJobBytes int64         // that they may have
	ResultTTL   time.Duration // how long results are kept
	ResultBytes int64         // how much of them

	// StatusEvery is the longest pause between two status lines, StatusPoll
	// how often it is looked for a change.
	StatusEvery, StatusPoll time.Duration

	// Now is the clock of what is written down; nil: time.Now.
	Now func() time.Time
	// Logger is told of what an operator must know; nil: nobody.
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
	orDefault(&o.Posters, DefaultPosters)
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
	case o.Posters < 0 || o.Posters > maxPosters:
		return fmt.Errorf("open queue: %d callbacks at the same time: from 1 to %d", o.Posters, maxPosters)
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
