package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/protocol"
)

// tailFlags are the flags of tail.
type tailFlags struct {
	filter   filterFlags
	since    string
	last     int
	noFollow bool
	json     bool
}

func newTail(a *app) *cobra.Command {
	var f tailFlags
	c := &cobra.Command{
		Use:   "tail",
		Short: "Follows what is said in a space",
		Long: `tail prints the last envelopes of a space and goes on with those that come, one
on a line, until Ctrl-C. A lost connection is opened again; what was said
meanwhile follows, nothing twice.

A filter never hides work from a participant: calls, proposals, what answers
them, and what is addressed to you pass it. With --observe the filter holds for
everything.

With --json a line is an envelope as the gateway gives it. Characters that a
terminal obeys, or that cannot be seen, are written as \\u escapes.`,
		Example: `  meup tail
  meup tail --main -n 50
  meup tail --observe --kinds 'reasoning/*' --conclusions-only
  meup tail --since all --no-follow --json > space.jsonl`,
		Args: program.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return finishStopped(c.Context(), runTail(c, a, &f))
		},
	}
	fl := c.Flags()
	f.filter.register(fl)
	fl.StringVar(&f.since, "since", "", "begin behind this SEQ; all: with the oldest")
	fl.IntVarP(&f.last, "lines", "n", 10, "begin with the last N; 0: with what comes next")
	fl.BoolVar(&f.noFollow, "no-follow", false, "end when everything that is there was printed")
	fl.BoolVar(&f.json, "json", false, "one envelope on a line")
	return c
}

// tailing is one run of tail.
type tailing struct {
	target  *target
	api     *api.Client
	flags   *tailFlags
	filter  protocol.Filter
	sieve   historyFilter
	since   *protocol.Seq // nil: the last ones
	printer *printer
	note    func(format string, args ...any)
}

func runTail(c *cobra.Command, a *app, f *tailFlags) error {
	t, err := newTailing(c, a, f)
	if err != nil {
		return err
	}
	defer t.api.Close()
	if f.noFollow {
		return t.once(c)
	}
	return t.follow(c)
}

