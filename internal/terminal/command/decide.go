package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
	"github.com/meup-protocol/meup/protocol"
)

// approveFlags are the flags of approve.
type approveFlags struct {
	to      string
	ask     bool
	timeout time.Duration
	length  time.Duration // of a grant; 0: none
	scope   string
	extend  string // of a budget; "": none
}

func newApprove(s *connect.Settings, style styler) *cobra.Command {
	var f approveFlags
	c := &cobra.Command{
		Use:   "approve [ID]",
		Short: "Approves a proposed call",
		Long: `approve makes the call that an agent proposes, in your name and with exactly the
proposed arguments: check them first. The request is addressed to the participant
that runs the tool. If the proposal does not name it, --to is required; --to may
also select another participant. Your capabilities must allow the request, or let
you decide on the proposal. The first decision on a proposal wins. If only the
beginning or the end of the ID is given, or no ID and there is one proposal on
which you may decide, approve shows the call and asks.

--for also allows the agent to make such calls for a time without asking, by a
grant that follows the request. --scope says which: same is this call, similar is
calls that are like it by what their commands, paths and URLs mean, any is all calls
of the tool. The default is similar, or same if there is nothing similar. You can
only grant what you hold. approve says what it has granted; if that was refused, the
call was made once.

--extend adds an amount such as '1 USD', '100000 tokens' or '20 calls' to the budget
that is used up, so that the agent can go on today.

The output is the id and the seq of the request, ID SEQ, and then the beginning of
the result, or the error of the tool. If the host is not connected, approve does
not wait. meup proposals show prints the whole result, also later.

Exit codes: 0 the call was made, and did not fail; 1 rejected, no such proposal is
pending, the grant or the extension was refused, or the tool failed; 2 usage error; 3 the call was made, and there is no
result in time; 4 no connection, or the token is not valid; 130 Ctrl-C.`,
		Example: `  meup proposals approve 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f
  meup proposals approve --ask --for 10m
  meup proposals approve 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f --for 1h --scope same
  meup proposals approve --ask --extend '1 USD'`,
		Args: program.Args("[ID]"),
		RunE: connect.RunE(func(c *cobra.Command, args []string) error { return approve(c, s, style, args, &f) }),
	}
	c.Flags().StringVar(&f.to, "to", "", "participant that runs the tool")
	c.Flags().BoolVar(&f.ask, "ask", false, "show the call and ask before it is made, also if the whole ID is given")
	c.Flags().DurationVar(&f.length, "for", 0, "allow the agent such calls for this time")
	c.Flags().StringVar(&f.scope, "scope", "", "calls that --for allows: same, similar or any (default similar, else same)")
	c.Flags().StringVar(&f.extend, "extend", "", "add this to the budget that is used up, for today: '1 USD', '100000 tokens', '20 calls'")
	c.Flags().DurationVar(&f.timeout, "timeout", time.Minute, "how long to wait for the result; 0: not at all")
	return c
}

func approve(c *cobra.Command, s *connect.Settings, style styler, args []string, f *approveFlags) error {
	if err := f.check(c); err != nil {
		return err
	}
	d := decision{question: "Make this call?", ask: f.ask, draft: func(p *protocol.Envelope) (protocol.Envelope, error) {
		e, err := exchange.Approval(p, newID(), protocol.ParticipantID(f.to))
		if errors.Is(err, exchange.ErrNoHost) {
			err = program.Usagef("proposal %s does not name the participant that runs the tool; name it with --to", p.ID)
		}
		return e, err
	}}
	var grant, extension *protocol.Envelope
	d.prepare = func(t *connect.Target, p *protocol.Envelope) (words []string, err error) {
		var text string
		if f.length > 0 {
			grant, text, err = f.grant(c.Context(), t, p)
			words = append(words, text)
		}
		if f.extend != "" && err == nil {
			extension, text, err = f.extension(c.Context(), t, p)
			words = append(words, text)
		}
		return words, err
	}
	t, call, err := d.send(c, s, style, args)
	if err != nil {
		return err
	}
	refused := false
	if grant != nil {
		_, err = t.API.Send(c.Context(), t.Space, *grant)
		if err != nil {
			refused = true
			connect.Warn(c.ErrOrStderr(), "the call was approved once: the grant was refused: %s", connect.SafeError{Err: err})
		} else {
			connect.Warn(c.ErrOrStderr(), "%s; meup revoke %s --grant %s%s ends it", d.words[0], termsafe.Words(string(grant.To[0])), grant.ID, connect.Given(c.Flags()))
		}
	}
	if extension != nil {
		_, err = t.API.Send(c.Context(), t.Space, *extension)
		if err != nil {
			refused = true
			connect.Warn(c.ErrOrStderr(), "the call was approved once: the extension of the budget was refused: %s", connect.SafeError{Err: err})
		} else {
			connect.Warn(c.ErrOrStderr(), "%s", d.words[len(d.words)-1])
		}
	}
	colors, err := style(c.OutOrStdout())
	if err != nil {
		return err
	}
	err = call.report(c, t, f.timeout, colors)
	if err == nil && refused {
		err = &program.ExitError{Code: program.ExitFailed}
	}
	return err
}

