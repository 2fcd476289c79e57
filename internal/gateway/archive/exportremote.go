package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/internal/turns/transcript"
	"github.com/meup-protocol/meup/protocol"
)

// remote is the part of a log that a running gateway returns.
type remote struct {
	client *api.Client
	space  string
}

// OpenGateway returns the part of a space's log that a running gateway returns
// for a token. It does not connect yet.
func OpenGateway(url, token, space string) (ExportSource, error) {
	c, err := api.New(api.Options{URL: url, Token: token})
	if err != nil {
		return nil, err
	}
	return &remote{c, space}, nil
}

// pageSize is the number of envelopes per request: the maximum of a gateway.
const pageSize = 1000

// Range implements turns.Reader. It holds one page.
func (l *remote) Range(ctx context.Context, first, last protocol.Seq) iter.Seq2[turns.Entry, error] {
	return func(yield func(turns.Entry, error) bool) {
		q := api.EnvelopeQuery{Since: max(first, 1) - 1, Before: last + 1, Limit: int(min(pageSize, last-min(first, last)+1))}
		for {
			page, err := l.client.Envelopes(ctx, l.space, q)
			if err == nil && page.HasMore && page.Next <= q.Since {
				err = errors.New("the gateway returned the same page again")
			}
			if err != nil {
				yield(turns.Entry{}, fmt.Errorf("read from the gateway: %w", err))
				return
			}
			for i := range page.Envelopes {
				if !yield(turns.Entry{Envelope: &page.Envelopes[i]}, nil) {
					return
				}
			}
			if !page.HasMore {
				return
			}
			q.Since = page.Next
		}
	}
}

func (l *remote) spaceName() string { return l.space }

func (l *remote) Close() error {
	l.client.Close()
	return nil
}

