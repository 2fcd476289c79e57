package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/proposal"
	"github.com/meup-protocol/meup/internal/terminal/blockrender"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

func newProposals(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "proposals",
		Short: "Lists proposed calls, and decides on them",
		Long: `proposals lists the calls that wait for a decision: an agent that may not make a
call proposes it to other participants. Each is listed with its proposer, its
age and its rationale.

Exit codes: those of meup; 0 also if no proposal is pending.`,
		Example: `  meup proposals
  meup proposals approve 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f
  meup proposals reject 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f --reason unsafe`,
		Args: program.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return connect.Finish(c.Context(), runProposals(c, a, asJSON))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per proposal")
	c.AddCommand(newApprove(a), newReject(a), newReview(a))
	return c
}

// proposalInfo describes a proposal. Its fields are the output of --json.
type proposalInfo struct {
	ID         protocol.ID            `json:"id"`
	From       protocol.ParticipantID `json:"from"`
	TS         time.Time              `json:"ts"`
	AgeSeconds int64                  `json:"age_seconds"`
	Tool       string                 `json:"tool"` // or the method, if it is not tools/call
	Params     json.RawMessage        `json:"params"`
	Owner      protocol.ParticipantID `json:"participant_id,omitempty"` // the participant that runs the tool, if known
	Context    protocol.ContextPath   `json:"context,omitempty"`
	Rationale  string                 `json:"rationale,omitempty"`
	ThreadID   protocol.ID            `json:"thread_id,omitempty"`
	JobID      protocol.ID            `json:"job_id,omitempty"`
	TurnNumber int                    `json:"turn_number,omitempty"`
	UserInput  string                 `json:"user_input,omitempty"`
}

func runProposals(c *cobra.Command, a *app, asJSON bool) error {
	style, err := a.style(c.OutOrStdout())
	if err != nil {
		return err
	}
	t, err := a.Target(c.ErrOrStderr())
	if err != nil {
		return err
	}
	list, whole, err := pendingProposals(c.Context(), t)
	if err != nil {
		return err
	}
	if !whole {
		warn(c.ErrOrStderr(), "the log was not read to its beginning: there may be older proposals")
	}
	out := bufio.NewWriter(c.OutOrStdout())
	for i := range list {
		p := describe(&list[i], time.Now())
		if err := p.explain(c.Context(), t, &list[i]); err != nil {
			return err
		}
		if !asJSON {
			p.write(out, style)
		} else if err := newEncoder(out).Encode(p); err != nil {
			return err
		}
	}
	return out.Flush()
}

// describe reads a proposal's envelope.
func describe(e *protocol.Envelope, now time.Time) *proposalInfo {
	p := &proposalInfo{
		ID: e.ID, From: e.From, TS: e.TS, AgeSeconds: max(0, int64(now.Sub(e.TS).Seconds())), Context: e.Context,
		Params: json.RawMessage("{}"),
	}
	root := e.ParsePayload()
	p.Owner = protocol.ParticipantIn(root, "participant_id")
	p.Tool = root.Get("method").Text()
	params := root.Get("params")
	if name := params.Get("name").Text(); p.Tool == "tools/call" && name != "" {
		p.Tool, params = name, params.Get("arguments")
	}
	if params.Type() == protocol.TypeObject {
		p.Params = params.Raw()
	}
	return p
}

// explain adds the turn that the proposal belongs to, and its reason: the one of
// the call in the turn, or else a thought of the agent.
func (p *proposalInfo) explain(ctx context.Context, t *connect.Target, e *protocol.Envelope) error {
	at, err := t.API.TurnOf(ctx, t.Space, p.ID)
	switch {
	case err != nil && !connect.NotFound(err):
		return err
	case err == nil:
		p.ThreadID, p.JobID, p.TurnNumber, p.UserInput = at.ThreadID, at.JobID, at.Turn.TurnNumber, at.Turn.UserInput
		for _, r := range at.Turn.AllReasonings() {
			for i := range r.ToolDecisions {
				if d := &r.ToolDecisions[i]; d.CallID == p.ID {
					p.Rationale = d.Rationale
					return nil
				}
			}
		}
	}
	p.Rationale, err = explainingThought(ctx, t, e, p.Tool)
	return err
}