func (f *approveFlags) check(c *cobra.Command) error {
	switch {
	case f.timeout < 0:
		return program.Usagef("--timeout must not be negative")
	case c.Flags().Changed("for") && f.length < time.Second:
		return program.Usagef("--for must be at least 1s")
	case f.scope != "" && f.length == 0:
		return program.Usagef("--scope needs --for, the time for which it is allowed")
	case f.scope != "" && !slices.Contains([]string{"same", "similar", "any"}, f.scope):
		return program.Usagef("--scope %q: expected same, similar or any", f.scope)
	}
	if f.extend != "" {
		_, err := parseAmount(f.extend)
		return err
	}
	return nil
}

// grant returns the grant that goes with the approval of a proposal, and what it allows in words.
func (f *approveFlags) grant(ctx context.Context, t *connect.Target, p *protocol.Envelope) (*protocol.Envelope, string, error) {
	list, err := t.API.Scopes(ctx, t.Space, p.ID, protocol.ParticipantID(f.to))
	if err != nil {
		return nil, "", err
	}
	wanted := []string{"similar", "same"}
	if f.scope != "" {
		wanted = []string{f.scope}
	}
	scope := conversation.ScopeOf(list, wanted...)
	if scope == nil && len(list) == 0 {
		return nil, "", errors.New("you cannot grant calls like this one; leave --for out to approve this call alone")
	}
	if scope == nil {
		text := "you cannot grant " + strings.Join(wanted, " or ") + " for this call; choose with --scope:"
		for _, s := range list {
			text += "\n  " + termsafe.Exact(s.ID) + ": " + termsafe.Exact(s.Title)
		}
		return nil, "", &program.ExitError{Code: program.ExitFailed, Err: errors.New(text)}
	}
	grant, words := conversation.GrantFor(p, scope, f.length)
	grant.ID = newID()
	return &grant, words, nil
}

func newID() protocol.ID { return protocol.ID(uuid.Must(uuid.NewV7()).String()) }

