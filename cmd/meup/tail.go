package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/tui"
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
	f := new(tailFlags)
	c := &cobra.Command{
		Use:   "tail",
		Short: "Follows the envelopes of a space",
		Long: `tail prints the last envelopes of a space and then new ones, one per line, until
Ctrl-C. It reconnects by itself and prints the envelopes that it missed, each
exactly once.

A filter never hides work from a participant: calls, proposals, the answers to
both, and envelopes addressed to you pass it. With --observe, the filter applies
to everything.

On a terminal, lines are cut to its width; --json and other outputs have whole texts.

With --json, each line is an envelope as the gateway sends it, with \u escapes for
characters that control a terminal or are invisible.`,
		Example: `  meup tail
  meup tail --main -n 50
  meup tail --observe --kinds 'reasoning/*' --conclusions-only
  meup tail --since all --no-follow --json > space.jsonl`,
		Args: program.NoArgs,
	}
	fl := c.Flags()
	f.filter.register(fl)
	fl.StringVar(&f.since, "since", "", "start after this SEQ; all: from the beginning")
	fl.IntVarP(&f.last, "lines", "n", 10, "start with the last N; 0: only new envelopes")
	fl.BoolVar(&f.noFollow, "no-follow", false, "exit after the envelopes in the log")
	fl.BoolVar(&f.json, "json", false, "print one JSON object per envelope")
	c.RunE = connect.RunStopped(func(c *cobra.Command, _ []string) error {
		var since *protocol.Seq
		switch {
		case f.since == "" && c.Flags().Changed("since"):
			return program.Usagef("--since: expected a SEQ, or all")
		case f.since != "" && c.Flags().Changed("lines"):
			return program.Usagef("use either --since or -n, not both")
		case f.last < 0:
			return program.Usagef("-n %d: expected 0 or more", f.last)
		case f.since == "all":
			since = new(protocol.Seq)
		case f.since != "":
			seq, err := protocol.ParseSeq(f.since)
			if err != nil {
				return program.Usagef("--since %q: expected a SEQ, or all", f.since)
			}
			since = &seq
		}
		filter, matcher, err := f.filter.filter(c.Flags())
		if err != nil {
			return err
		}
		style, target, err := a.target(c)
		if err != nil {
			return err
		}
		t := &tailing{
			Target: target, flags: f, filter: filter, since: since,
			sieve:   historyFilter{matcher: matcher, observe: f.filter.observe},
			printer: &printer{out: bufio.NewWriter(c.OutOrStdout()), json: f.json, style: style, kinds: len(f.filter.kinds) > 0, zone: time.Local, width: tui.TerminalWidth(c.OutOrStdout())},
			note:    func(format string, args ...any) { connect.Warn(c.ErrOrStderr(), format, args...) },
		}
		if !f.noFollow {
			return t.follow(c)
		}
		err = t.once(c)
		if err == nil && f.last > 0 {
			t.printer.warnIfEmpty(c.ErrOrStderr())
		}
		return err
	})
	return c
}

// tailing is one run of tail.
type tailing struct {
	*connect.Target
	flags   *tailFlags
	filter  protocol.Filter
	sieve   historyFilter
	since   *protocol.Seq // nil: the last ones
	printer *printer
	note    func(format string, args ...any)
}

// once prints the existing envelopes.
func (t *tailing) once(c *cobra.Command) error {
	ctx := c.Context()
	if t.sieve.matcher != nil && !t.sieve.observe { // envelopes addressed to you pass
		session, err := t.API.Session(ctx)
		var answer *api.StatusError
		if err != nil && (!errors.As(err, &answer) || answer.Status != http.StatusNotFound) {
			return err
		}
		if err == nil {
			t.sieve.you = session.In(t.Space)
		}
		if t.sieve.you == "" { // an older gateway, or a token for very many spaces: the welcome of the space has it
			member, err := connect.Dial(ctx, t.DialOptions(c.ErrOrStderr()))
			if err != nil {
				return err
			}
			t.sieve.you = member.You()
			if err := member.Close(); err != nil {
				return err
			}
		}
	}
	if t.since == nil {
		return t.backlog(ctx, 0)
	}
	for q := (api.EnvelopeQuery{Since: *t.since, Limit: pageSize}); ; {
		page, err := t.API.Envelopes(ctx, t.Space, q)
		if err != nil {
			return err
		}
		if err := t.printAll(page.Envelopes); err != nil {
			return err
		}
		if !page.HasMore || page.Next <= q.Since {
			return nil
		}
		q.Since, q.Log = page.Next, page.Log
	}
}

