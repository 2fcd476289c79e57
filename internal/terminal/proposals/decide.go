package proposals

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/proposal"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/protocol"
)

// approveFlags are the flags of approve.
type approveFlags struct {
	to      string
	ask     bool
	timeout time.Duration
}

func newApprove(s *connect.Settings, style styler) *cobra.Command {
	var f approveFlags
	c := &cobra.Command{
		Use:   "approve ID",
		Short: "Approves a proposed call",
		Long: `approve makes the call that an agent proposes, in your name and with exactly the
proposed arguments: check them first. The request is addressed to the participant
that runs the tool. If the proposal does not name it, --to is required; --to may
also select another participant. Your capabilities must allow the request, or let
you decide on the proposal. The first decision on a proposal wins.

The output is the id and the seq of the request, ID SEQ, and then the beginning of
the result, or the error of the tool. If the host is not connected, approve does
not wait. meup proposals show prints the whole result, also later.

Exit codes: 0 the call was made, and did not fail; 1 rejected, no such proposal is
pending, or the tool failed; 2 usage error; 3 the call was made, and there is no
result in time; 4 no connection, or the token is not valid; 130 Ctrl-C.`,
		RunE: func(c *cobra.Command, args []string) error {
			return connect.Finish(c.Context(), approve(c, s, style, args, &f))
		},
	}
	c.Flags().StringVar(&f.to, "to", "", "participant that runs the tool")
	c.Flags().BoolVar(&f.ask, "ask", false, "show the call and ask before it is made, also if the whole ID is given")
	c.Flags().DurationVar(&f.timeout, "timeout", time.Minute, "how long to wait for the result; 0: not at all")
	return c
}

func approve(c *cobra.Command, s *connect.Settings, style styler, args []string, f *approveFlags) error {
	if f.timeout < 0 {
		return program.Usagef("--timeout must not be negative")
	}
	d := decision{question: "Make this call?", ask: f.ask, draft: func(p *protocol.Envelope) (protocol.Envelope, error) {
		e, err := proposal.Approval(p, newID(), protocol.ParticipantID(f.to))
		if errors.Is(err, proposal.ErrNoHost) {
			err = program.Usagef("proposal %s does not name the participant that runs the tool; name it with --to", p.ID)
		}
		return e, err
	}}
	t, call, err := d.send(c, s, style, args)
	if err != nil {
		return err
	}
	colors, err := style(c.OutOrStdout())
	if err != nil {
		return err
	}
	return call.report(c, t, f.timeout, colors)
}

func newID() protocol.ID { return protocol.ID(uuid.Must(uuid.NewV7()).String()) }

func newReject(s *connect.Settings, style styler) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "reject ID",
		Short: "Rejects a proposed call",
		Long: `reject rejects the call that an agent proposes. The output is the id and the seq
of the rejection: ID SEQ. Standard reasons are disagree, inappropriate, unsafe,
busy, incapable, policy, duplicate, invalid, timeout, resource_limit,
no_longer_needed and other; any other text is accepted.

Exit codes: 0 the rejection was admitted; 1 rejected, or no such proposal is
pending; 2 usage error; 4 no connection, or the token is not valid; 130 Ctrl-C.`,
		RunE: func(c *cobra.Command, args []string) error {
			if reason == "" {
				return program.Usagef("--reason is required: it is sent to the agent")
			}
			d := decision{question: "Reject this call?", draft: func(p *protocol.Envelope) (protocol.Envelope, error) {
				return proposal.Rejection(p, reason), nil
			}}
			_, _, err := d.send(c, s, style, args)
			return connect.Finish(c.Context(), err)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "reason for the rejection")
	return c
}

// decision is a decision on a proposal that the caller names.
type decision struct {
	question string
	ask      bool // also if the whole id is given
	draft    func(*protocol.Envelope) (protocol.Envelope, error)
}

