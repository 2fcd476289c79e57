package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// Page selects turns of a thread.
type Page struct {
	Limit  int // maximum number, the newest ones; 0: the gateway's default
	Before int // only turns below this number; 0: all
}

// History returns turns of a thread.
func (c *Client) History(ctx context.Context, space string, thread protocol.ID, page Page) (*History, error) {
	q := make(url.Values)
	setNumber(q, "limit", page.Limit)
	setNumber(q, "before", page.Before)
	var h History
	if err := c.get(ctx, inSpace(space, "threads", string(thread)), q, &h); err != nil {
		return nil, fmt.Errorf("read thread %s: %w", thread, err)
	}
	return &h, nil
}

// SessionPage selects turns and jobs of a session.
type SessionPage struct {
	Limit  int          // maximum number, the newest ones; 0: the gateway's default
	Before protocol.Seq // History.Next of the page before; 0: all
}

// SessionHistory returns turns and jobs of a session, oldest first. Each has the id of its
// thread or job.
func (c *Client) SessionHistory(ctx context.Context, space, session string, page SessionPage) (*History, error) {
	q := make(url.Values)
	setNumber(q, "limit", page.Limit)
	setSeq(q, "before", page.Before)
	var h History
	if err := c.get(ctx, inSpace(space, "sessions", session), q, &h); err != nil {
		return nil, fmt.Errorf("read session %s: %w", session, err)
	}
	return &h, nil
}

// TurnOf returns the turn or the job that contains an envelope: the question, the
// answer, a thought or a call.
func (c *Client) TurnOf(ctx context.Context, space string, envelope protocol.ID) (*TurnOf, error) {
	var t TurnOf
	if err := c.get(ctx, inSpace(space, "envelopes", string(envelope), "turn"), nil, &t); err != nil {
		return nil, fmt.Errorf("read turn of envelope %s: %w", envelope, err)
	}
	return &t, nil
}

// Threads returns the threads of a space, the newest first: at most limit (0:
// the gateway's default), and only threads that began before a Seq (0: all).
func (c *Client) Threads(ctx context.Context, space string, limit int, before protocol.Seq) (*Threads, error) {
	q := make(url.Values)
	setNumber(q, "limit", limit)
	setSeq(q, "before", before)
	var t Threads
	if err := c.get(ctx, inSpace(space, "threads"), q, &t); err != nil {
		return nil, fmt.Errorf("list threads of space %q: %w", space, err)
	}
	return &t, nil
}

// Jobs returns the jobs of a space like Threads.
func (c *Client) Jobs(ctx context.Context, space string, limit int, before protocol.Seq) (*Jobs, error) {
	q := make(url.Values)
	setNumber(q, "limit", limit)
	setSeq(q, "before", before)
	var j Jobs
	if err := c.get(ctx, inSpace(space, "jobs"), q, &j); err != nil {
		return nil, fmt.Errorf("list jobs of space %q: %w", space, err)
	}
	return &j, nil
}

// Job returns a job, as the only turn of a page.
func (c *Client) Job(ctx context.Context, space string, job protocol.ID) (*History, error) {
	var h History
	if err := c.get(ctx, inSpace(space, "jobs", string(job)), nil, &h); err != nil {
		return nil, fmt.Errorf("read job %s: %w", job, err)
	}
	return &h, nil
}

// Transcript returns a thread as Markdown.
func (c *Client) Transcript(ctx context.Context, space string, thread protocol.ID) ([]byte, error) {
	return c.markdown(ctx, space, "thread", thread)
}

// JobTranscript returns a job as Markdown.
func (c *Client) JobTranscript(ctx context.Context, space string, job protocol.ID) ([]byte, error) {
	return c.markdown(ctx, space, "job", job)
}

func (c *Client) markdown(ctx context.Context, space, kind string, id protocol.ID) ([]byte, error) {
	r, err := c.request(ctx, http.MethodGet, inSpace(space, kind+"s", string(id)+".md"), nil, nil)
	if err == nil {
		var text []byte
		var h http.Header
		text, h, err = c.do(r)
		switch {
		case err == nil && strings.HasPrefix(h.Get("Content-Type"), "text/markdown"):
			return text, nil
		case err == nil: // the turns of another one, as JSON
			err = fmt.Errorf("the gateway did not answer with Markdown; is there a %s %s.md?", kind, id)
		}
	}
	return nil, fmt.Errorf("read transcript of %s %s: %w", kind, id, err)
}

// setNumber sets a parameter unless n is 0.
func setNumber(q url.Values, name string, n int) {
	if n != 0 {
		q.Set(name, strconv.Itoa(n))
	}
}

// setSeq sets a parameter unless seq is 0.
func setSeq(q url.Values, name string, seq protocol.Seq) {
	if seq > 0 {
		q.Set(name, seq.String())
	}
}
