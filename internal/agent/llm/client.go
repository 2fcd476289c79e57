package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

const (
	defaultIdle      = 2 * time.Minute
	defaultFirstByte = 10 * time.Minute
)

// Client sends requests to one server over HTTP, in the format of any provider. Its
// methods are safe for concurrent use; its fields must not change during a request.
//
// A request is one [Client.Generate]: JSON in, server-sent events out (or one
// JSON document from servers that do not stream), which a provider's [Decoder]
// assembles. If the server is busy (429, 5xx, or an equivalent error in the
// stream), the request is retried unless a part of the answer has been passed
// on. It is not retried if the server cannot be reached, so that the user sees
// that error at once.
//
// The key in Header is sent only to the host of BaseURL and masked in every
// error text. Requests and answers are not logged.
type Client struct {
	// Provider names the server in errors and logs.
	Provider string
	// BaseURL is the prefix of the paths, such as https://api.openai.com/v1.
	BaseURL string
	// Header sets the headers of a request, including its key; nil sets none.
	Header func(http.Header)
	// HTTP sends the requests; nil means a new client. Its Timeout, if set,
	// bounds a complete answer.
	HTTP *http.Client
	// Retry configures the retries of requests to a busy server.
	Retry Retry
	// Logger logs the retries; nil discards them.
	Logger *slog.Logger
	// ParseError extracts the provider's code and message from the body of a
	// refusal, both "" if there are none; nil extracts nothing. It need not
	// mask or shorten them.
	ParseError func(status int, body []byte) (code, message string)
	// Secrets are masked in the text of every error.
	Secrets []string
	// FirstByte bounds the wait for the first byte of an answer, which is long
	// for a model that thinks without output or is still being loaded. Idle
	// bounds the wait for each further byte. 0 means 10 and 2 minutes.
	FirstByte, Idle time.Duration
}

// withRetry calls ask until it returns no refusal or an error, or Retry allows
// no further attempt.
func (c *Client) withRetry(ctx context.Context, body any, ask func(payload []byte) (*Error, error)) error {
	payload, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("marshal request to %s: %w", c.Provider, err)
	}
	for attempt := 1; ; attempt++ {
		refusal, err := ask(payload)
		if err != nil || refusal == nil {
			return err
		}
		wait, again := c.Retry.nextWait(attempt, refusal)
		if !again {
			return refusal
		}
		if c.Logger != nil {
			c.Logger.LogAttrs(ctx, slog.LevelWarn, "model busy, asking again",
				slog.String("provider", c.Provider), slog.Int("status", refusal.Status), slog.String("code", refusal.Code),
				slog.Int("attempt", attempt), slog.Duration("wait", wait))
		}
		if err := c.Retry.sleep(ctx, wait); err != nil {
			return fmt.Errorf("wait for %s: %w", c.Provider, err)
		}
	}
}

// attempt sends the request once.
func (c *Client) attempt(ctx context.Context, path string, payload []byte) (answer *stream, refusal *Error, err error) {
	s := &stream{client: c, ctx: ctx, idle: orDefault(c.Idle, defaultIdle), left: maxAnswer}
	s.request, s.cancel = context.WithCancelCause(ctx)
	s.timer = time.AfterFunc(orDefault(c.FirstByte, defaultFirstByte), func() { s.cancel(ErrStalled) })
	defer func() {
		if answer == nil {
			s.close()
		}
	}()
	req, err := http.NewRequestWithContext(s.request, http.MethodPost, strings.TrimRight(c.BaseURL, "/")+path, bytes.NewReader(payload))
	if err != nil {
		return nil, nil, fmt.Errorf("ask %s: %w", c.Provider, s.explain(err))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", "meup")
	if c.Header != nil {
		c.Header(req.Header)
	}
	hc := http.Client{}
	if c.HTTP != nil {
		hc = *c.HTTP
	}
	hc.CheckRedirect = sameHostRedirect(hc.CheckRedirect)
	resp, err := hc.Do(req) //nolint:bodyclose // the stream closes it
	if err != nil {
		return nil, nil, fmt.Errorf("ask %s: %w", c.Provider, s.explain(err))
	}
	s.body = resp.Body
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		refusal = c.refusal(resp, s)
		return nil, refusal, ctx.Err()
	}
	if err := s.accept(resp.Header.Get("Content-Type")); err != nil {
		if errors.As(err, &refusal) {
			return nil, refusal, ctx.Err()
		}
		return nil, nil, fmt.Errorf("read answer of %s: %w", c.Provider, err)
	}
	return s, nil, nil
}

func orDefault(d, def time.Duration) time.Duration {
	if d <= 0 {
		return def
	}
	return d
}

const maxRedirects = 5

// sameHostRedirect returns a redirect policy that follows a redirect only to the same
// host, not from https to http, and with the same method, so that the key and
// the conversation are sent to no other host. If next is not nil, it decides
// after these checks.
func sameHostRedirect(next func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		first := via[0]
		switch {
		case req.URL.Host != first.URL.Host:
			return fmt.Errorf("redirected to another host, %s", req.URL.Host)
		case req.URL.Scheme != first.URL.Scheme && req.URL.Scheme != "https":
			return errors.New("redirected from https to http")
		case req.Method != first.Method:
			return fmt.Errorf("redirected from %s to %s", first.Method, req.Method)
		case len(via) >= maxRedirects:
			return errors.New("redirected too often")
		case next != nil:
			return next(req, via)
		}
		return nil
	}
}