// send finds the proposal, sends the envelope that settles it, and prints a receipt. If
// only the beginning of the id is given, the caller has to confirm it.
func (d *decision) send(c *cobra.Command, s *connect.Settings, style styler, args []string) (*connect.Target, *call, error) {
	id, err := idOf(args)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.Target(c.ErrOrStderr())
	if err != nil {
		return nil, nil, err
	}
	found, err := find(c.Context(), t, id)
	if err != nil {
		return nil, nil, err
	}
	p := &found.Envelope.Envelope
	if found.State != statePending {
		return nil, nil, fmt.Errorf("proposal %s is not pending: it was %s%s", p.ID, settled(c.Context(), t, found), resultHint(found, connect.Given(c.Flags())))
	}
	if d.ask || string(p.ID) != id {
		if err := d.confirm(c, t, p, style); err != nil {
			return nil, nil, err
		}
	}
	e, err := d.draft(p)
	if err != nil {
		return nil, nil, err
	}
	sent, err := t.API.Send(c.Context(), t.Space, e)
	if err != nil {
		return nil, nil, tooLate(c.Context(), t, p.ID, err)
	}
	e.ID, e.Seq = sent.ID, sent.Seq
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s %d\n", sent.ID, sent.Seq)
	return t, &call{proposal: p.ID, request: e, flags: connect.Given(c.Flags())}, err
}

// resultHint names the command that shows the result of an approved call, as the end of
// a sentence.
func resultHint(p *api.Proposal, flags string) string {
	if p.State != string(proposal.Fulfilled) {
		return ""
	}
	return "; " + showCommand(p.Envelope.ID, flags) + " shows the result"
}

func showCommand(id protocol.ID, flags string) string {
	return "meup proposals show " + string(id) + flags
}

func idOf(args []string) (string, error) {
	if len(args) != 1 || !protocol.ValidID(args[0]) {
		return "", program.Usagef("expected the ID of a proposal, or its beginning; meup proposals lists them")
	}
	return args[0], nil
}

// confirm shows a proposal, whose id its proposer has chosen, and asks whether it is
// meant.
func (d *decision) confirm(c *cobra.Command, t *connect.Target, p *protocol.Envelope, style styler) error {
	colors, err := style(c.ErrOrStderr())
	if err != nil {
		return err
	}
	roster, err := t.API.Roster(c.Context(), t.Space)
	if err != nil {
		return err
	}
	info, err := explained(c.Context(), t, p, roster)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(c.ErrOrStderr())
	info.write(out, colors)
	if err := out.Flush(); err != nil {
		return err
	}
	confirmed, err := program.Confirm(c.Context(), c.InOrStdin(), c.ErrOrStderr(), d.question)
	if err == nil && !confirmed {
		err = fmt.Errorf("not sent: it was not confirmed; to decide without a question, give the whole id %s and no --ask", p.ID)
	}
	return err
}

// statePending is the state of a proposal that has no decision.
const statePending = "pending"

// find returns the proposal whose id is a text, or the pending one whose id begins with
// it.
func find(ctx context.Context, t *connect.Target, id string) (*api.Proposal, error) {
	list, _, err := Pending(ctx, t)
	if err != nil {
		return nil, err
	}
	var found []*api.Proposal
	for i := range list {
		p := &api.Proposal{State: statePending, Envelope: api.RawEnvelope{Envelope: list[i]}}
		switch {
		case string(list[i].ID) == id:
			return p, nil
		case strings.HasPrefix(string(list[i].ID), id):
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return findSettled(ctx, t, id)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%d pending proposals begin with %s; give more of the id", len(found), id)
}

// findSettled returns a proposal by its whole id.
func findSettled(ctx context.Context, t *connect.Target, id string) (*api.Proposal, error) {
	text, err := t.API.Envelope(ctx, t.Space, protocol.ID(id))
	if connect.NotFound(err) {
		return nil, fmt.Errorf("no proposal %s: meup proposals lists the pending ones that are visible to you", id)
	}
	if err != nil {
		return nil, err
	}
	e, err := protocol.DecodeDelivered(text)
	if err != nil {
		return nil, fmt.Errorf("read envelope %s: %w", id, err)
	}
	if e.Kind != protocol.KindMCPProposal {
		return nil, fmt.Errorf("no proposal %s: the envelope with this id is a %s", id, e.Kind)
	}
	page, err := t.API.Proposals(ctx, t.Space, "all", 1, e.Seq+1)
	if err != nil {
		return nil, err
	}
	if len(page.Proposals) == 0 || page.Proposals[0].Envelope.ID != e.ID {
		return nil, fmt.Errorf("no proposal %s: the gateway does not list it any more", id)
	}
	return &page.Proposals[0], nil
}
