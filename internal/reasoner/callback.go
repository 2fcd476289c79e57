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

// Bounds of the delivery of one callback.
const (
	callbackAttempts = 5
	callbackTotal    = 2 * time.Minute
	callbackOnce     = 10 * time.Second
	callbackWait     = 500 * time.Millisecond // behind the first attempt; doubled
	callbackWaitMost = 30 * time.Second
	maxDrained       = 64 << 10 // bytes of an answer
)

// CallbackOptions are the parts of Callbacks. Guard is required.
type CallbackOptions struct {
	Guard *Guard
	// Secret signs what is posted (see wire.Sign); nil: nothing is signed.
	Secret []byte
	Logger *slog.Logger     // nil: none
	Now    func() time.Time // nil: time.Now
	// Sleep waits, or returns ctx's error; nil: with a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// Observe is told whether a callback was delivered or given up; may be nil.
	Observe func(delivered bool)
}

// Callbacks posts results to whoever asked for them. It may be used by many at
// the same time.
type Callbacks struct {
	o      CallbackOptions
	client *http.Client
}

// NewCallbacks returns Callbacks. Close frees its connections.
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
		// No proxy: it would be the proxy whose address the guard sees.
		Transport: &http.Transport{
			DialContext: o.Guard.DialContext, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: callbackOnce, ResponseHeaderTimeout: callbackOnce,
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

// Close frees the connections that wait for another callback.
func (c *Callbacks) Close() { c.client.CloseIdleConnections() }

// Check judges a callback URL when a request is accepted. The error is a
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

// refusal is an answer that the same request would get again.
type refusal struct{ status int }

// Error names the status.
func (r refusal) Error() string { return fmt.Sprintf("answered with status %d", r.status) }

// busy is an answer behind which the request is made again.
type busy struct {
	status int
	after  time.Duration // as Retry-After asks; 0 if it does not
}

// Error names the status.
func (b busy) Error() string { return fmt.Sprintf("answered with status %d", b.status) }

// Post brings a result to its address: at most 5 attempts within 2 minutes,
// again behind a fault of the network and the statuses 408, 429 and 5xx.
// Redirects are not followed. The error says why the last attempt failed; it
// has the host in it, but nothing else of the address.
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
	ctx, cancel := context.WithTimeout(ctx, callbackTotal)
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := c.once(ctx, address, body)
		if err == nil {
			c.o.Logger.LogAttrs(ctx, slog.LevelDebug, "callback delivered", slog.String("job", result.JobID), slog.String("host", host), slog.Int("attempt", attempt))
			return nil
		}
		var refused refusal
		if errors.As(err, &refused) || errors.Is(err, ErrForbidden) || ctx.Err() != nil || attempt == callbackAttempts {
			return fmt.Errorf("post callback to %s, attempt %d: %w", host, attempt, err)
		}
		if waitErr := c.o.Sleep(ctx, pause(attempt, err)); waitErr != nil {
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

// pause is how long to wait behind an attempt: twice as long each time, with
// jitter, or as long as the other side asks.
func pause(attempt int, err error) time.Duration {
	var b busy
	if errors.As(err, &b) && b.after > 0 {
		return min(b.after, callbackWaitMost)
	}
	d := min(callbackWait<<(attempt-1), callbackWaitMost)
	return d/2 + rand.N(d/2)
}

func (c *Callbacks) once(ctx context.Context, address string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callbackOnce)
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
	defer func() { _ = resp.Body.Close() }() // it was read as far as it matters
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrained)
	switch status := resp.StatusCode; {
	case status >= 200 && status <= 299:
		return nil
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // 0 where it is a date
		return busy{status: status, after: time.Duration(max(0, min(seconds, 3600))) * time.Second}
	default:
		return refusal{status: status}
	}
}

// withoutURL takes the address out of an error: it may have a secret in its
// query.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
