package reasoner

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/kit/textutil"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// maxBody bounds the body of a response, in bytes.
const maxBody = 8 << 20

// httpClient is a Client over HTTP.
type httpClient struct {
	opts     Options
	base     string
	http     *http.Client
	ownsHTTP bool
}

// New returns a client that uses HTTP.
func New(o Options) (Client, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the service's URL: expected http://host:port or https://host:port")
	}
	c := &httpClient{opts: o, base: strings.TrimSuffix(o.URL, "/"), http: o.HTTPClient}
	if c.http == nil {
		c.ownsHTTP = true
		c.http = &http.Client{
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return c, nil
}

// AgentIntent posts to /agent_intent.
func (c *httpClient) AgentIntent(ctx context.Context, req *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
	var resp wire.AgentIntentResponse
	if err := c.call(ctx, "/agent_intent", req, &resp); err != nil {
		return nil, err
	}
	return c.opts.validate(req, &resp)
}

// AgentIntentAsync posts to /agent_intent_async.
func (c *httpClient) AgentIntentAsync(ctx context.Context, req *wire.AgentIntentRequest) (*wire.Accepted, error) {
	r := *req
	if r.CorrelationID == "" {
		r.CorrelationID = rand.Text() // otherwise each attempt is a separate job
	}
	var resp wire.Accepted
	if err := c.call(ctx, "/agent_intent_async", &r, &resp); err != nil {
		return nil, err
	}
	return &resp, nil
}

// Cancel posts to /agent_intent_cancel.
func (c *httpClient) Cancel(ctx context.Context, correlationID string) (bool, error) {
	var resp wire.CancelResponse
	err := c.call(ctx, "/agent_intent_cancel", &wire.CancelRequest{CorrelationID: correlationID}, &resp)
	return err == nil && resp.OK, err
}

// Workflow posts to /workflow_intent.
func (c *httpClient) Workflow(ctx context.Context, req *wire.WorkflowIntentRequest) (*wire.WorkflowIntentResponse, error) {
	var resp wire.WorkflowIntentResponse
	if err := c.call(ctx, "/workflow_intent", req, &resp); err != nil {
		return nil, err
	}
	return &resp, nil
}

// Close closes idle connections, if they are the client's own.
func (c *httpClient) Close() error {
	if c.ownsHTTP {
		c.http.CloseIdleConnections()
	}
	return nil
}

// call posts a body and retries temporary errors.
func (c *httpClient) call(ctx context.Context, path string, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("ask %s: %w", path, err)
	}
	for attempt := 0; ; attempt++ {
		err := c.post(ctx, path, data, into)
		if err == nil {
			return nil
		}
		again := isRetryable(err) && ctx.Err() == nil && attempt < c.opts.Retries
		switch {
		case again && wait(ctx, c.opts.pause(attempt)) == nil:
			continue
		case errors.Is(err, context.Canceled):
			return fmt.Errorf("ask %s: %w", path, err)
		case isTimeout(err):
			return timeoutError(ctx, "ask "+path, c.opts.Timeout, attempt+1, err)
		}
		return fmt.Errorf("ask %s: %w", path, err)
	}
}

// post makes one attempt.
func (c *httpClient) post(ctx context.Context, path string, data []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Accept-Version", c.opts.Version)
	if c.opts.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.opts.Token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return fmt.Errorf("read response: %w", err)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return refusal(resp, body)
	case len(body) > maxBody:
		return fmt.Errorf("%w: it has more than %d bytes", ErrResponse, maxBody)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w: it is not that of a reasoning service: %w", ErrResponse, err)
	}
	return nil
}

// refusal converts an error response. Its body may come from another program,
// such as a proxy.
func refusal(resp *http.Response, body []byte) *APIError {
	e := &APIError{Status: resp.StatusCode}
	var said wire.ErrorBody
	if json.Unmarshal(body, &said) == nil {
		e.Code, e.Message, e.Path, e.Usage = said.Error, said.Message, said.Path, said.Usage
	} else if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		e.Message = textutil.Shorten(strings.TrimSpace(string(body)), 300)
	}
	if e.Message == "" {
		e.Message = http.StatusText(resp.StatusCode)
	}
	return e
}

// isRetryable reports whether a retry may succeed.
func isRetryable(err error) bool {
	var refused *APIError
	if errors.As(err, &refused) {
		return refused.Status >= 500
	}
	return isTimeout(err)
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
