package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/protocol"
)

// styler returns the colors for output to a writer.
type styler func(io.Writer) (block.Style, error)

// target returns the style of the output of a command, and the space that it is about.
func (style styler) target(c *cobra.Command, s *connect.Settings) (block.Style, *connect.Target, error) {
	colors, err := style(c.OutOrStdout())
	if err != nil {
		return colors, nil, err
	}
	t, err := s.Target(c)
	return colors, t, err
}

// Proposals returns the command proposals.
func Proposals(s *connect.Settings, style styler) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "proposals", SuggestFor: []string{"review"},
		Short: "Lists proposed calls, and decides on them",
		Long: `proposals lists the calls that wait for a decision: an agent that may not make a
call proposes it to other participants. Each is listed with its proposer, its
age, the time until it expires and its rationale. A proposer or a host that is not
connected is marked: the tool cannot run until its host is back. One on which you may
not decide says so, and from when on you may. review asks for a decision on each.

Exit codes: those of meup; 0 also if no proposal is pending.`,
		Example: `  meup proposals
  meup proposals review
  meup proposals approve 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f
  meup proposals reject 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f --reason unsafe
  meup proposals show 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f`,
		Args: program.NoArgs,
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per proposal")
	c.AddCommand(newApprove(s, style), newReject(s, style), newReview(s, style), newShow(s, style))
	c.RunE = connect.RunE(func(c *cobra.Command, _ []string) error {
		colors, t, err := style.target(c, s)
		if err != nil {
			return err
		}
		pending, whole, err := PendingProposals(c.Context(), t)
		if err != nil {
			return err
		}
		if !whole {
			connect.Warn(c.ErrOrStderr(), "the log was not read to its beginning: there may be older proposals")
		}
		if len(pending) == 0 {
			connect.Warn(c.ErrOrStderr(), "no pending proposals")
			return nil
		}
		roster, err := t.API.Roster(c.Context(), t.Space)
		if err != nil {
			return err
		}
		out := bufio.NewWriter(c.OutOrStdout())
		mine := false
		for i := range pending {
			p, err := explained(c.Context(), t, &pending[i].Envelope.Envelope, roster)
			if err != nil {
				return err
			}
			mine = mine || p.MayDecide
			if !asJSON {
				p.write(out, colors)
			} else if err := json.NewEncoder(termsafe.JSONWriter(out)).Encode(p); err != nil {
				return err
			}
		}
		if err := out.Flush(); err != nil || asJSON || !mine {
			return err
		}
		connect.Warn(c.ErrOrStderr(), "to decide on each in turn: meup proposals review%[1]s; on one: meup proposals approve%[1]s --ask ID", connect.Given(c.Flags()))
		return nil
	})
	return c
}

// Decisions returns approve and reject as commands of their own.
func Decisions(s *connect.Settings, style styler) []*cobra.Command {
	list := []*cobra.Command{newApprove(s, style), newReject(s, style)}
	for _, c := range list {
		c.Short += "; the same as meup proposals " + c.Name()
	}
	return list
}

// ProposalInfo describes a proposal. Its fields are the output of --json.
type ProposalInfo struct {
	ID          protocol.ID              `json:"id"`
	From        protocol.ParticipantID   `json:"from"`
	TS          time.Time                `json:"ts"`
	AgeSeconds  int64                    `json:"age_seconds"`
	ExpiresAt   *time.Time               `json:"expires_at,omitempty"`
	Tool        string                   `json:"tool"` // or the method, if it is not tools/call
	Params      json.RawMessage          `json:"params"`
	Owner       protocol.ParticipantID   `json:"participant_id,omitempty"` // the participant that runs the tool, if known
	Context     protocol.ContextPath     `json:"context,omitempty"`
	MayDecide   bool                     `json:"may_decide"`             // by now
	DecidesFrom *time.Time               `json:"decides_from,omitempty"` // when one may decide, if not by now
	Because     string                   `json:"because,omitempty"`      // why it is asked for although it is allowed
	Rationale   string                   `json:"rationale,omitempty"`
	ThreadID    protocol.ID              `json:"thread_id,omitempty"`
	JobID       protocol.ID              `json:"job_id,omitempty"`
	TurnNumber  int                      `json:"turn_number,omitempty"`
	UserInput   string                   `json:"user_input,omitempty"`
	Away        []protocol.ParticipantID `json:"not_connected,omitempty"` // of the proposer and the host

	others string // who decides, if it is pending and one may not; "": one may
}

// PendingProposals returns the proposals that are not settled, oldest first. whole reports that
// the log was read to its beginning.
func PendingProposals(ctx context.Context, t *connect.Target) (list []api.Proposal, whole bool, err error) {
	list, whole, err = inState(ctx, t, statePending, 0)
	slices.Reverse(list)
	return list, whole, err
}

// inState returns the newest proposals in a state (most of them, 0: all), newest first. whole
// reports that the log was read to its beginning.
func inState(ctx context.Context, t *connect.Target, state string, most int) (list []api.Proposal, whole bool, err error) {
	partial := false
	list, _, _, err = connect.Pages(most, func(limit int, before protocol.Seq) ([]api.Proposal, protocol.Seq, bool, error) {
		page, err := t.API.Proposals(ctx, t.Space, state, limit, before)
		if err != nil {
			return nil, 0, false, err
		}
		partial = page.Partial
		return page.Proposals, page.Next, page.HasMore, nil
	})
	return list, !partial, err
}

