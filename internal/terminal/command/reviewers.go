package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/protocol"
)

// modes are the commands that change the mode of a reviewer.
var modes = []control{
	{
		use: "promote WHO", short: "Lets a reviewer decide", kind: protocol.KindReviewerPromote, subject: "participant_id",
		long: `promote lets a reviewer decide on the calls that the configuration has it for, from
the next envelope on. The gateway refuses it while people have decided on too few of
the reviewer's opinions, or after a miss among the last ones; meup reviewers shows
what is missing. Only the people whom the configuration names as deciders may send it.`,
	},
	{
		use: "demote WHO", short: "Puts a reviewer back into shadow", kind: protocol.KindReviewerDemote, subject: "participant_id",
		long: `demote lets a reviewer decide nothing any more, from the next envelope on. It goes
on writing opinions, and what it has shown before counts no more for its promotion.
--decision names a decision of the reviewer that was wrong: an approval counts as
a miss. It is not undone: a call that was made stays made. meup proposals reject
does the same by the id of the proposal. To demote one in shadow is no error: its
promotion then counts from that time on.`,
		example: `  meup reviewers demote rev --reason 'approved a deletion'
  meup reviewers demote rev --decision 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f`,
	},
}

// Reviewers returns the command reviewers.
func Reviewers(s *connect.Settings, style styler) *cobra.Command {
	var since string
	var kinds, asJSON bool
	c := &cobra.Command{
		Use:   "reviewers",
		Short: "Shows how those who decide on proposals have done, and promotes reviewers",
		Long: `reviewers prints who decides on the proposals of a space, in the order in which they
are asked, and how each has done:

  COVERAGE      on how many of the proposals for it a reviewer had an opinion, or
                it decided; of rules, how many of the calls they let through; of
                people, on how many they decided
  MISSES        it approved, or would have, what a person rejected, changed or
                undid; of those on which both said something
  REJECTIONS    of the calls that people rejected and it judged, how many it would have rejected
  FALSE ALARMS  it rejected, or would have, what people approved
  SAVED         questions that people were not asked, or would not have been
  MEDIAN, P99   time from the proposal to the opinion or the decision

An opinion counts if it is the first one of the reviewer and precedes the decision.
A reviewer in shadow decides nothing. Below the table is what its promotion needs.

Exit codes: those of meup; 1 also if you may not see the deciders.`,
		Example: `  meup reviewers --since 7d --kinds
  meup reviewers --json | jq '.deciders[] | select(.type == "reviewer").score.misses'
  meup reviewers promote rev`,
		Args: program.NoArgs,
	}
	fl := c.Flags()
	fl.StringVar(&since, "since", "30d", "only proposals from then on: a day, a time (RFC 3339), or a duration before now")
	fl.BoolVar(&kinds, "kinds", false, "also by the kind of call: its tool, and the program of a command")
	fl.BoolVar(&asJSON, "json", false, "print the deciders as one JSON object")
	for i := range modes {
		c.AddCommand(newControl(s, &modes[i]))
	}
	c.RunE = connect.RunE(func(c *cobra.Command, _ []string) error {
		begin, err := program.Moment("since", since, time.Now())
		if err != nil {
			return err
		}
		colors, t, err := style.target(c, s)
		if err != nil {
			return err
		}
		list, err := t.API.Deciders(c.Context(), t.Space, begin)
		if err != nil {
			return err
		}
		if list.Partial {
			connect.Warn(c.ErrOrStderr(), "the log was not read back to %s: there may be older proposals", list.Since.Local().Format(time.DateTime))
		}
		if asJSON {
			return json.NewEncoder(termsafe.JSONWriter(c.OutOrStdout())).Encode(list)
		}
		if !list.Configured {
			connect.Warn(c.ErrOrStderr(), "the configuration of the space names no deciders: whoever has the right to decide does")
		}
		out := bufio.NewWriter(c.OutOrStdout())
		if err := writeDeciders(out, list.Deciders, kinds); err != nil {
			return err
		}
		for i := range list.Deciders {
			for _, note := range notes(&list.Deciders[i], connect.Given(c.Flags())) {
				fmt.Fprintf(out, "%s: %s\n", colors.Paint(colors.Name, deciderName(&list.Deciders[i])), note)
			}
		}
		return out.Flush()
	})
	return c
}

