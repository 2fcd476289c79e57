package reasoner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/natsconn"
)

// queueClient is a Client that puts jobs into a queue.
type queueClient struct {
	opts  Options
	nc    *nats.Conn
	own   bool
	js    jetstream.JetStream
	names wire.QueueNames

	// back is closed, and replaced, whenever the connection has come back.
	mu     sync.Mutex
	back   chan struct{}
	store  *store // nil until the streams were found
	closed bool

	status  chan nats.Status
	watcher sync.WaitGroup
}

// store are the streams of a queue.
type store struct{ jobs, results jetstream.Stream }

// NewQueue returns a client that asks through a queue. It returns at once,
// whether NATS is there or not.
func NewQueue(o Options) (Client, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &queueClient{opts: o, nc: o.Conn, back: make(chan struct{})}
	if c.names, err = wire.NewQueueNames(o.Queue); err != nil {
		return nil, err
	}
	if c.nc == nil {
		c.own = true
		if c.nc, err = connect(o); err != nil {
			return nil, err
		}
	}
	if c.js, err = jetstream.New(c.nc); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.status = c.nc.StatusChanged(nats.CONNECTED)
	c.watcher.Go(c.watch)
	return c, nil
}

func connect(o Options) (*nats.Conn, error) {
	// What nats.Connect says of an address repeats it, with the password.
	if err := natsconn.CheckURLs(o.NATSURL); err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	nc, err := nats.Connect(o.NATSURL, append([]nats.Option{
		nats.Name("meup-reasoner client"),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectBufSize(-1), // whoever submits is told at once
	}, o.NATSOptions...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	return nc, nil
}

// watch tells those who wait that the connection has come back: an
// announcement may have come while it was away. Close ends it.
func (c *queueClient) watch() {
	for range c.status {
		c.mu.Lock()
		close(c.back)
		c.back = make(chan struct{})
		c.mu.Unlock()
	}
}

func (c *queueClient) reconnected() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.back
}

// AgentIntent submits a job and waits for its result.
func (c *queueClient) AgentIntent(ctx context.Context, req *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
	j, err := c.intentJob(req)
	if err != nil {
		return nil, err
	}
	var resp wire.AgentIntentResponse
	if err := c.await(ctx, j, &resp); err != nil {
		return nil, err
	}
	return c.opts.validate(req, &resp)
}

// AgentIntentAsync submits a job.
func (c *queueClient) AgentIntentAsync(ctx context.Context, req *wire.AgentIntentRequest) (*wire.Accepted, error) {
	j, err := c.intentJob(req)
	if err != nil {
		return nil, err
	}
	if err := c.attempts(ctx, "submit job", func(ctx context.Context) error {
		_, err := c.submit(ctx, j)
		return err
	}); err != nil {
		return nil, err
	}
	return &wire.Accepted{Status: "accepted", JobID: j.id}, nil
}

// Workflow submits a job and waits for its result.
func (c *queueClient) Workflow(ctx context.Context, req *wire.WorkflowIntentRequest) (*wire.WorkflowIntentResponse, error) {
	j, err := c.job(wire.JobWorkflowIntent, c.opts.NewID(), req)
	if err != nil {
		return nil, err
	}
	var resp wire.WorkflowIntentResponse
	if err := c.await(ctx, j, &resp); err != nil {
		return nil, err
	}
	return &resp, nil
}

// Close ends the client, and its connection if it is the client's own. Who
// still waits gets ErrClosed.
func (c *queueClient) Close() error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	if first {
		close(c.back)
		c.back = make(chan struct{})
	}
	c.mu.Unlock()
	if !first {
		return nil
	}
	if c.status != nil {
		c.nc.RemoveStatusListener(c.status)
	}
	c.watcher.Wait()
	if c.own {
		c.nc.Close()
	}
	return nil
}

func (c *queueClient) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// job is one that is to be submitted.
type job struct {
	id, key string
	digest  string // of the payload; empty where only the id matters
	data    []byte
	// fresh: the id was made here and nobody can have asked under it before.
	fresh bool
}

// intentJob makes a job of a request, which stays as it is.
func (c *queueClient) intentJob(req *wire.AgentIntentRequest) (*job, error) {
	if req.LLM != nil && req.LLM.APIKey != "" && !c.opts.AllowAPIKeys {
		return nil, fmt.Errorf("submit job: %w; the workers have their own, or Options.AllowAPIKeys permits it", ErrAPIKey)
	}
	r := *req
	fresh := r.CorrelationID == ""
	if fresh {
		r.CorrelationID = c.opts.NewID()
	}
	j, err := c.job(wire.JobAgentIntent, r.CorrelationID, &r)
	if err == nil {
		j.fresh = fresh
	}
	return j, err
}

func (c *queueClient) job(kind, id string, payload any) (*job, error) {
	if err := wire.CheckCorrelationID(id); err != nil {
		return nil, fmt.Errorf("submit job: %w", err)
	}
	raw, err := json.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("submit job: %w", err)
	}
	data, err := json.Marshal(&wire.QueueJob{Type: kind, CorrelationID: id, Submitted: c.opts.Now().UTC(), Payload: raw})
	if err != nil {
		return nil, fmt.Errorf("submit job: %w", err)
	}
	return &job{id: id, key: c.names.Key(id), digest: wire.Digest(raw), data: data}, nil
}

// own returns the result, or the refusal of a job whose id is another's.
func (j *job) own(r *wire.QueueResult) (*wire.QueueResult, error) {
	if j.digest != "" && r.Request != "" && r.Request != j.digest {
		return nil, conflict()
	}
	return r, nil
}

func conflict() *APIError {
	body := wire.Conflict()
	return &APIError{Status: http.StatusConflict, Code: body.Error, Message: body.Message, Path: body.Path}
}

// read returns what a result says, into a response or as an error.
func read(j *job, r *wire.QueueResult, into any) error {
	switch r.State {
	case wire.JobDone:
		if err := json.Unmarshal(r.Result, into); err != nil {
			return fmt.Errorf("read result of job %s: %w", j.id, err)
		}
		return nil
	case wire.JobCanceled:
		return fmt.Errorf("job %s: %w", j.id, ErrCanceled)
	case wire.JobFailed:
		e := &APIError{Status: r.Status, Message: http.StatusText(r.Status)}
		if r.Error != nil {
			e.Code, e.Message, e.Path = r.Error.Error, r.Error.Message, r.Error.Path
		}
		return e
	}
	return fmt.Errorf("read result of job %s: unknown state %q", j.id, r.State)
}
