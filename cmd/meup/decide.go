package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/proposal"
	"github.com/meup-protocol/meup/protocol"
)

func newApprove(a *app) *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "approve ID",
		Short: "Makes a proposed call",
		Long: `approve makes the call that an agent proposes, in your name and with exactly the
proposed arguments: look at them first. The request is addressed to the
participant that runs the tool. If the proposal does not name it, --to must; with
--to another participant than the proposal names is asked. Your capabilities must
allow the request, or let you decide on the proposal. The first decision on a
proposal wins. The request's id and its place in the log are printed: ID SEQ.

Exit codes: 0 the request was admitted; 1 refused, or no such proposal is
pending; 2 called wrongly; 4 no connection, or the token is not let in.`,
		RunE: func(c *cobra.Command, args []string) error {
			return finish(c.Context(), decide(c, a, args, func(p *protocol.Envelope) (protocol.Envelope, error) {
				e, err := proposal.Approval(p, protocol.ID(uuid.Must(uuid.NewV7()).String()), protocol.ParticipantID(to))
				if errors.Is(err, proposal.ErrNoHost) {
					err = program.Usagef("proposal %s does not name the participant that runs the tool; name it with --to", p.ID)
				}
				return e, err
			}))
		},
	}
	c.Flags().StringVar(&to, "to", "", "participant that runs the tool")
	return c
}

func newReject(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "reject ID",
		Short: "Says no to a proposed call",
		Long: `reject says no to the call that an agent proposes, and prints the rejection's id
and its place in the log: ID SEQ. Reasons that agents know: disagree,
inappropriate, unsafe, busy, incapable, policy, duplicate, invalid, timeout,
resource_limit, no_longer_needed, other; any other text will do.

Exit codes: 0 the rejection was admitted; 1 refused, or no such proposal is
pending; 2 called wrongly; 4 no connection, or the token is not let in.`,
		RunE: func(c *cobra.Command, args []string) error {
			if reason == "" {
				return program.Usagef("--reason is missing: the agent is told why")
			}
			return finish(c.Context(), decide(c, a, args, func(p *protocol.Envelope) (protocol.Envelope, error) {
				return proposal.Rejection(p, reason), nil
			}))
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why not")
	return c
}

// decide finds the proposal, sends the envelope that settles it, and prints a
// receipt.
func decide(c *cobra.Command, a *app, args []string, draft func(*protocol.Envelope) (protocol.Envelope, error)) error {
	if len(args) != 1 || !protocol.ValidID(args[0]) {
		return program.Usagef("which proposal? Give its ID; meup proposals lists them")
	}
	t, err := a.target(c.ErrOrStderr())
	if err != nil {
		return err
	}
	asker, err := t.http()
	if err != nil {
		return err
	}
	defer asker.Close()
	found, err := pending(c.Context(), asker, t.space, protocol.ID(args[0]))
	if err != nil {
		return err
	}
	e, err := draft(found)
	if err != nil {
		return err
	}
	sent, err := asker.Send(c.Context(), t.space, e)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s %d\n", sent.ID, sent.Seq)
	return err
}

// pending returns a proposal that is not settled yet.
func pending(ctx context.Context, asker *api.Client, space string, id protocol.ID) (*protocol.Envelope, error) {
	list, _, err := pendingProposals(ctx, asker, space)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].ID == id {
			return &list[i], nil
		}
	}
	return nil, fmt.Errorf("no proposal %s is pending: somebody has decided on it, or there never was one that you may see", id)
}
