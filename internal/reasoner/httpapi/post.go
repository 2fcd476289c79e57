package httpapi

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
	maxAttempts    = 5
	timeout        = 2 * time.Minute
	attemptTimeout = 10 * time.Second
	minDelay       = 500 * time.Millisecond // after the first attempt; doubles
	maxDelay       = 30 * time.Second
	maxDrained     = 64 << 10 // bytes of a response
)

// PosterOptions configures a Poster. Guard is required.
type PosterOptions struct {
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

// Poster posts the results of asynchronous decisions to callback URLs. Its [Guard] keeps
// callers from directing requests at the service's own network. It is safe for concurrent use.
type Poster struct {
	o      PosterOptions
	client *http.Client
}

// NewPoster returns a Poster. Call Close to release its connections.
func NewPoster(o PosterOptions) *Poster {
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
	return &Poster{o: o, client: &http.Client{
		// No proxy: the guard would check the address of the proxy instead of
		// the target's.
		Transport: &http.Transport{
			DialContext: o.Guard.DialContext, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: attemptTimeout, ResponseHeaderTimeout: attemptTimeout,
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
func (p *Poster) Close() { p.client.CloseIdleConnections() }

// statusError is a response other than 2xx.
type statusError struct {
	status    int
	permanent bool          // another attempt has no effect
	after     time.Duration // from Retry-After; 0 if absent
}

// Error includes the status.
func (e *statusError) Error() string { return fmt.Sprintf("answered with status %d", e.status) }

// Post sends a result to its address: at most 5 attempts within 2 minutes. It
// retries after network errors and the statuses 408, 429 and 5xx. It does not
// follow redirects. The error reports why the last attempt failed; of the
// address it contains only the host.
func (p *Poster) Post(ctx context.Context, address string, result *wire.Callback) (err error) {
	defer func() { p.o.Observe(err == nil) }()
	body, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("post callback: %w", err)
	}
	host := "?"
	u, err := url.Parse(address)
	if err == nil {
		host = u.Host
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := p.attempt(ctx, address, body)
		if err == nil {
			p.o.Logger.LogAttrs(ctx, slog.LevelDebug, "callback delivered", slog.String("job", result.JobID), slog.String("host", host), slog.Int("attempt", attempt))
			return nil
		}
		var refused *statusError
		again := attempt < maxAttempts && ctx.Err() == nil && !errors.Is(err, errForbiddenAddress) && !(errors.As(err, &refused) && refused.permanent)
		if !again || p.o.Sleep(ctx, retryDelay(attempt, err)) != nil {
			return fmt.Errorf("post callback to %s, attempt %d: %w", host, attempt, err)
		}
	}
}

// retryDelay returns the delay before the next attempt: exponential with
// jitter, or the delay that the receiver requested.
func retryDelay(attempt int, err error) time.Duration {
	var refused *statusError
	if errors.As(err, &refused) && refused.after > 0 {
		return min(refused.after, maxDelay)
	}
	d := min(minDelay<<(attempt-1), maxDelay)
	return d/2 + rand.N(d/2)
}

func (p *Poster) attempt(ctx context.Context, address string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errForbiddenAddress // err repeats the address
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "meup-reasoner")
	timestamp := strconv.FormatInt(p.o.Now().Unix(), 10)
	req.Header.Set(wire.TimestampHeader, timestamp)
	if len(p.o.Secret) > 0 {
		req.Header.Set(wire.SignatureHeader, wire.Sign(p.o.Secret, timestamp, body))
	}
	resp, err := p.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // the query of its URL may contain a secret
			return u.Err
		}
		return err
	}
	defer func() { _ = resp.Body.Close() }() // the part that matters was read
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrained)
	switch status := resp.StatusCode; {
	case status >= 200 && status <= 299:
		return nil
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // 0 if it is a date
		return &statusError{status: status, after: time.Duration(max(0, min(seconds, 3600))) * time.Second}
	default:
		return &statusError{status: status, permanent: true}
	}
}