// turns writes threads and jobs as the gateway returns them: numbered, and with
// its secrets masked.
func (l *remote) turns(ctx context.Context, x *exporter) error {
	only, one := x.selected()
	list := []part{only}
	if !one {
		var err error
		list, err = l.parts(ctx)
		if err != nil {
			return fmt.Errorf("read from the gateway: %w", err)
		}
	}
	if len(list) == 0 {
		return fmt.Errorf("the space %s has no threads or jobs", l.space)
	}
	write := l.markdown
	if x.Format == Traces {
		write = l.traces
	}
	for _, of := range list {
		err := write(ctx, x, of)
		var status *api.StatusError
		if errors.As(err, &status) && status.Status == http.StatusNotFound {
			// The id may be one of a message in another thread or job.
			in, other := l.client.TurnOf(ctx, l.space, cmp.Or(of.thread, of.job))
			if other == nil && (in.ThreadID != of.thread || in.JobID != of.job) {
				err = isPartOf(of, part{thread: in.ThreadID, job: in.JobID})
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parts lists the threads and jobs, oldest first.
func (l *remote) parts(ctx context.Context) ([]part, error) {
	threads, err := allPages(func(before protocol.Seq) (list []part, next protocol.Seq, more bool, err error) {
		page, err := l.client.Threads(ctx, l.space, turns.MaxPage, before)
		if err != nil {
			return nil, 0, false, err
		}
		for i := range page.Threads {
			list = append(list, part{thread: page.Threads[i].ThreadID, seq: page.Threads[i].Seq})
		}
		return list, page.Next, page.HasMore, nil
	})
	if err != nil {
		return nil, err
	}
	jobs, err := allPages(func(before protocol.Seq) (list []part, next protocol.Seq, more bool, err error) {
		page, err := l.client.Jobs(ctx, l.space, turns.MaxPage, before)
		if err != nil {
			return nil, 0, false, err
		}
		for i := range page.Jobs {
			list = append(list, part{job: page.Jobs[i].JobID, seq: page.Jobs[i].Seq})
		}
		return list, page.Next, page.HasMore, nil
	})
	return byBeginning(append(threads, jobs...)), err
}

// allPages reads pages until there are no more.
func allPages(read func(before protocol.Seq) ([]part, protocol.Seq, bool, error)) (all []part, err error) {
	for before := protocol.Seq(0); ; {
		list, next, more, err := read(before)
		switch {
		case err != nil:
			return nil, err
		case !more:
			return append(all, list...), nil
		case next == 0 || before > 0 && next >= before:
			return nil, errors.New("the gateway returned the same page again")
		}
		all, before = append(all, list...), next
	}
}

// markdown writes a thread or a job in the gateway's Markdown.
func (l *remote) markdown(ctx context.Context, x *exporter, of part) error {
	read, id := l.client.Transcript, of.thread
	if of.job != "" {
		read, id = l.client.JobTranscript, of.job
	}
	text, err := read(ctx, l.space, id)
	if err != nil {
		return fmt.Errorf("read from the gateway: %w", err)
	}
	if _, err := x.out.WriteString(transcript.Clean(string(text))); err != nil {
		return err
	}
	x.progress.wrote()
	return nil
}

// traces writes a thread or a job from the turns that the gateway returns.
func (l *remote) traces(ctx context.Context, x *exporter, of part) error {
	head := transcript.Head{Space: l.space, ThreadID: of.thread, JobID: of.job, Exported: time.Now().UTC()}
	var newest *api.History
	var err error
	if of.job != "" {
		newest, err = l.client.Job(ctx, l.space, of.job)
		if err != nil {
			err = fmt.Errorf("read from the gateway: %w", err)
		}
	} else {
		newest, err = l.page(ctx, of.thread, 0)
	}
	if err != nil {
		return err
	}
	head.SessionID = newest.SessionID
	return traces(x.out, head, x.counted(l.turnsOf(ctx, newest)))
}

// turnPage is the number of turns per request.
const turnPage = 50

func (l *remote) page(ctx context.Context, thread protocol.ID, before int) (*api.History, error) {
	h, err := l.client.History(ctx, l.space, thread, api.Page{Limit: turnPage, Before: before})
	switch {
	case err != nil:
		return nil, fmt.Errorf("read from the gateway: %w", err)
	case h.HasMore && (len(h.Turns) == 0 || before > 0 && h.Turns[0].TurnNumber >= before):
		return nil, errors.New("read from the gateway: it returned the same page again")
	}
	return h, nil
}

// turnsOf yields all turns of a thread, oldest first, given its newest ones. It
// holds some [turnPage] of them.
func (l *remote) turnsOf(ctx context.Context, newest *api.History) iter.Seq2[*api.Turn, error] {
	return func(yield func(*api.Turn, error) bool) {
		if !newest.HasMore {
			each(newest.Turns, yield)
			return
		}
		last := newest.Turns[len(newest.Turns)-1].TurnNumber
		for low := 1; low <= last; low += turnPage {
			list, err := l.between(ctx, newest.ThreadID, low, low+turnPage)
			if err != nil {
				yield(nil, err)
				return
			}
			if !each(list, yield) {
				return
			}
		}
	}
}

// between returns the turns with low <= number < high. Of large turns a page
// has fewer.
func (l *remote) between(ctx context.Context, thread protocol.ID, low, high int) (list []api.Turn, err error) {
	for {
		h, err := l.page(ctx, thread, high)
		if err != nil {
			return nil, err
		}
		older := slices.DeleteFunc(h.Turns, func(t api.Turn) bool { return t.TurnNumber < low })
		more := h.HasMore && len(older) > 0 && older[0].TurnNumber > low && len(older) == len(h.Turns)
		list = append(older, list...)
		if !more {
			return list, nil
		}
		high = list[0].TurnNumber
	}
}

func each(list []api.Turn, yield func(*api.Turn, error) bool) bool {
	for i := range list {
		if !yield(&list[i], nil) {
			return false
		}
	}
	return true
}
