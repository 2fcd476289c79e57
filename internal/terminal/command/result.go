package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/protocol"
)

// decided has the verbs for the envelopes that settle a proposal.
var decided = map[protocol.Kind]string{
	protocol.KindMCPRequest: "approved by ", protocol.KindMCPReject: "rejected by ", protocol.KindMCPWithdraw: "withdrawn by ",
}

// settled describes the state of a proposal that is not pending: "approved by alice at
// 2026-11-27 20:05:49".
func settled(ctx context.Context, t *connect.Target, p *api.Proposal) string {
	at := exchange.CallOf(&p.Envelope.Envelope).ExpiresAt
	gaveUp := p.SettledBy == nil || p.SettledBy.Reason == "timeout" // the proposer withdrew it
	if p.State == string(exchange.Expired) && gaveUp && !at.IsZero() {
		return "not decided before it expired at " + at.Local().Format(time.DateTime)
	}
	if p.SettledBy != nil {
		return settledAt(ctx, t, p.SettledBy.Seq, p.SettledBy.From)
	}
	return p.State
}

// settledAt describes the envelope at a position that settled a proposal. It may be
// invisible to the caller.
func settledAt(ctx context.Context, t *connect.Target, seq protocol.Seq, by protocol.ParticipantID) string {
	page, err := t.API.Envelopes(ctx, t.Space, api.EnvelopeQuery{Since: seq - 1, Before: seq + 1, Limit: 1})
	if err != nil || len(page.Envelopes) == 0 {
		return "decided by " + termsafe.Words(string(by))
	}
	e := &page.Envelopes[0]
	verb, ok := decided[e.Kind]
	if !ok {
		verb = "expired: its reasoning was ended by "
	}
	text := verb + termsafe.Words(string(e.From)) + " at " + e.TS.Local().Format(time.DateTime)
	if reason := e.ParsePayload().Get("reason").Text(); reason != "" {
		text += " (" + termsafe.Cut(termsafe.Words(reason), 200) + ")"
	}
	return text
}

// tooLate returns the error of a decision. If another one came first, it is described.
func tooLate(ctx context.Context, t *connect.Target, id protocol.ID, err error) error {
	var refused *protocol.Error
	if !errors.As(err, &refused) || refused.Code != protocol.CodeProposalSettled || refused.Seq == 0 {
		return err
	}
	return fmt.Errorf("%s: proposal %s was %s", refused.Code, id, settledAt(ctx, t, refused.Seq, refused.By))
}

// call is an approved call.
type call struct {
	proposal protocol.ID
	request  protocol.Envelope
	flags    string // of the connection, for the command that shows the result
	absent   bool   // the host was not connected when the request was sent
}

// newCall returns the call that a sent request makes.
func newCall(c *cobra.Command, t *connect.Target, p protocol.ID, request protocol.Envelope) *call {
	a := &call{proposal: p, request: request, flags: connect.Given(c.Flags())}
	roster, err := t.API.Roster(c.Context(), t.Space)
	a.absent = err == nil && !roster.Connected(a.host())
	return a
}

func (a *call) host() protocol.ParticipantID { return a.request.To[0] }

// report waits for the result and prints its beginning. It does not wait for a host that
// was not connected.
func (a *call) report(c *cobra.Command, t *connect.Target, timeout time.Duration, s block.Style) error {
	show := showCommand(a.proposal, a.flags)
	if a.absent {
		connect.Warn(c.ErrOrStderr(), "%s is not connected, and runs the tool only if it connects soon; %s shows the result", a.host(), show)
		return nil
	}
	if timeout == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.Context(), timeout)
	defer cancel()
	e, err := a.await(ctx, t)
	switch {
	case err == nil:
	case c.Context().Err() != nil:
		return &program.ExitError{Code: program.ExitInterrupted, Err: fmt.Errorf("interrupted; the call was made, and %s shows its result", show)}
	case ctx.Err() != nil:
		return &program.ExitError{Code: connect.ExitTimedOut, Err: fmt.Errorf("no result of %s within %s; the call was made, and %s shows its result", a.host(), timeout, show)}
	default:
		return &program.ExitError{Code: connect.ExitUnconnected, Err: connect.SafeError{Err: fmt.Errorf("the call was made, and %s shows its result: %w", show, client.Unreachable(err))}}
	}
	failed, err := writeResult(c.OutOrStdout(), e, s, shownLines, show)
	if err == nil && failed {
		err = &program.ExitError{Code: program.ExitFailed}
	}
	return err
}

// await returns the response of the host. If there is no stream of events, as at the limit of
// connections or while the gateway is away, it requests the response again and again.
func (a *call) await(ctx context.Context, t *connect.Target) (*protocol.Envelope, error) {
	again := time.NewTicker(settledInterval)
	defer again.Stop()
	for {
		var found *protocol.Envelope
		var failed error
		err := t.API.Events(ctx, t.Space, a.responses(), func(e *api.Event) bool {
			if e.Name == "envelope" { // of a long one, the event has no text
				found, failed = a.stored(ctx, t)
			}
			return found == nil && failed == nil
		})
		err = errors.Join(err, failed)
		if err == nil || ctx.Err() != nil || isFinal(err) {
			return found, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, err
		}
		found, err = a.stored(ctx, t)
		if found != nil || isFinal(err) {
			return found, err
		}
	}
}

