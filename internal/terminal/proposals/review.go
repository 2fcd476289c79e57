package proposals

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/proposal"
	"github.com/meup-protocol/meup/internal/terminal/blockrender"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

func newReview(s *connect.Settings, style styler) *cobra.Command {
	return &cobra.Command{
		Use:   "review",
		Short: "Asks for a decision on each pending proposal",
		Long: `review shows the pending proposals one after the other, with their exact arguments,
and reads a decision on each: y approves, n rejects and asks for a reason, s or an
empty line skips, q ends. Anything else is asked again. A proposal that another
participant decided meanwhile is reported, and review continues. After y, it waits
some seconds for the result and prints its beginning.

Exit codes: 0 all were shown, or q; 1 failed; 2 usage error; 4 no connection, or
the token is not valid; 130 Ctrl-C, which decides nothing.`,
		Args: program.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return connect.Finish(c.Context(), review(c, s, style))
		},
	}
}

func review(c *cobra.Command, s *connect.Settings, style styler) error {
	colors, err := style(c.OutOrStdout())
	if err != nil {
		return err
	}
	t, err := s.Target(c.ErrOrStderr())
	if err != nil {
		return err
	}
	list, _, err := Pending(c.Context(), t)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		connect.Warn(c.ErrOrStderr(), "no pending proposals")
		return nil
	}
	in := bufio.NewReader(c.InOrStdin())
	for i := range list {
		fmt.Fprintf(c.OutOrStdout(), "%d of %d\n", i+1, len(list))
		if err := Decide(c, t, in, &list[i], reviewTimeout, colors); err != nil {
			return err
		}
	}
	return nil
}

// Decide shows a proposal, reads a decision, sends it, and reports the result of an approved
// call, for which it waits until the timeout; 0: not at all. Errors: ErrQuit.
func Decide(c *cobra.Command, t *connect.Target, in *bufio.Reader, e *protocol.Envelope, timeout time.Duration, s blockrender.Style) error {
	roster, err := t.API.Roster(c.Context(), t.Space)
	if err != nil {
		return err
	}
	p, err := explained(c.Context(), t, e, roster)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(c.OutOrStdout())
	p.write(out, s)
	if err := out.Flush(); err != nil {
		return err
	}
	program.DiscardTyped(in, c.InOrStdin()) // before the question is not for it
	decision, err := answer(c.Context(), in, c.OutOrStdout(), e)
	if err != nil || decision == nil {
		return err
	}
	return settle(c, t, e, decision, timeout, s)
}

// ErrQuit ends a review: no further proposal is to be asked for.
var ErrQuit = &program.ExitError{Code: program.ExitOK}

// answer reads the decision on a proposal; nil: none.
func answer(ctx context.Context, in *bufio.Reader, out io.Writer, p *protocol.Envelope) (*protocol.Envelope, error) {
	for {
		line, err := program.Ask(ctx, in, out, "Approve? [y]es, [n]o, [s]kip, [q]uit: ")
		switch {
		case errors.Is(err, io.EOF), line == "q", line == "quit":
			return nil, ErrQuit
		case err != nil:
			return nil, err
		case line == "", line == "s", line == "skip":
			fmt.Fprintln(out, "Skipped: it waits for a decision.")
			return nil, nil
		case line == "y", line == "yes":
			e, err := proposal.Approval(p, newID(), "")
			if errors.Is(err, proposal.ErrNoHost) {
				fmt.Fprintf(out, "It does not name the participant that runs the tool: meup proposals approve %s --to PARTICIPANT\n", p.ID)
				return nil, nil
			}
			return &e, err
		case line == "n", line == "no":
			reason, err := program.Ask(ctx, in, out, "Reason: ")
			if errors.Is(err, io.EOF) {
				return nil, ErrQuit
			}
			e := proposal.Rejection(p, connect.First(reason, "disagree"))
			return &e, err
		}
	}
}

// reviewTimeout bounds the wait for a result, for which the next proposal waits.
const reviewTimeout = 10 * time.Second

// settle sends a decision, and reports the result of an approved call. That another
// participant was faster, that the capabilities do not allow the decision, or that the
// tool failed, ends only this proposal.
func settle(c *cobra.Command, t *connect.Target, p, e *protocol.Envelope, timeout time.Duration, s blockrender.Style) error {
	out := c.OutOrStdout()
	sent, err := t.API.Send(c.Context(), t.Space, *e)
	var refused *api.StatusError
	switch {
	case errors.As(err, &refused) && refused.Refusal != nil && !connect.AccessCodes[refused.Refusal.Code] && !refused.Temporary():
		fmt.Fprintf(out, "Not sent: %s\n", termsafe.Words(tooLate(c.Context(), t, p.ID, err).Error()))
		return nil
	case err != nil:
		return err
	}
	if e.Kind != protocol.KindMCPRequest {
		fmt.Fprintf(out, "Rejected: %s %d\n", sent.ID, sent.Seq)
		return nil
	}
	fmt.Fprintf(out, "Approved: %s %d\n", sent.ID, sent.Seq)
	e.ID, e.Seq = sent.ID, sent.Seq
	a := call{proposal: p.ID, request: *e, flags: connect.Given(c.Flags())}
	err = a.report(c, t, timeout, s)
	var ended *program.ExitError
	switch coded := errors.As(err, &ended); {
	case err == nil, c.Context().Err() != nil:
		return err
	case coded && ended.Err == nil: // the failure of the tool was printed
		return nil
	}
	connect.Warn(c.ErrOrStderr(), "%s", connect.SafeError{Err: err})
	return nil
}