// explainingThought returns the thought that a proposal names, or the agent's last
// earlier thought in the context that names the same tool or none. It explains
// a proposal that belongs to no turn.
func explainingThought(ctx context.Context, t *connect.Target, p *protocol.Envelope, tool string) (string, error) {
	if p.Context == "" {
		return "", nil
	}
	page, err := t.API.Envelopes(ctx, t.Space, api.EnvelopeQuery{
		Before: p.Seq, Limit: 200, Descending: true,
		Contexts: []string{string(p.Context)}, Kinds: []string{string(protocol.KindReasoningThought)}, From: []protocol.ParticipantID{p.From},
	})
	if err != nil {
		return "", err
	}
	last := ""
	for i := range page.Envelopes {
		text, of := thought(&page.Envelopes[i])
		if p.Correlation.Names(page.Envelopes[i].ID) {
			return text, nil
		}
		if last == "" && page.Envelopes[i].Context == p.Context && (of == "" || of == tool) {
			last = text
		}
	}
	return last, nil
}

// thought returns the text of a thought, and the tool that it is about.
func thought(e *protocol.Envelope) (text, tool string) {
	root := e.ParsePayload()
	if text = root.Get("message").Text(); text == "" {
		text = root.Get("content").Text()
	}
	return text, root.Get("tool_name").Text()
}

// write prints the description. Flushing w returns any write error.
func (p *proposalInfo) write(w *bufio.Writer, s blockrender.Style) {
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(w, "  %s%s\n", s.Paint(s.Dim, label), text)
		}
	}
	age := (time.Duration(p.AgeSeconds) * time.Second).String()
	fmt.Fprintf(w, "%s  %s proposes %s, %s ago\n", p.ID, s.Paint(s.Name, termsafe.Words(string(p.From))), s.Paint(s.Tool, termsafe.Exact(p.Tool)), age)
	line("params:    ", termsafe.Exact(blockrender.JSON(p.Params))) // not cut: the decision is about all of it
	switch p.Owner {
	case "":
		line("host:      ", "unknown; approve with --to PARTICIPANT")
	case p.From:
		line("host:      ", termsafe.Words(string(p.Owner))+" (the proposer)")
	default:
		line("host:      ", termsafe.Words(string(p.Owner)))
	}
	if p.Rationale != "" {
		line("rationale: ", `"`+termsafe.Words(p.Rationale)+`"`)
	}
	if p.JobID != "" {
		line("for:       ", fmt.Sprintf("job %s: %s", termsafe.Words(string(p.JobID)), termsafe.Cut(termsafe.Words(p.UserInput), 200)))
	}
	if p.TurnNumber > 0 {
		line("for:       ", fmt.Sprintf("turn %d of %s: %s", p.TurnNumber, p.ThreadID, termsafe.Cut(termsafe.Words(p.UserInput), 200)))
	}
}

// subject names the proposal in a sentence.
func (p *proposalInfo) subject() string {
	return fmt.Sprintf("proposal %s of %s (%s)", p.ID, termsafe.Words(string(p.From)), termsafe.Cut(termsafe.Exact(p.Tool), 100))
}

// approveCommand returns the command that shows the proposal, asks, and approves it, with
// the flags of the connection.
func (p *proposalInfo) approveCommand(flags string) string {
	command := "meup proposals approve --ask " + string(p.ID) + flags
	if p.Owner == "" {
		command += " --to PARTICIPANT"
	}
	return command
}

func newApprove(a *app) *cobra.Command {
	var to string
	var ask bool
	c := &cobra.Command{
		Use:   "approve ID",
		Short: "Approves a proposed call",
		Long: `approve makes the call that an agent proposes, in your name and with exactly the
proposed arguments: check them first. The request is addressed to the participant
that runs the tool. If the proposal does not name it, --to is required; --to may
also select another participant. Your capabilities must allow the request, or let
you decide on the proposal. The first decision on a proposal wins. The output is
the id and the seq of the request: ID SEQ.

Exit codes: 0 the request was admitted; 1 rejected, or no such proposal is
pending; 2 usage error; 4 no connection, or the token is not valid.`,
		RunE: func(c *cobra.Command, args []string) error {
			return connect.Finish(c.Context(), decide(c, a, args, ask, func(p *protocol.Envelope) (protocol.Envelope, error) {
				e, err := proposal.Approval(p, protocol.ID(uuid.Must(uuid.NewV7()).String()), protocol.ParticipantID(to))
				if errors.Is(err, proposal.ErrNoHost) {
					err = program.Usagef("proposal %s does not name the participant that runs the tool; name it with --to", p.ID)
				}
				return e, err
			}))
		},
	}
	c.Flags().StringVar(&to, "to", "", "participant that runs the tool")
	c.Flags().BoolVar(&ask, "ask", false, "show the call and ask before it is made, also if the whole ID is given")
	return c
}

