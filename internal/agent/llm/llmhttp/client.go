// Package llmhttp asks a model's server over HTTP and reads the stream of
// events that it answers with. It is what the providers' packages share, and
// knows none of their formats.
//
// One request is one [Client.Ask]: the question as JSON, the answer as
// server-sent events (or, from servers that do not stream, as one JSON
// document). A server that is busy (429 and 5xx, or what its stream says in
// their place) is asked again as long as nothing of an answer has gone out. A
// server that cannot be reached is not: who waits for a model should hear of
// that at once.
//
// The key is the caller's: it is set by [Client.Header], goes to the host of
// BaseURL alone, and is masked in every error text. Nothing of what is asked
// or answered is logged.
package llmhttp

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

	"github.com/meup-protocol/meup/internal/agent/llm"
)

const (
	defaultIdle      = 2 * time.Minute
	defaultFirstByte = 10 * time.Minute
)

// Client asks one server. Its methods may be called at the same time; its
// fields must not change meanwhile.
type Client struct {
	// Provider names the server in errors and logs.
	Provider string
	// BaseURL is put before the paths, such as https://api.openai.com/v1.
	BaseURL string
	// Header sets the headers of a request, its key among them; nil sets none.
	Header func(http.Header)
	// HTTP sends the requests; nil stands for a client of its own. Its Timeout,
	// if there is one, bounds a whole answer.
	HTTP *http.Client
	// Retry says how a busy server is asked again.
	Retry Retry
	// Logger gets the retries; nil discards them.
	Logger *slog.Logger
	// ParseError finds the provider's code and message in the body of a
	// refusal, both "" if there are none; nil finds nothing. The texts need
	// not be masked nor cut.
	ParseError func(status int, body []byte) (code, message string)
	// Secrets are masked in the text of every error.
	Secrets []string
	// FirstByte bounds the wait for the first byte of an answer, which a model
	// that thinks in silence or is still being loaded takes its time for. Idle
	// bounds the wait for each further one. 0 stands for 10 and 2 minutes.
	FirstByte, Idle time.Duration
}

// Ask posts body as JSON to path and has read take the answer, with which it
// passes the answer's pieces on to on. When read returns, or ctx ends, so does
// the stream. on may be nil, and is for read then.
//
// A server that finds itself busy only once its answer has begun is asked again
// too, as long as on was given nothing: read's error tells, if it is or wraps an
// *llm.Error. read is called once for every answer.
//
// Errors are Stream's, and read's own.
func (c *Client) Ask(ctx context.Context, path string, body any, on func(llm.Delta), read func(*Stream, func(llm.Delta)) error) error {
	gone := false
	pass := on
	if on != nil {
		pass = func(d llm.Delta) {
			gone = true
			on(d)
		}
	}
	return c.patiently(ctx, body, func(payload []byte) (*llm.Error, error) {
		s, refusal, err := c.attempt(ctx, path, payload)
		if s == nil {
			return refusal, err
		}
		defer s.Close() //nolint:errcheck // what matters has been read
		err = read(s, pass)
		var within *llm.Error
		if !gone && errors.As(err, &within) && within.Temporary() {
			return within, ctx.Err()
		}
		return nil, err
	})
}

// Stream posts body as JSON to path and returns the answer, which the caller
// closes. When ctx ends, so does the stream.
//
// Errors: *llm.Error for a refusal (of a busy server: after the last attempt),
// ErrStalled for a server that says nothing, ctx's own, and the network's.
func (c *Client) Stream(ctx context.Context, path string, body any) (*Stream, error) {
	var s *Stream
	err := c.patiently(ctx, body, func(payload []byte) (refusal *llm.Error, err error) {
		s, refusal, err = c.attempt(ctx, path, payload)
		return refusal, err
	})
	return s, err
}

// patiently asks until there is neither a refusal nor an error, or Retry says
// that it is enough.
func (c *Client) patiently(ctx context.Context, body any, ask func(payload []byte) (*llm.Error, error)) error {
	payload, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("marshal request to %s: %w", c.Provider, err)
	}
	for attempt := 1; ; attempt++ {
		refusal, err := ask(payload)
		if err != nil || refusal == nil {
			return err
		}
		wait, again := c.Retry.after(attempt, refusal)
		if !again {
			return refusal
		}
		c.log().LogAttrs(ctx, slog.LevelWarn, "model busy, asking again",
			slog.String("provider", c.Provider), slog.Int("status", refusal.Status), slog.String("code", refusal.Code),
			slog.Int("attempt", attempt), slog.Duration("wait", wait))
		if err := c.Retry.sleep(ctx, wait); err != nil {
			return fmt.Errorf("wait for %s: %w", c.Provider, err)
		}
	}
}

// attempt asks once.
func (c *Client) attempt(ctx context.Context, path string, payload []byte) (answer *Stream, refusal *llm.Error, err error) {
	s := newStream(ctx, c)
	defer func() {
		if answer == nil {
			_ = s.Close() // the error, or the refusal, says more
		}
	}()
	resp, err := c.send(s.request, path, payload) //nolint:bodyclose // the stream closes it
	if err != nil {
		return nil, nil, fmt.Errorf("ask %s: %w", c.Provider, s.explain(err))
	}
	s.body = resp.Body
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		refusal = c.refusal(resp, s)
		return nil, refusal, ctx.Err()
	}
	if err := s.accept(resp.Header.Get("Content-Type")); err != nil {
		return nil, nil, fmt.Errorf("read answer of %s: %w", c.Provider, err)
	}
	return s, nil, nil
}

func (c *Client) send(ctx context.Context, path string, payload []byte) (*http.Response, error) {
	url := strings.TrimRight(c.BaseURL, "/") + path
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(payload))
	if err != nil {
		return nil, err
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
	hc.CheckRedirect = stayHome(hc.CheckRedirect)
	return hc.Do(req)
}

func (c *Client) log() *slog.Logger {
	if c.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Logger
}

func orDefault(d, def time.Duration) time.Duration {
	if d <= 0 {
		return def
	}
	return d
}