// writeDeciders prints the scores as a table.
func writeDeciders(out io.Writer, list []api.Decider, kinds bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DECIDER\tMODE\tCOVERAGE\tMISSES\tREJECTIONS\tFALSE ALARMS\tSAVED\tMEDIAN\tP99")
	for i := range list {
		d := &list[i]
		mode, tally := d.Mode, new(api.Tally)
		if d.AfterSeconds > 0 {
			mode = "after " + textutil.Duration(time.Duration(d.AfterSeconds*float64(time.Second)))
		}
		if d.Score != nil {
			tally = &d.Score.Tally
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", deciderName(d), mode, tallyCells(d.Type, tally))
		if !kinds || d.Score == nil {
			continue
		}
		for k := range d.Score.Kinds {
			kind := &d.Score.Kinds[k]
			fmt.Fprintf(w, "  %s\t\t%s\n", termsafe.Cut(termsafe.Exact(kind.Kind), 60), tallyCells(d.Type, &kind.Tally))
		}
	}
	return w.Flush()
}

func deciderName(d *api.Decider) string {
	switch {
	case d.ID != "":
		return termsafe.Words(string(d.ID))
	case d.Pattern != "":
		return termsafe.Words(d.Pattern)
	}
	return "rules"
}

// tallyCells returns the cells of a score; "-" where a decider of the type has nothing to count.
func tallyCells(deciderType string, t *api.Tally) string {
	misses, rejections, alarms, saved, median, p99 := "-", "-", "-", "-", "-", "-"
	if deciderType == "reviewer" {
		misses, rejections = share(t.Misses, t.Compared), share(t.AgreedRejections, t.PersonRejections)
		alarms = fmt.Sprint(t.FalseAlarms)
	}
	if deciderType != "person" {
		saved = fmt.Sprint(t.Saved)
	}
	if deciderType != "rules" && t.Covered > 0 {
		median, p99 = took(t.LatencyP50), took(t.LatencyP99)
	}
	return strings.Join([]string{share(t.Covered, t.Proposals), misses, rejections, alarms, saved, median, p99}, "\t")
}

// share formats a part of a number: "6 of 8".
func share(part, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", part, of)
}

func took(seconds float64) string {
	return textutil.Took(time.Duration(seconds * float64(time.Second)))
}

// notes returns what is said about a reviewer below the table. flags are those of the connection.
func notes(d *api.Decider, flags string) (lines []string) {
	if c := d.Changed; c != nil {
		verb := "demoted"
		if c.Mode == api.ModeDecide {
			verb = "promoted"
		}
		line := fmt.Sprintf("%s by %s at %s", verb, termsafe.Words(string(c.By)), c.At.Local().Format(time.DateTime))
		if c.Undone != "" {
			line += ", for its decision " + string(c.Undone)
		}
		if c.Reason != "" {
			line += " (" + termsafe.Cut(termsafe.Words(c.Reason), 200) + ")"
		}
		lines = append(lines, line)
	}
	switch p := d.Promotion; {
	case p == nil:
	case p.Missing != "":
		lines = append(lines, "cannot be promoted yet: "+termsafe.Words(p.Missing))
	case p.MayPromote:
		lines = append(lines, "can be promoted: meup reviewers promote "+termsafe.Words(string(d.ID))+flags)
	default:
		lines = append(lines, "can be promoted by the people who decide")
	}
	return lines
}

// changeMode sends a promotion or a demotion, and says if it has changed nothing.
func changeMode(c *cobra.Command, t *connect.Target, f *controlFlags, e protocol.Envelope) error {
	id := protocol.ParticipantIn(e.ParsePayload(), "participant_id")
	mode := ""
	before, err := t.API.Deciders(c.Context(), t.Space, time.Now()) // the modes matter, and no score
	if err == nil {                                                 // else the gateway says what is wrong
		i := slices.IndexFunc(before.Deciders, func(d api.Decider) bool { return d.Type == "reviewer" && d.ID == id })
		if i >= 0 {
			mode = before.Deciders[i].Mode
		}
	}
	err = Send(c, t, e, f.json)
	who := termsafe.Words(string(id))
	switch {
	case f.decision != "" && errors.Is(err, &protocol.Error{Code: protocol.CodeProposalMismatch}):
		return fmt.Errorf("%s is no decision of %s: --decision takes the id of its request or its rejection, which meup audit --participant %[2]s --json has; leave it out to demote %[2]s without one", f.decision, who)
	case err != nil:
		return err
	case e.Kind == protocol.KindReviewerDemote && mode == api.ModeShadow:
		connect.Warn(c.ErrOrStderr(), "%s was in shadow already; its next promotion counts from now on", who)
	case e.Kind == protocol.KindReviewerPromote && mode == api.ModeDecide:
		connect.Warn(c.ErrOrStderr(), "%s decided already", who)
	}
	return nil
}

// undo returns the demotion of the reviewer that has approved a proposal, which names that decision;
// nil: it was not a reviewer that approved it.
func undo(ctx context.Context, t *connect.Target, p *api.Proposal, reason string) (*protocol.Envelope, error) {
	if p.State != string(exchange.Fulfilled) || p.SettledBy == nil {
		return nil, nil //nolint:nilnil // documented
	}
	page, err := t.API.Decisions(ctx, t.Space, api.DecisionQuery{Proposal: p.Envelope.ID, Limit: 1})
	if err != nil || len(page.Decisions) == 0 || page.Decisions[0].Decided.Decider != exchange.ByReviewer {
		return nil, err
	}
	payload, err := json.Marshal(map[string]any{"participant_id": p.SettledBy.From, "reason": reason})
	return &protocol.Envelope{
		Kind: protocol.KindReviewerDemote, Correlation: protocol.CorrelateTo(p.SettledBy.ID), Payload: payload,
	}, err
}
