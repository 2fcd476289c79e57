package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/terminal/blockrender"
	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

func newProposals(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "proposals",
		Short: "Lists the calls that agents propose, and decides on them",
		Long: `proposals lists the calls that agents may not make themselves and propose to
others, as long as nobody has made them or said no and their agents have not
taken them back: who proposes what, since when, and why.

Exit codes: those of meup; nothing to list is 0.`,
		Example: `  meup proposals
  meup proposals approve 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f
  meup proposals reject 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f --reason unsafe`,
		Args: program.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return finish(c.Context(), runProposals(c, a, asJSON))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one proposal on a line, as JSON")
	c.AddCommand(newApprove(a), newReject(a))
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
	TurnNumber int                    `json:"turn_number,omitempty"`
	UserInput  string                 `json:"user_input,omitempty"`
}

func runProposals(c *cobra.Command, a *app, asJSON bool) error {
	style, err := a.style(c.OutOrStdout())
	if err != nil {
		return err
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
	list, whole, err := pendingProposals(c.Context(), asker, t.space)
	if err != nil {
		return err
	}
	if !whole {
		warn(c.ErrOrStderr(), "only the last %d calls and proposals of the log were looked at", maxScan)
	}
	out := bufio.NewWriter(c.OutOrStdout())
	for i := range list {
		p := describe(&list[i], time.Now())
		if err := p.explain(c.Context(), asker, t.space, &list[i]); err != nil {
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
	doc, err := protocol.ParseJSON(e.Payload, protocol.MaxDepth)
	if err != nil {
		return p
	}
	root := doc.Root()
	p.Owner = protocol.ParticipantID(root.Get("participant_id").Text())
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

// explain adds the turn that the proposal belongs to, and its reason.
func (p *proposalInfo) explain(ctx context.Context, asker *api.Client, space string, e *protocol.Envelope) error {
	t, d, err := explanation(ctx, asker, space, p.ID)
	if err != nil {
		return err
	}
	if t != nil {
		p.ThreadID, p.TurnNumber, p.UserInput = t.ThreadID, t.Turn.TurnNumber, t.Turn.UserInput
	}
	if d != nil {
		p.Rationale = d.Rationale
		return nil
	}
	p.Rationale, err = explainingThought(ctx, asker, space, e, p.Tool)
	return err
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
		line("tool of:   ", "not known; name it to approve this: --to PARTICIPANT")
	case p.From:
		line("tool of:   ", termsafe.Words(string(p.Owner))+", which runs it itself")
	default:
		line("tool of:   ", termsafe.Words(string(p.Owner)))
	}
	if p.Rationale != "" {
		line("rationale: ", `"`+termsafe.Words(p.Rationale)+`"`)
	}
	if p.TurnNumber > 0 {
		line("for:       ", fmt.Sprintf("turn %d of %s: %s", p.TurnNumber, p.ThreadID, termsafe.Cut(termsafe.Words(p.UserInput), 200)))
	}
}