func newTailing(c *cobra.Command, a *app, f *tailFlags) (*tailing, error) {
	since, err := f.position(c.Flags())
	if err != nil {
		return nil, err
	}
	filter, matcher, err := f.filter.filter(c.Flags())
	if err != nil {
		return nil, err
	}
	style, err := a.style(c.OutOrStdout())
	if err != nil {
		return nil, err
	}
	target, err := a.target(c.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	asker, err := target.http()
	if err != nil {
		return nil, err
	}
	return &tailing{
		target: target, api: asker, flags: f, filter: filter, since: since,
		sieve:   historyFilter{matcher: matcher, observe: f.filter.observe},
		printer: &printer{out: bufio.NewWriter(c.OutOrStdout()), json: f.json, style: style, kinds: len(f.filter.kinds) > 0, zone: time.Local},
		note:    func(format string, args ...any) { warn(c.ErrOrStderr(), format, args...) },
	}, nil
}

func (f *tailFlags) position(fl *pflag.FlagSet) (*protocol.Seq, error) {
	switch {
	case f.since == "" && fl.Changed("since"):
		return nil, program.Usagef("--since: expected a SEQ, or all")
	case f.since != "" && fl.Changed("lines"):
		return nil, program.Usagef("--since and -n: one of them")
	case f.last < 0:
		return nil, program.Usagef("-n %d: expected 0 or more", f.last)
	case f.since == "":
		return nil, nil
	case f.since == "all":
		return new(protocol.Seq), nil
	}
	seq, err := protocol.ParseSeq(f.since)
	if err != nil {
		return nil, program.Usagef("--since %q: expected a SEQ, or all", f.since)
	}
	return &seq, nil
}

// once prints the existing envelopes.
func (t *tailing) once(c *cobra.Command) error {
	ctx := c.Context()
	if t.sieve.matcher != nil && !t.sieve.observe { // envelopes addressed to you pass
		var err error
		if t.sieve.you, err = t.whoAmI(c); err != nil {
			return err
		}
	}
	if t.since == nil {
		return t.backlog(ctx, 0)
	}
	return t.everything(ctx, *t.since)
}

// whoAmI asks the gateway for the participant of the token. An older gateway,
// or a token for very many spaces, gives no answer; then the welcome of the
// space does.
func (t *tailing) whoAmI(c *cobra.Command) (protocol.ParticipantID, error) {
	s, err := t.api.Session(c.Context())
	var answer *api.StatusError
	switch {
	case err == nil && s.In(t.target.space) != "":
		return s.In(t.target.space), nil
	case err != nil && (!errors.As(err, &answer) || answer.Status != http.StatusNotFound):
		return "", err
	}
	member, err := dial(c.Context(), t.target.dialOptions(c))
	if err != nil {
		return "", err
	}
	return member.You(), member.Close()
}

// follow joins before it reads the backlog: envelopes that arrive meanwhile are
// queued, so that none is lost or printed twice.
func (t *tailing) follow(c *cobra.Command) error {
	ctx := c.Context()
	opts := t.target.dialOptions(c)
	opts.Filter, opts.Observe = t.filter, t.sieve.observe
	if t.since != nil {
		opts.Since = client.After(*t.since)
	}
	opts.OnState = func(s client.State) {
		if s.Phase == client.Waiting {
			t.note("connection lost (%v); trying again in %s", safeError{s.Err}, s.RetryIn.Round(time.Millisecond))
		}
	}
	member, err := dial(ctx, opts)
	if err != nil {
		return err
	}
	defer member.Close() //nolint:errcheck // it waits for the client's goroutines and returns nil
	w := member.Welcome()
	t.sieve.you = w.You.ID
	if t.since == nil {
		if err := t.backlog(ctx, w.Space.Seq+1); err != nil {
			return err
		}
	}
	return t.live(ctx, member)
}

// live prints envelopes as they arrive until ctx or the client ends.
func (t *tailing) live(ctx context.Context, member *client.Client) error {
	for e, err := range member.All(ctx) {
		var gap *client.GapError
		switch {
		case errors.As(err, &gap):
			t.note("%v", gap)
			continue
		case err != nil:
			return err
		case e.From == protocol.GatewayID && !t.sieve.matcher.Match(&e):
			continue
		}
		if err := t.printer.print(&e); err != nil {
			return err
		}
		if err := t.printer.out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// everything prints all envelopes after a Seq.
func (t *tailing) everything(ctx context.Context, since protocol.Seq) error {
	log := ""
	for {
		page, err := t.api.Envelopes(ctx, t.target.space, api.EnvelopeQuery{Since: since, Log: log, Limit: pageSize})
		if err != nil {
			return err
		}
		if err := t.printAll(page.Envelopes); err != nil {
			return err
		}
		if !page.HasMore || page.Next <= since {
			return nil
		}
		since, log = page.Next, page.Log
	}
}

// pageSize is the number of envelopes per request, and maxLast the largest -n,
// which is held in memory.
const (
	pageSize = 500
	maxLast  = 100_000
)

// backlog prints the last envelopes before a Seq (0: of all). It searches from
// the end, page by page, since few may pass the filter.
func (t *tailing) backlog(ctx context.Context, before protocol.Seq) error {
	if t.flags.last > maxLast {
		return program.Usagef("-n %d: at most %d; --since all begins with the oldest", t.flags.last, maxLast)
	}
	var found []protocol.Envelope // newest first
	for len(found) < t.flags.last {
		q := api.EnvelopeQuery{Before: before, Limit: pageSize, Descending: true}
		if t.sieve.matcher == nil {
			q.Limit = min(pageSize, t.flags.last-len(found))
		}
		page, err := t.api.Envelopes(ctx, t.target.space, q)
		if err != nil {
			return err
		}
		for i := range page.Envelopes {
			if e := &page.Envelopes[i]; len(found) < t.flags.last && t.sieve.passes(e) {
				found = append(found, *e)
			}
		}
		if !page.HasMore || before != 0 && page.Next >= before {
			break
		}
		before = page.Next
	}
	for i := len(found) - 1; i >= 0; i-- {
		if err := t.printer.print(&found[i]); err != nil {
			return err
		}
	}
	return t.printer.out.Flush()
}

func (t *tailing) printAll(list []protocol.Envelope) error {
	for i := range list {
		if !t.sieve.passes(&list[i]) {
			continue
		}
		if err := t.printer.print(&list[i]); err != nil {
			return err
		}
	}
	if err := t.printer.out.Flush(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
