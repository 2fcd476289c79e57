package reasoner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// Bounds for the delivery of one callback.
const (
	callbackAttempts       = 5
	callbackTimeout        = 2 * time.Minute
	callbackAttemptTimeout = 10 * time.Second
	minCallbackDelay       = 500 * time.Millisecond // after the first attempt; doubles
	maxCallbackDelay       = 30 * time.Second
	maxDrained             = 64 << 10 // bytes of a response
)

// CallbackOptions configures Callbacks. Guard is required.
type CallbackOptions struct {
	Guard *Guard
	// Secret signs posted results (see wire.Sign); nil: results are not signed.
	Secret []byte
	Logger *slog.Logger     // nil: none
	Now    func() time.Time // nil: time.Now
	// Sleep waits for d or returns ctx's error; nil: uses a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// Observe is called with the outcome of each callback: delivered or given
	// up. It may be nil.
	Observe func(delivered bool)
}

// Callbacks posts results to callback URLs. It is safe for concurrent use.
type Callbacks struct {
	o      CallbackOptions
	client *http.Client
}

// NewCallbacks returns Callbacks. Call Close to release its connections.
func NewCallbacks(o CallbackOptions) *Callbacks {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Observe == nil {
		o.Observe = func(bool) {}
	}
	return &Callbacks{o: o, client: &http.Client{
		// No proxy: the guard would check the address of the proxy instead of
		// the target's.
		Transport: &http.Transport{
			DialContext: o.Guard.DialContext, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: callbackAttemptTimeout, ResponseHeaderTimeout: callbackAttemptTimeout,
			MaxIdleConns: 64, MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second,
			MaxResponseHeaderBytes: maxDrained,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes idle connections.
func (c *Callbacks) Close() { c.client.CloseIdleConnections() }

// Check validates a callback URL when a request is accepted. The error is a
// *Fault.
func (c *Callbacks) Check(ctx context.Context, address string) error {
	const path = "/callback_url"
	if address == "" {
		return invalid(path, "An asynchronous request needs a callback_url: add the http or https address that its result shall be posted to.")
	}
	if err := c.o.Guard.Check(ctx, address); err != nil {
		return &Fault{Status: http.StatusBadRequest, Code: CodeCallback, Path: path, Message: "The callback_url is refused: " + err.Error() + "."}
	}
	return nil
}

// permanentError is a response that does not permit another attempt.
type permanentError struct{ status int }

// Error includes the status.
func (r permanentError) Error() string { return fmt.Sprintf("answered with status %d", r.status) }

// temporaryError is a response after which the request is retried.
type temporaryError struct {
	status int
	after  time.Duration // from Retry-After; 0 if absent
}

// Error includes the status.
func (b temporaryError) Error() string { return fmt.Sprintf("answered with status %d", b.status) }

// Post sends a result to its address: at most 5 attempts within 2 minutes. It
// retries after network errors and the statuses 408, 429 and 5xx. It does not
// follow redirects. The error reports why the last attempt failed; of the
// address it contains only the host.
func (c *Callbacks) Post(ctx context.Context, address string, result *wire.Callback) error {
	err := c.post(ctx, address, result)
	c.o.Observe(err == nil)
	return err
}

func (c *Callbacks) post(ctx context.Context, address string, result *wire.Callback) error {
	body, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("post callback: %w", err)
	}
	host := hostOf(address)
	ctx, cancel := context.WithTimeout(ctx, callbackTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := c.attempt(ctx, address, body)
		if err == nil {
			c.o.Logger.LogAttrs(ctx, slog.LevelDebug, "callback delivered", slog.String("job", result.JobID), slog.String("host", host), slog.Int("attempt", attempt))
			return nil
		}
		var refused permanentError
		if errors.As(err, &refused) || errors.Is(err, ErrForbidden) || ctx.Err() != nil || attempt == callbackAttempts {
			return fmt.Errorf("post callback to %s, attempt %d: %w", host, attempt, err)
		}
		if waitErr := c.o.Sleep(ctx, retryDelay(attempt, err)); waitErr != nil {
			return fmt.Errorf("post callback to %s, attempt %d: %w", host, attempt, err)
		}
	}
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "?"
	}
	return u.Host
}

// retryDelay returns the delay before the next attempt: exponential with
// jitter, or the delay that the receiver requested.
func retryDelay(attempt int, err error) time.Duration {
	var b temporaryError
	if errors.As(err, &b) && b.after > 0 {
		return min(b.after, maxCallbackDelay)
	}
	d := min(minCallbackDelay<<(attempt-1), maxCallbackDelay)
	return d/2 + rand.N(d/2)
}

func (c *Callbacks) attempt(ctx context.Context, address string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callbackAttemptTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return ErrForbidden // err repeats the address
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "meup-reasoner")
	timestamp := strconv.FormatInt(c.o.Now().Unix(), 10)
	req.Header.Set(wire.TimestampHeader, timestamp)
	if len(c.o.Secret) > 0 {
		req.Header.Set(wire.SignatureHeader, wire.Sign(c.o.Secret, timestamp, body))
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = resp.Body.Close() }() // the part that matters was read
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrained)
	switch status := resp.StatusCode; {
	case status >= 200 && status <= 299:
		return nil
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // 0 if it is a date
		return temporaryError{status: status, after: time.Duration(max(0, min(seconds, 3600))) * time.Second}
	default:
		return permanentError{status: status}
	}
}

// withoutURL removes the address from an error: its query may contain a secret.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