// DescribeProposal reads a proposal's envelope.
func DescribeProposal(e *protocol.Envelope, now time.Time) *ProposalInfo {
	p := &ProposalInfo{
		ID: e.ID, From: e.From, TS: e.TS, AgeSeconds: max(0, int64(now.Sub(e.TS).Seconds())), Context: e.Context,
		Params: json.RawMessage("{}"),
	}
	if at := exchange.CallOf(e).ExpiresAt; !at.IsZero() {
		p.ExpiresAt = &at
	}
	root := e.ParsePayload()
	p.Owner = protocol.ParticipantIn(root, "participant_id")
	tool, params := exchange.ShownCall(root)
	p.Tool = tool
	if len(params) > 0 {
		p.Params = params
	}
	return p
}

// explained describes a proposal, with who is not connected, its turn, and its reason: the one of
// the call in the turn, or else a thought of the agent.
func explained(ctx context.Context, t *connect.Target, e *protocol.Envelope, roster *api.Roster) (*ProposalInfo, error) {
	p := DescribeProposal(e, time.Now())
	for _, id := range []protocol.ParticipantID{p.From, p.Owner} {
		if id != "" && !roster.Connected(id) && !slices.Contains(p.Away, id) {
			p.Away = append(p.Away, id)
		}
	}
	found, err := t.API.Proposal(ctx, t.Space, e.ID, e.Seq)
	if err == nil {
		p.Because, p.MayDecide, p.DecidesFrom = found.Because, found.MayDecide, found.DecidesFrom
		if found.State == statePending && !found.MayDecide {
			p.others = "others do; you may not"
			if p.DecidesFrom != nil {
				p.others = "others do; you may from " + p.DecidesFrom.Local().Format(time.DateTime) + " on"
			}
		}
	}
	at, err := t.API.TurnOf(ctx, t.Space, p.ID)
	switch {
	case err != nil && !connect.NotFound(err):
		return p, err
	case err == nil:
		p.ThreadID, p.JobID, p.TurnNumber, p.UserInput = at.ThreadID, at.JobID, at.Turn.TurnNumber, at.Turn.UserInput
		for _, r := range at.Turn.AllReasonings() {
			for i := range r.ToolDecisions {
				if d := &r.ToolDecisions[i]; d.CallID == p.ID {
					p.Rationale = d.Rationale
					return p, nil
				}
			}
		}
	}
	p.Rationale, err = explainingThought(ctx, t, e, p.Tool)
	return p, err
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
		payload := page.Envelopes[i].ParsePayload()
		text, of := cmp.Or(payload.Get("message").Text(), payload.Get("content").Text()), payload.Get("tool_name").Text()
		if p.Correlation.Names(page.Envelopes[i].ID) {
			return text, nil
		}
		if last == "" && page.Envelopes[i].Context == p.Context && (of == "" || of == tool) {
			last = text
		}
	}
	return last, nil
}

// write prints the description. Flushing w returns any write error.
func (p *ProposalInfo) write(w *bufio.Writer, s block.Style) {
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(w, "  %s%s\n", s.Paint(s.Dim, label), text)
		}
	}
	away := func(id protocol.ParticipantID) string {
		if slices.Contains(p.Away, id) {
			return " (not connected)"
		}
		return ""
	}
	age := (time.Duration(p.AgeSeconds) * time.Second).String()
	fmt.Fprintf(w, "%s  %s%s proposes %s, %s ago%s\n", p.ID, s.Paint(s.Name, termsafe.Words(string(p.From))), away(p.From), s.Paint(s.Tool, termsafe.Exact(p.Tool)), age, p.expires(", "))
	line("params:    ", termsafe.Exact(block.JSON(p.Params))) // not cut: the decision is about all of it
	switch p.Owner {
	case "":
		line("host:      ", "unknown; approve with --to PARTICIPANT")
	case p.From:
		line("host:      ", termsafe.Words(string(p.Owner))+" (the proposer)")
	default:
		line("host:      ", termsafe.Words(string(p.Owner))+away(p.Owner))
	}
	line("decide:    ", p.others)
	if p.Because != "" {
		line("asked:     ", termsafe.Words(p.Because)+"; continue?")
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

// expires describes when the proposal expires, after a separator; "": never.
func (p *ProposalInfo) expires(separator string) string {
	if p.ExpiresAt == nil {
		return ""
	}
	left := time.Until(*p.ExpiresAt).Round(time.Second)
	if left <= 0 {
		return separator + "expired"
	}
	return separator + "expires in " + left.String()
}

// Subject names the proposal in a sentence.
func (p *ProposalInfo) Subject() string {
	return "proposal " + p.name()
}

// name has the id, the proposer, the tool and the time until the proposal expires.
func (p *ProposalInfo) name() string {
	return fmt.Sprintf("%s of %s (%s%s)", p.ID, termsafe.Words(string(p.From)), termsafe.Cut(termsafe.Exact(p.Tool), 100), p.expires(", "))
}

// ApproveCommand returns the command that shows the proposal, asks, and approves it, with
// the flags of the connection.
func (p *ProposalInfo) ApproveCommand(flags string) string {
	command := "meup proposals approve --ask " + string(p.ID) + flags
	if p.Owner == "" {
		command += " --to PARTICIPANT"
	}
	return command
}
