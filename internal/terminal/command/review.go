package command

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/tui"
	"github.com/meup-protocol/meup/protocol"
)

func newReview(s *connect.Settings, style styler) *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "review",
		Short: "Asks for a decision on each pending proposal",
		Long: `review shows the pending proposals one after the other, with their exact arguments,
and reads a decision on each: y approves, n rejects and asks for a reason, s or an
empty line skips, q ends. Anything else is asked again. A proposal on which you may not
decide is shown without a question. If another participant decides on the proposal
meanwhile, review reports it and continues: at a terminal without an answer. After
y, it waits for the result until --timeout and prints its beginning. While the gateway
is away, a decision is sent again for a minute.

Exit codes: 0 all were shown, or q; 1 failed; 2 usage error; 4 no connection, or
the token is not valid; 130 Ctrl-C, which decides nothing.`,
		Args: program.NoArgs,
		RunE: connect.RunE(func(c *cobra.Command, _ []string) error {
			if timeout < 0 {
				return program.Usagef("--timeout must not be negative")
			}
			colors, t, err := style.target(c, s)
			if err != nil {
				return err
			}
			list, _, err := PendingProposals(c.Context(), t)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				connect.Warn(c.ErrOrStderr(), "no pending proposals")
				return nil
			}
			in := program.NewLines(c.InOrStdin())
			for i := range list {
				fmt.Fprintf(c.OutOrStdout(), "%d of %d\n", i+1, len(list))
				if err := DecideProposal(c, t, in, &list[i].Envelope.Envelope, timeout, colors); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	c.Flags().DurationVar(&timeout, "timeout", 10*time.Second, "how long to wait for the result of an approved call, before the next proposal; 0: not at all")
	return c
}

// DecideProposal shows a proposal and, if one may decide on it, reads a decision, sends it, and reports
// the result of an approved call, for which it waits until the timeout; 0: not at all. That another
// participant was faster, that the capabilities do not allow the decision, or that the tool failed,
// ends only this proposal. Errors: ErrQuit.
func DecideProposal(c *cobra.Command, t *connect.Target, in *program.Lines, e *protocol.Envelope, timeout time.Duration, s block.Style) error {
	p, err := connect.Retry(c.Context(), c.ErrOrStderr(), func() (*ProposalInfo, error) {
		roster, err := t.API.Roster(c.Context(), t.Space)
		if err != nil {
			return nil, err
		}
		return explained(c.Context(), t, e, roster)
	})
	if err != nil {
		return err
	}
	out := bufio.NewWriter(c.OutOrStdout())
	p.write(out, s)
	if err := out.Flush(); err != nil || p.others != "" {
		return err
	}
	decision, err := askForDecision(c, t, in, e)
	if err != nil || decision == nil {
		return err
	}
	sent, err := connect.Retry(c.Context(), c.ErrOrStderr(), func() (api.Receipt, error) { return t.API.Send(c.Context(), t.Space, *decision) })
	var refused *api.StatusError
	switch {
	case errors.As(err, &refused) && refused.Refusal != nil && !connect.AccessCodes[refused.Refusal.Code] && !refused.Temporary():
		fmt.Fprintf(c.OutOrStdout(), "Not sent: %s\n", termsafe.Words(tooLate(c.Context(), t, e.ID, err).Error()))
		return nil
	case err != nil:
		show := showCommand(e.ID, connect.Given(c.Flags()))
		if c.Context().Err() != nil {
			return &program.ExitError{Code: program.ExitInterrupted, Err: fmt.Errorf("interrupted; the decision may be lost, and %s shows whether it arrived", show)}
		}
		err = fmt.Errorf("the decision may be lost; %s shows whether it arrived: %w", show, client.Unreachable(err))
		return &program.ExitError{Code: connect.ExitUnconnected, Err: connect.SafeError{Err: err}}
	}
	if decision.Kind != protocol.KindMCPRequest {
		fmt.Fprintf(c.OutOrStdout(), "Rejected (envelope %s, seq %d)\n", sent.ID, sent.Seq)
		return nil
	}
	decision.ID, decision.Seq = sent.ID, sent.Seq
	a := newCall(c, t, e.ID, *decision)
	fmt.Fprintf(c.OutOrStdout(), "Approved (request %s, seq %d)\n", sent.ID, sent.Seq)
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

// askForDecision reads the decision on a proposal; nil: none. At a terminal, the question ends when
// the proposal is settled otherwise. Other inputs have a line for each proposal.
func askForDecision(c *cobra.Command, t *connect.Target, in *program.Lines, e *protocol.Envelope) (*protocol.Envelope, error) {
	if !tui.IsTerminal(c.InOrStdin()) {
		return answer(c.Context(), in, c.OutOrStdout(), e, 0)
	}
	in.Discard() // before the question is not for it
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	var settlement *api.Proposal
	var watching sync.WaitGroup
	watching.Go(func() {
		settlement = awaitSettled(ctx, t, e)
		if settlement != nil {
			cancel()
		}
	})
	decision, err := answer(ctx, in, c.OutOrStdout(), e, tooEarly)
	cancel()
	watching.Wait()
	if settlement != nil && errors.Is(err, program.ErrInterrupted) && c.Context().Err() == nil {
		fmt.Fprintf(c.OutOrStdout(), "Proposal %s was %s\n", e.ID, settled(c.Context(), t, settlement))
		return nil, nil
	}
	return decision, err
}

// settledInterval is the time between two requests of awaitSettled.
const settledInterval = time.Second

// awaitSettled returns the proposal when it is not pending any more; nil: ctx ended. It
// does not need one of the participant's connections.
func awaitSettled(ctx context.Context, t *connect.Target, e *protocol.Envelope) *api.Proposal {
	again := time.NewTicker(settledInterval)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
		p, err := t.API.Proposal(ctx, t.Space, e.ID, e.Seq) // after an error, such as while the gateway is away, it is read again
		if err == nil && p.State != statePending {
			return p
		}
	}
}

// ErrQuit ends a review: no further proposal is to be asked for.
var ErrQuit = &program.ExitError{Code: program.ExitOK}

// tooEarly is the time after a question at a terminal in which an approval does not count: it
// was meant for the question before.
const tooEarly = 700 * time.Millisecond

// answer reads the decision on a proposal; nil: none. An approval counts only if it comes at
// least this time after the question.
func answer(ctx context.Context, in *program.Lines, out io.Writer, p *protocol.Envelope, early time.Duration) (*protocol.Envelope, error) {
	for {
		asked := time.Now()
		line, err := in.Ask(ctx, out, "Approve? [y]es, [n]o, [s]kip, [q]uit: ")
		switch {
		case errors.Is(err, io.EOF), line == "q", line == "quit":
			return nil, ErrQuit
		case err != nil:
			return nil, err
		case line == "", line == "s", line == "skip":
			fmt.Fprintf(out, "Skipped: it waits for a decision%s; meup proposals approve %s decides later.\n", DescribeProposal(p, time.Now()).expires(" and "), p.ID)
			return nil, nil
		case (line == "y" || line == "yes") && time.Since(asked) < early:
			fmt.Fprintln(out, "The question has just appeared: answer it again.")
		case line == "y", line == "yes":
			e, err := exchange.Approval(p, newID(), "")
			if errors.Is(err, exchange.ErrNoHost) {
				fmt.Fprintf(out, "It does not name the participant that runs the tool: meup proposals approve %s --to PARTICIPANT\n", p.ID)
				return nil, nil
			}
			return &e, err
		case line == "n", line == "no":
			reason, err := in.Ask(ctx, out, "Reason: ")
			if errors.Is(err, io.EOF) {
				return nil, ErrQuit
			}
			e := exchange.Rejection(p, cmp.Or(reason, "disagree"))
			e.ID = newID() // to send it again is safe
			return &e, err
		}
	}
}
