package reasoner

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/kit/natsconn"
)

// queueClient is a Client that submits jobs to a queue.
type queueClient struct {
	opts     Options
	nc       *nats.Conn
	ownsConn bool
	js       jetstream.JetStream
	names    wire.QueueNames

	// restored is closed and replaced whenever the connection has been restored.
	mu       sync.Mutex
	restored chan struct{}
	store    *store // nil until the streams were found
	closed   bool

	status  chan nats.Status
	watcher sync.WaitGroup
}

// store holds the streams of a queue.
type store struct{ jobs, results jetstream.Stream }

// NewQueue returns a client that uses a queue. It returns immediately, even if
// NATS is unreachable.
func NewQueue(o Options) (Client, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &queueClient{opts: o, nc: o.Conn, restored: make(chan struct{})}
	c.names, err = wire.NewQueueNames(o.Queue)
	if err != nil {
		return nil, err
	}
	if c.nc == nil {
		c.ownsConn = true
		options := []nats.Option{nats.Name("meup-reasoner client")}
		if o.NATSToken != "" {
			options = append(options, nats.Token(o.NATSToken))
		}
		options = append(options, o.NATSOptions...)
		c.nc, err = natsconn.Connect(o.NATSURL, nil, options...)
		if err != nil {
			return nil, err
		}
	}
	c.js, err = jetstream.New(c.nc)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.status = c.nc.StatusChanged(nats.CONNECTED)
	c.watcher.Go(func() { // ends with Close
		for range c.status { // the connection was restored: waiting calls may have missed an announcement
			c.mu.Lock()
			close(c.restored)
			c.restored = make(chan struct{})
			c.mu.Unlock()
		}
	})
	return c, nil
}

func (c *queueClient) reconnected() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.restored
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
	if err := c.retry(ctx, "submit job", func(ctx context.Context) error {
		_, err := c.submit(ctx, j)
		return err
	}); err != nil {
		return nil, err
	}
	return &wire.Accepted{Status: "accepted", JobID: j.id}, nil
}

// Workflow submits a job and waits for its result.
func (c *queueClient) Workflow(ctx context.Context, req *wire.WorkflowIntentRequest) (*wire.WorkflowIntentResponse, error) {
	if err := c.checkKey(req.LLM); err != nil {
		return nil, err
	}
	j, err := c.job(wire.JobWorkflowIntent, rand.Text(), req)
	if err != nil {
		return nil, err
	}
	var resp wire.WorkflowIntentResponse
	if err := c.await(ctx, j, &resp); err != nil {
		return nil, err
	}
	return &resp, nil
}

// Close ends the client, and its connection if it is the client's own. Waiting
// calls return ErrClosed.
func (c *queueClient) Close() error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	if first {
		close(c.restored)
		c.restored = make(chan struct{})
	}
	c.mu.Unlock()
	if !first {
		return nil
	}
	if c.status != nil {
		c.nc.RemoveStatusListener(c.status)
	}
	c.watcher.Wait()
	if c.ownsConn {
		c.nc.Close()
	}
	return nil
}

func (c *queueClient) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// job is a job to submit.
type job struct {
	id, key string
	digest  string // of the payload; empty if only the id matters
	data    []byte
	// waited means that Options.Waiting was called.
	waited bool
	// fresh means that the id was generated here, so that no earlier request
	// can have used it.
	fresh bool
}

// checkKey rejects a request with a key that the queue must not store.
func (c *queueClient) checkKey(l *wire.LLM) error {
	if l != nil && l.APIKey != "" && !c.opts.AllowAPIKeys {
		return fmt.Errorf("submit job: %w; the workers have their own, or Options.AllowAPIKeys permits it", ErrAPIKey)
	}
	return nil
}

// intentJob creates a job for a request, without modifying the request.
func (c *queueClient) intentJob(req *wire.AgentIntentRequest) (*job, error) {
	if err := c.checkKey(req.LLM); err != nil {
		return nil, err
	}
	r := *req
	fresh := r.CorrelationID == ""
	if fresh {
		r.CorrelationID = rand.Text()
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
	data, err := json.Marshal(&wire.QueueJob{Type: kind, CorrelationID: id, Submitted: time.Now().UTC(), Payload: raw})
	if err != nil {
		return nil, fmt.Errorf("submit job: %w", err)
	}
	return &job{id: id, key: c.names.Key(id), digest: wire.Digest(raw), data: data}, nil
}

// checkOwner returns the result, or a conflict if the result belongs to another
// request with the same id.
func (j *job) checkOwner(r *wire.QueueResult) (*wire.QueueResult, error) {
	if j.digest != "" && r.Request != "" && r.Request != j.digest {
		return nil, conflict()
	}
	return r, nil
}

func conflict() *APIError {
	body := wire.Conflict()
	return &APIError{Status: http.StatusConflict, Code: body.Error, Message: body.Message, Path: body.Path}
}