// isFinal reports whether the gateway rejected a request for good.
func isFinal(err error) bool {
	var refused *api.StatusError
	return errors.As(err, &refused) && !refused.Temporary()
}

// responses selects the responses of the host after the request.
func (a *call) responses() api.EnvelopeQuery {
	return api.EnvelopeQuery{
		Since: a.request.Seq, Own: true,
		Kinds: []string{string(protocol.KindMCPResponse)}, From: []protocol.ParticipantID{a.host()},
	}
}

// stored returns the response in the log; nil: there is none.
func (a *call) stored(ctx context.Context, t *connect.Target) (*protocol.Envelope, error) {
	q := a.responses()
	for {
		page, err := t.API.Envelopes(ctx, t.Space, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Envelopes {
			e := &page.Envelopes[i]
			if e.Kind == protocol.KindMCPResponse && e.From == a.host() && e.Correlation.Names(a.request.ID) {
				return e, nil
			}
		}
		if !page.HasMore || page.Next <= q.Since {
			return nil, nil //nolint:nilnil // documented
		}
		q.Since = page.Next
	}
}

// shownLines bounds the result that approve and review print.
const shownLines = 20

// writeResult prints a response, of which at most a number of lines (0: all). show is the
// command that prints all of it. failed reports that the tool failed.
func writeResult(w io.Writer, e *protocol.Envelope, s block.Style, most int, show string) (failed bool, err error) {
	text, failed := block.Result(e.ParsePayload())
	verb := " answered"
	if failed {
		verb = s.Paint(s.Bad, " failed")
	}
	lines := strings.Split(strings.TrimRight(termsafe.Text(text), "\n"), "\n")
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s%s:\n", s.Paint(s.Name, termsafe.Words(string(e.From))), verb)
	for i, line := range lines {
		if most > 0 && i == most {
			fmt.Fprintf(out, "  … %s: %s\n", textutil.Count(len(lines)-i, "more line"), show)
			break
		}
		fmt.Fprintf(out, "  %s\n", line)
	}
	return failed, out.Flush()
}

func newShow(s *connect.Settings, style styler) *cobra.Command {
	return &cobra.Command{
		Use:   "show [ID]",
		Short: "Shows a proposal, who decided it, and the result of its call",
		Long: `show prints a proposed call, pending or not: its exact arguments, who decided on it
and when, and the result of the tool if it was approved. The beginning or the end of
the ID is enough. Without ID, it prints the one on which you may decide.

Exit codes: those of meup; 1 also if there is no such proposal.`,
		Args: program.Args("[ID]"),
		RunE: connect.RunE(func(c *cobra.Command, args []string) error {
			id, err := idOf(args)
			if err != nil {
				return err
			}
			colors, t, err := style.target(c, s)
			if err != nil {
				return err
			}
			found, err := findProposal(c, t, id)
			if err != nil {
				return err
			}
			roster, err := t.API.Roster(c.Context(), t.Space)
			if err != nil {
				return err
			}
			info, err := explained(c.Context(), t, &found.Envelope.Envelope, roster)
			if err != nil {
				return err
			}
			if found.State != statePending {
				info.ExpiresAt = nil
			}
			out := bufio.NewWriter(c.OutOrStdout())
			info.write(out, colors)
			state := "waits for a decision"
			if found.State != statePending {
				state = settled(c.Context(), t, found)
			}
			fmt.Fprintf(out, "  %s%s\n", colors.Paint(colors.Dim, "state:     "), state)
			if err := out.Flush(); err != nil || found.State != string(exchange.Fulfilled) || found.SettledBy == nil {
				return err
			}
			return showResult(c, t, found, colors)
		}),
	}
}

// showResult prints the result of an approved call.
func showResult(c *cobra.Command, t *connect.Target, p *api.Proposal, s block.Style) error {
	text, err := t.API.Envelope(c.Context(), t.Space, p.SettledBy.ID)
	if connect.NotFound(err) {
		connect.Warn(c.ErrOrStderr(), "the result is visible only to %s, the proposer and the host", p.SettledBy.From)
		return nil
	}
	if err != nil {
		return err
	}
	request, err := protocol.DecodeDelivered(text)
	if err == nil && len(request.To) != 1 {
		err = errors.New("it is not addressed to one participant")
	}
	if err != nil {
		return fmt.Errorf("read envelope %s: %w", p.SettledBy.ID, err)
	}
	a := call{proposal: p.Envelope.ID, request: request}
	e, err := a.stored(c.Context(), t)
	if err == nil && e == nil {
		connect.Warn(c.ErrOrStderr(), "no result of %s yet", a.host())
		return nil
	}
	if err != nil {
		return err
	}
	_, err = writeResult(c.OutOrStdout(), e, s, 0, "")
	return err
}