func newReject(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "reject ID",
		Short: "Rejects a proposed call",
		Long: `reject rejects the call that an agent proposes. The output is the id and the seq
of the rejection: ID SEQ. Standard reasons are disagree, inappropriate, unsafe,
busy, incapable, policy, duplicate, invalid, timeout, resource_limit,
no_longer_needed and other; any other text is accepted.

Exit codes: 0 the rejection was admitted; 1 rejected, or no such proposal is
pending; 2 usage error; 4 no connection, or the token is not valid.`,
		RunE: func(c *cobra.Command, args []string) error {
			if reason == "" {
				return program.Usagef("--reason is required: it is sent to the agent")
			}
			return connect.Finish(c.Context(), decide(c, a, args, false, func(p *protocol.Envelope) (protocol.Envelope, error) {
				return proposal.Rejection(p, reason), nil
			}))
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "reason for the rejection")
	return c
}

// decide finds the proposal, sends the envelope that settles it, and prints a
// receipt. With ask, and if only the beginning of the id is given, the caller has to
// confirm it.
func decide(c *cobra.Command, a *app, args []string, ask bool, draft func(*protocol.Envelope) (protocol.Envelope, error)) error {
	if len(args) != 1 || !protocol.ValidID(args[0]) {
		return program.Usagef("expected the ID of a proposal, or its beginning; meup proposals lists them")
	}
	t, err := a.Target(c.ErrOrStderr())
	if err != nil {
		return err
	}
	found, err := pending(c.Context(), t, args[0])
	if err != nil {
		return err
	}
	if (ask || string(found.ID) != args[0]) && !confirmed(c, found) {
		return fmt.Errorf("not sent: it was not confirmed; to decide without a question, give the whole id %s and no --ask", found.ID)
	}
	e, err := draft(found)
	if err != nil {
		return err
	}
	sent, err := t.API.Send(c.Context(), t.Space, e)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s %d\n", sent.ID, sent.Seq)
	return err
}

// confirmed shows a proposal, whose id its proposer has chosen, and asks whether it is meant.
func confirmed(c *cobra.Command, p *protocol.Envelope) bool {
	out := bufio.NewWriter(c.ErrOrStderr())
	describe(p, time.Now()).write(out, blockrender.Style{})
	answer, err := question(bufio.NewReader(c.InOrStdin()), out, "Is it this one? [y/N] ")
	return err == nil && (answer == "y" || answer == "yes")
}

// pendingProposals returns the proposals that are not settled, oldest first. whole
// reports that the log was read to its beginning.
func pendingProposals(ctx context.Context, t *connect.Target) (list []protocol.Envelope, whole bool, err error) {
	before := protocol.Seq(0)
	for {
		page, err := t.API.Proposals(ctx, t.Space, "pending", 100, before)
		if err != nil {
			return nil, false, err
		}
		for i := range page.Proposals {
			list = append(list, page.Proposals[i].Envelope.Envelope)
		}
		if !page.HasMore || page.Next == before {
			slices.Reverse(list)
			return list, !page.Partial, nil
		}
		before = page.Next
	}
}

// pending returns the proposal that is not settled yet whose id is, or begins with, a
// text.
func pending(ctx context.Context, t *connect.Target, id string) (*protocol.Envelope, error) {
	list, _, err := pendingProposals(ctx, t)
	if err != nil {
		return nil, err
	}
	var found []*protocol.Envelope
	for i := range list {
		switch {
		case string(list[i].ID) == id:
			return &list[i], nil
		case strings.HasPrefix(string(list[i].ID), id):
			found = append(found, &list[i])
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no proposal %s is pending: it was decided or withdrawn, or it is not visible to you", id)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%d pending proposals begin with %s; give more of the id", len(found), id)
}
