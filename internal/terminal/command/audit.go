package command

import (
	"bufio"
	"encoding/json"
	"slices"
	"strings"
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

// Audit returns the command audit.
func Audit(s *connect.Settings, style styler) *cobra.Command {
	var since, participant, tool string
	var limit int
	var asJSON bool
	c := &cobra.Command{
		Use:   "audit",
		Short: "Shows who or what let each call through",
		Long: `audit prints what became of the calls of a space, one per line and the newest last:
who wanted the call, who or what decided on it, the policy that was in force, and
what the policy of today says about the same call.

allowed by the rule or the grant: the call was made at once, by a capability of the
configuration or a granted one. allowed by a rule of the space: by one of its
deciders, in place of a question. approved, rejected: by a participant, on a proposal;
late: the proposal had expired, or the reasoning that it belongs to had ended.
called wrong by: a person has said so later, and demoted the reviewer that decided.

The policy is the beginning of the digest of what the configuration says about the
participants of the space. Two calls with the same one were decided under the same
configuration. Capabilities, and what today's policy says, are shown for your own
calls; participants that observe the space or may change rights see those of all.
--json has the whole digests and capabilities, and the digest of each call.

Exit codes: those of meup; 0 also if there is no decision.`,
		Example: `  meup audit
  meup audit --since 168h --participant claude
  meup audit --tool delete_file --json | jq -r .decided.rule`,
		Args: program.NoArgs,
	}
	fl := c.Flags()
	fl.StringVar(&since, "since", "24h", "only decisions from then on: a day, a time (RFC 3339), or a duration before now")
	fl.StringVar(&participant, "participant", "", "only calls that this participant wanted, decided on or runs")
	fl.StringVar(&tool, "tool", "", "only calls of this tool, or of this method")
	fl.IntVar(&limit, "limit", 100, "number of decisions, the newest ones; 0: all")
	fl.BoolVar(&asJSON, "json", false, "print one JSON object per decision")
	c.RunE = connect.RunE(func(c *cobra.Command, _ []string) error {
		if limit < 0 {
			return program.Usagef("--limit must not be negative")
		}
		begin, err := program.Moment("since", since, time.Now())
		if err != nil {
			return err
		}
		colors, t, err := style.target(c, s)
		if err != nil {
			return err
		}
		partial := false
		list, _, more, err := connect.Pages(limit, func(limit int, before protocol.Seq) ([]api.CallDecision, protocol.Seq, bool, error) {
			page, err := t.API.Decisions(c.Context(), t.Space, api.DecisionQuery{
				Since: begin, Before: before, Limit: limit, Participant: protocol.ParticipantID(participant), Tool: tool,
			})
			if err != nil {
				return nil, 0, false, err
			}
			partial = page.Partial
			return page.Decisions, page.Next, page.HasMore, nil
		})
		if err != nil {
			return err
		}
		switch {
		case len(list) == 0:
			connect.Warn(c.ErrOrStderr(), "no decisions")
		case more:
			connect.Warn(c.ErrOrStderr(), "there are older decisions: --limit 0 prints all")
		}
		if partial {
			connect.Warn(c.ErrOrStderr(), "the log was not read to its beginning: there may be older decisions")
		}
		out := bufio.NewWriter(c.OutOrStdout())
		lines := json.NewEncoder(termsafe.JSONWriter(out))
		slices.Reverse(list)
		for i := range list {
			if !asJSON {
				_, err = out.WriteString(auditLine(&list[i], colors) + "\n")
			} else {
				err = lines.Encode(&list[i])
			}
			if err != nil {
				return err
			}
		}
		return out.Flush()
	})
	return c
}

// policyShown is how many digits of a policy's digest are shown.
const policyShown = 16

// argumentsShown bounds the arguments of a call on a line, in characters.
const argumentsShown = 80

// auditLine describes a decision on one line.
func auditLine(x *api.CallDecision, s block.Style) string {
	call := s.Paint(s.Name, termsafe.Words(string(x.Caller))) + " → "
	if x.Host != "" && x.Host != x.Caller {
		call += termsafe.Words(string(x.Host)) + " "
	}
	parts := []string{
		s.Paint(s.Dim, x.At.Local().Format(time.DateTime)) + "  " + call + s.Paint(s.Tool, termsafe.Cut(termsafe.Exact(x.Tool), 100)),
		auditOutcome(x),
	}
	if x.Arguments != "" && x.Arguments != "{}" {
		parts[0] += " " + termsafe.Cut(termsafe.Exact(x.Arguments), argumentsShown)
	}
	if u := x.Undone; u != nil {
		undone := "called wrong by " + termsafe.Words(string(u.By))
		if u.Reason != "" {
			undone += " (" + termsafe.Cut(termsafe.Words(u.Reason), 200) + ")"
		}
		parts = append(parts, undone)
	}
	if x.Decided.Rule != "" {
		parts = append(parts, termsafe.Exact(x.Decided.Rule))
	}
	if x.Decided.Policy != "" {
		parts = append(parts, "policy "+x.Decided.Policy[:min(policyShown, len(x.Decided.Policy))])
	}
	if x.Today != nil {
		parts = append(parts, "today: "+x.Today.Verdict)
	}
	return strings.Join(parts, s.Paint(s.Dim, " · "))
}

// auditOutcome says what became of a call, and through whom or what.
func auditOutcome(x *api.CallDecision) string {
	who := termsafe.Words(string(x.Decided.Participant))
	if x.Decided.Decider == exchange.ByReviewer {
		who = "reviewer " + who
	}
	when := " in time"
	if x.Decided.When == "late" {
		when = " late"
	}
	switch {
	case x.Outcome == "made" && x.Decided.By == "participant" && x.Edited:
		return "approved with changes by " + who + when
	case x.Outcome == "made" && x.Decided.By == "participant":
		return "approved by " + who + when
	case x.Outcome == "made" && x.Decided.By == "unknown":
		return "made at once; why is not in the log"
	case x.Outcome == "made" && x.Decided.By == "grant":
		return strings.TrimSpace("allowed by a grant " + termsafe.Words(string(x.Decided.Grant)))
	case x.Outcome == "made" && x.Decided.Decider == exchange.ByRule:
		return "allowed by a rule of the space"
	case x.Outcome == "made":
		return "allowed by a rule"
	case x.Decided.By == "participant":
		text := x.Outcome + " by " + who + when
		if x.Reason != "" {
			text += " (" + termsafe.Cut(termsafe.Words(x.Reason), 200) + ")"
		}
		return text
	}
	return "expired without a decision"
}
