package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/proposal"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

func newReview(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "review",
		Short: "Asks for a decision on each pending proposal",
		Long: `review shows the pending proposals one after the other, with their exact arguments,
and reads a decision on each: y approves, n rejects and asks for a reason, s or an
empty line skips, q ends. Anything else is asked again. A proposal that another
participant decided meanwhile is reported, and review continues.

Exit codes: 0 all were shown, or q; 1 failed; 2 usage error; 4 no connection, or
the token is not valid.`,
		Args: program.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return connect.Finish(c.Context(), review(c, a))
		},
	}
}

func review(c *cobra.Command, a *app) error {
	style, err := a.style(c.OutOrStdout())
	if err != nil {
		return err
	}
	t, err := a.Target(c.ErrOrStderr())
	if err != nil {
		return err
	}
	list, _, err := pendingProposals(c.Context(), t)
	if err != nil {
		return err
	}
	in, out := bufio.NewReader(c.InOrStdin()), bufio.NewWriter(c.OutOrStdout())
	for i := range list {
		p := describe(&list[i], time.Now())
		if err := p.explain(c.Context(), t, &list[i]); err != nil {
			return err
		}
		fmt.Fprintf(out, "%d of %d\n", i+1, len(list))
		p.write(out, style)
		e, err := answer(in, out, &list[i])
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		if e != nil {
			err = settle(c, t, out, e)
		}
		if err := errors.Join(err, out.Flush()); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		_, err = fmt.Fprintln(c.OutOrStdout(), "No proposal is pending.")
	}
	return err
}

// errQuit ends a review.
var errQuit = &program.ExitError{Code: program.ExitOK}

// answer reads the decision on a proposal; nil: none.
func answer(in *bufio.Reader, out *bufio.Writer, p *protocol.Envelope) (*protocol.Envelope, error) {
	for {
		line, err := question(in, out, "Approve? [y]es, [n]o, [s]kip, [q]uit: ")
		switch {
		case err != nil, line == "q", line == "quit":
			return nil, errQuit
		case line == "", line == "s", line == "skip":
			return nil, nil
		case line == "y", line == "yes":
			e, err := proposal.Approval(p, protocol.ID(uuid.Must(uuid.NewV7()).String()), "")
			if errors.Is(err, proposal.ErrNoHost) {
				fmt.Fprintf(out, "It does not name the participant that runs the tool: meup proposals approve %s --to PARTICIPANT\n", p.ID)
				return nil, nil
			}
			return &e, err
		case line == "n", line == "no":
			reason, err := question(in, out, "Reason: ")
			if err != nil {
				return nil, errQuit
			}
			e := proposal.Rejection(p, connect.First(reason, "disagree"))
			return &e, nil
		}
	}
}

func question(in *bufio.Reader, out *bufio.Writer, text string) (string, error) {
	fmt.Fprint(out, text)
	if err := out.Flush(); err != nil {
		return "", err
	}
	line, err := in.ReadString('\n')
	if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
		return "", err
	}
	return strings.TrimSpace(line), nil
}

// settle sends a decision. That another participant was faster, or that the
// capabilities do not allow the decision, ends only this proposal.
func settle(c *cobra.Command, t *connect.Target, out *bufio.Writer, e *protocol.Envelope) error {
	sent, err := t.API.Send(c.Context(), t.Space, *e)
	var refused *api.StatusError
	switch {
	case errors.As(err, &refused) && refused.Refusal != nil && !connect.AccessCodes[refused.Refusal.Code] && !refused.Temporary():
		fmt.Fprintf(out, "Not sent: %s\n", termsafe.Words(err.Error()))
		return nil
	case err != nil:
		return err
	}
	fmt.Fprintf(out, "%s %d\n", sent.ID, sent.Seq)
	return nil
}