// follow joins before it reads the backlog: envelopes that arrive meanwhile are
// queued, so that none is lost or printed twice. It ends with ctx or the client.
func (t *tailing) follow(c *cobra.Command) error {
	ctx := c.Context()
	opts := t.DialOptions(c.ErrOrStderr())
	opts.Filter, opts.Observe = t.filter, t.sieve.observe
	if t.since != nil {
		opts.Since = client.After(*t.since)
	}
	opts.OnState = func(s client.State) {
		if s.Phase == client.Waiting {
			t.note("connection lost (%v); reconnecting in %s", connect.SafeError{Err: client.Unreachable(s.Err)}, s.RetryIn.Round(time.Millisecond))
		}
	}
	member, err := connect.Dial(ctx, opts)
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
		return program.Usagef("-n %d: the maximum is %d; --since all starts from the beginning", t.flags.last, maxLast)
	}
	var found []protocol.Envelope // newest first
	for len(found) < t.flags.last {
		q := api.EnvelopeQuery{Before: before, Limit: pageSize, Descending: true}
		if t.sieve.matcher == nil {
			q.Limit = min(pageSize, t.flags.last-len(found))
		}
		page, err := t.API.Envelopes(ctx, t.Space, q)
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
	slices.Reverse(found)
	return t.printAll(found)
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

// filterFlags are the keys of a filter.
type filterFlags struct {
	contexts, exclude []string
	kinds, from       []string
	main              bool
	depth             int
	conclusions       bool
	observe           bool
}

func (f *filterFlags) register(fl *pflag.FlagSet) {
	fl.StringSliceVar(&f.contexts, "context", nil, "only this context and its children; may be repeated")
	fl.StringSliceVar(&f.exclude, "exclude-context", nil, "not this context and its children; may be repeated")
	fl.StringSliceVar(&f.kinds, "kinds", nil, "only these kinds, such as chat,reasoning/*")
	fl.StringSliceVar(&f.from, "from", nil, "only envelopes of these participants")
	fl.BoolVar(&f.main, "main", false, "only the main conversation")
	fl.IntVar(&f.depth, "depth", -1, "maximum depth of contexts, below the main conversation or below --context")
	fl.BoolVar(&f.conclusions, "conclusions-only", false, "only the start and the conclusion of each context")
	fl.BoolVar(&f.observe, "observe", false, "only watch: the filter also applies to calls, proposals and envelopes addressed to you")
}

// filter builds the filter from the flags and validates it.
func (f *filterFlags) filter(fl *pflag.FlagSet) (protocol.Filter, *protocol.Matcher, error) {
	out := protocol.Filter{
		Contexts: f.contexts, ExcludeContexts: f.exclude, Kinds: f.kinds, ConclusionsOnly: f.conclusions,
	}
	if f.main {
		out.Contexts = append(out.Contexts, "")
	}
	for _, id := range f.from {
		out.From = append(out.From, protocol.ParticipantID(id))
	}
	if fl.Changed("depth") {
		out.Depth = &f.depth
	}
	m, err := out.Compile()
	if refused := protocol.AsError(err); refused != nil {
		return out, nil, program.Usagef("%s: %s", flagOf(refused.Path), refused.Detail)
	}
	return out, m, nil
}

// flagOf returns the flag for a field of the filter.
func flagOf(path string) string {
	name, ok := map[string]string{
		"/payload/contexts": "--context", "/payload/exclude_contexts": "--exclude-context", "/payload/kinds": "--kinds",
		"/payload/from": "--from", "/payload/depth": "--depth",
	}[path]
	if !ok {
		return "filter"
	}
	return name
}

// historyFilter applies a filter to envelopes from history, by the same rules as the
// gateway for delivery (section 6).
type historyFilter struct {
	matcher *protocol.Matcher
	observe bool
	you     protocol.ParticipantID
}

func (s *historyFilter) passes(e *protocol.Envelope) bool {
	return s.matcher.Match(e) || !s.observe && (e.Kind.IsWork() || e.AddressedTo(s.you))
}