func newReject(s *connect.Settings, style styler) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "reject [ID]",
		Short: "Rejects a proposed call",
		Long: `reject rejects the call that an agent proposes. --reason is required, and the agent
reads it: one of disagree, inappropriate, unsafe, busy, incapable, policy, duplicate,
invalid, timeout, resource_limit, no_longer_needed and other, or any other text. The
output is the id and the seq of the rejection: ID SEQ. The ID may be shortened, or
left out, as for approve.

A call that a reviewer has approved was made and stays made. To reject it demotes the
reviewer for that decision, as meup reviewers demote --decision does.

Exit codes: 0 the rejection was admitted; 1 rejected, or no such proposal is
pending; 2 usage error; 4 no connection, or the token is not valid; 130 Ctrl-C.`,
		Example: `  meup proposals reject 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f --reason unsafe
  meup proposals reject --reason 'move it to the trash instead'`,
		Args: program.Args("[ID]"),
		RunE: connect.RunE(func(c *cobra.Command, args []string) error {
			if reason == "" {
				return program.Usagef("--reason is required: it is sent to the agent; for example --reason unsafe")
			}
			d := decision{question: "Reject this call?", draft: func(p *protocol.Envelope) (protocol.Envelope, error) {
				return exchange.Rejection(p, reason), nil
			}, undo: func(t *connect.Target, p *api.Proposal) (*protocol.Envelope, error) {
				return undo(c.Context(), t, p, reason)
			}}
			_, _, err := d.send(c, s, style, args)
			return err
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the agent to read; required")
	return c
}

// decision is a decision on a proposal that the caller names.
type decision struct {
	question string
	ask      bool // also if the whole id is given
	draft    func(*protocol.Envelope) (protocol.Envelope, error)
	// prepare returns what else the decision does, in words; nil: nothing.
	prepare func(*connect.Target, *protocol.Envelope) ([]string, error)
	words   []string // of prepare
	// undo returns the envelope that says that a decision was wrong; nil: there is none, and only a
	// pending proposal is decided on.
	undo func(*connect.Target, *api.Proposal) (*protocol.Envelope, error)
}

// send finds the proposal, sends the envelope that settles it, and prints a receipt.
// Without the whole id, the caller has to confirm it. The call is nil for a rejection.
func (d *decision) send(c *cobra.Command, s *connect.Settings, style styler, args []string) (*connect.Target, *call, error) {
	id, err := idOf(args)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.Target(c)
	if err != nil {
		return nil, nil, err
	}
	found, err := findProposal(c, t, id)
	if err != nil {
		return nil, nil, err
	}
	p := &found.Envelope.Envelope
	var undoing *protocol.Envelope
	if found.State != statePending && d.undo != nil {
		undoing, err = d.undo(t, found)
		if err != nil {
			return nil, nil, err
		}
	}
	if found.State != statePending && undoing == nil {
		return nil, nil, fmt.Errorf("proposal %s is not pending: it was %s%s", p.ID, settled(c.Context(), t, found), resultHint(found, connect.Given(c.Flags())))
	}
	if d.prepare != nil {
		d.words, err = d.prepare(t, p)
		if err != nil {
			return nil, nil, err
		}
	}
	if d.ask || string(p.ID) != id {
		if err := d.confirm(c, t, p, style); err != nil {
			return nil, nil, err
		}
	}
	if undoing != nil {
		err := Send(c, t, *undoing, false)
		if err == nil {
			connect.Warn(c.ErrOrStderr(), "the call was made and stays made: it was %s, which is demoted for that and decides nothing more%s", settled(c.Context(), t, found), resultHint(found, connect.Given(c.Flags())))
		}
		return t, nil, err
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
	var made *call
	if e.Kind == protocol.KindMCPRequest {
		made = newCall(c, t, p.ID, e)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s %d\n", sent.ID, sent.Seq)
	return t, made, err
}

// resultHint names the command that shows the result of an approved call, as the end of
// a sentence.
func resultHint(p *api.Proposal, flags string) string {
	if p.State != string(exchange.Fulfilled) {
		return ""
	}
	return "; " + showCommand(p.Envelope.ID, flags) + " shows the result"
}

func showCommand(id protocol.ID, flags string) string {
	return "meup proposals show " + string(id) + flags
}

// idOf returns the argument that selects a proposal; "": there is none.
func idOf(args []string) (string, error) {
	if len(args) == 0 {
		return "", nil
	}
	if !protocol.ValidID(args[0]) {
		return "", program.Usagef("expected the ID of a proposal, its beginning or its end; meup proposals lists them")
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
	for _, words := range d.words {
		fmt.Fprintf(out, "  %s%s\n", colors.Paint(colors.Dim, "then:      "), words)
	}
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

// maxSettled bounds the proposals, pending or not, that findProposal searches for a part of an id.
const maxSettled = 1000

// findProposal returns the proposal that a text selects: by its id, or by the beginning or the end
// of it, first among the pending ones. "": the only one on which the caller may decide.
func findProposal(c *cobra.Command, t *connect.Target, id string) (*api.Proposal, error) {
	list, _, err := PendingProposals(c.Context(), t)
	if err != nil {
		return nil, err
	}
	if id == "" {
		list = slices.DeleteFunc(list, func(p api.Proposal) bool { return !p.MayDecide })
		switch len(list) {
		case 0:
			return nil, errors.New("no pending proposal on which you may decide; meup proposals lists the pending ones")
		case 1:
			return &list[0], nil
		}
		text := fmt.Sprintf("%d proposals wait for your decision:", len(list))
		for i := range list {
			text += "\n  " + DescribeProposal(&list[i].Envelope.Envelope, time.Now()).name()
		}
		return nil, &program.ExitError{Code: program.ExitFailed, Err: errors.New(text + "\ngive the ID of one, or decide on each in turn: meup proposals review" + connect.Given(c.Flags()))}
	}
	found, err := connect.Select(id, "pending proposal", "meup proposals", list, proposalID)
	if !errors.Is(err, connect.ErrNoMatch) {
		return found, err
	}
	// It is none of the pending ones: the whole id of another one, or a part of that of one of the newest.
	text, err := t.API.Envelope(c.Context(), t.Space, protocol.ID(id))
	if connect.NotFound(err) {
		list, _, err := inState(c.Context(), t, "all", maxSettled)
		if err != nil {
			return nil, err
		}
		return connect.Select(id, "proposal", "meup proposals", list, proposalID)
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
	return t.API.Proposal(c.Context(), t.Space, e.ID, e.Seq)
}

func proposalID(p *api.Proposal) protocol.ID { return p.Envelope.ID }
