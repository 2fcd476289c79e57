package main

import (
	"bufio"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/tui"
	"github.com/meup-protocol/meup/protocol"
)

// envelopeFlags are the flags of history that select envelopes by participant, kind
// and time.
type envelopeFlags struct {
	envelopes    bool
	from, kinds  []string
	since, until string
}

func (f *envelopeFlags) register(fl *pflag.FlagSet) {
	fl.BoolVar(&f.envelopes, "envelopes", false, "print envelopes, one per line")
	fl.StringSliceVar(&f.from, "from", nil, "with --envelopes: only envelopes of these participants")
	fl.StringSliceVar(&f.kinds, "kinds", nil, "with --envelopes: only these kinds, such as chat,capability/*")
	fl.StringVar(&f.since, "since", "", "with --envelopes: only from then on: a day, a time (RFC 3339), or a duration before now")
	fl.StringVar(&f.until, "until", "", "with --envelopes: only before then")
}

func (f *envelopeFlags) check(fl *pflag.FlagSet, h *historyFlags) error {
	if f.envelopes && (h.threads || h.thread != "" || h.session != "") {
		return program.Usagef("--envelopes cannot be combined with --thread, --threads or --session")
	}
	for _, name := range []string{"from", "kinds", "since", "until"} {
		if fl.Changed(name) && !f.envelopes {
			return program.Usagef("--%s needs --envelopes", name)
		}
	}
	return nil
}

func (f *envelopeFlags) query(h *historyFlags) (q api.EnvelopeQuery, err error) {
	q = api.EnvelopeQuery{Kinds: f.kinds, Before: protocol.Seq(h.before), Limit: pageSize, Descending: h.limit > 0}
	for _, id := range f.from {
		q.From = append(q.From, protocol.ParticipantID(id))
	}
	_, err = (&protocol.Filter{Kinds: q.Kinds, From: q.From}).Compile()
	if refused := protocol.AsError(err); refused != nil {
		return q, program.Usagef("%s: %s", flagOf(refused.Path), refused.Detail)
	}
	now := time.Now()
	q.FromTime, err = program.Moment("since", f.since, now)
	if err == nil {
		q.Until, err = program.Moment("until", f.until, now)
	}
	if err == nil && !q.Until.IsZero() && !q.FromTime.Before(q.Until) {
		return q, program.Usagef("--since must be before --until")
	}
	return q, err
}

// print prints the envelopes that the flags select, oldest first.
func (f *envelopeFlags) print(c *cobra.Command, t *connect.Target, h *historyFlags, style block.Style) error {
	q, err := f.query(h)
	if err != nil {
		return err
	}
	out := &printer{out: bufio.NewWriter(c.OutOrStdout()), json: h.json, style: style, kinds: true, zone: time.Local, dates: true, width: tui.TerminalWidth(c.OutOrStdout())}
	var newest []protocol.Envelope // with a limit
	for more := true; more; {
		page, err := t.API.Envelopes(c.Context(), t.Space, q)
		if err != nil {
			return err
		}
		at := &q.Since
		if q.Descending {
			at = &q.Before
		}
		more = page.HasMore && page.Next != *at
		q.Log, *at = page.Log, page.Next
		if h.limit > 0 {
			newest = append(newest, page.Envelopes[:min(len(page.Envelopes), h.limit-len(newest))]...)
			more = more && len(newest) < h.limit
			continue
		}
		for i := range page.Envelopes {
			if err := out.print(&page.Envelopes[i]); err != nil {
				return err
			}
		}
	}
	slices.Reverse(newest)
	for i := range newest {
		if err := out.print(&newest[i]); err != nil {
			return err
		}
	}
	out.warnIfEmpty(c.ErrOrStderr())
	return out.out.Flush()
}
