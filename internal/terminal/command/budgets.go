package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/protocol"
)

// Budgets returns the command budgets.
func Budgets(s *connect.Settings, style styler) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "budgets",
		Short: "Shows what participants may use today, and have used",
		Long: `budgets prints what participants have used today, of how much. A day is one by UTC,
and the time at the end of a line is when the next one begins here. Shown are the
budget of the space, your own, and those of all participants if you may extend a
budget or see all rights. The configuration sets budgets, and not everybody has one.

When a budget is used up, calls of tools have to be proposed ("calls have to be
proposed") until somebody extends it with meup budgets extend, or the day ends.
Calls are counted by the gateway; tokens and costs are what programs report.
uncounted is how many of their reports could not be read, or lack what is limited:
more was used than is shown.

Exit codes: those of meup; 0 also if there is no budget.`,
		Example: `  meup budgets
  meup budgets extend '1 USD' coder --reason 'the release'
  meup budgets --json | jq -r '.budgets[] | select(.asks) | .participant_id // "the space"'`,
		Args: program.NoArgs,
		RunE: connect.RunE(func(c *cobra.Command, _ []string) error {
			colors, t, err := style.target(c, s)
			if err != nil {
				return err
			}
			list, err := t.API.Budgets(c.Context(), t.Space)
			if err != nil {
				return err
			}
			out := bufio.NewWriter(c.OutOrStdout())
			if asJSON {
				err = json.NewEncoder(termsafe.JSONWriter(out)).Encode(list)
			} else {
				for i := range list.Budgets {
					fmt.Fprintln(out, budgetLine(&list.Budgets[i], list.Until, colors))
				}
			}
			if len(list.Budgets) == 0 {
				connect.Warn(c.ErrOrStderr(), "no budgets")
			}
			return cmp.Or(err, out.Flush())
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	c.AddCommand(newExtend(s))
	return c
}

// budgetLine describes a budget on one line.
func budgetLine(b *api.Budget, until time.Time, s block.Style) string {
	name := "the space"
	if b.ID != "" {
		name = termsafe.Words(string(b.ID))
	}
	var parts []string
	quantity := func(q *api.Quantity, unit string, number func(float64) string) {
		if q == nil {
			return
		}
		text := number(q.Used) + " of " + number(q.Limit) + " " + unit
		if q.Extended > 0 {
			text += " (" + number(q.Extended) + " more than configured)"
		}
		parts = append(parts, text)
	}
	whole := func(n float64) string { return textutil.Thousands(int64(n)) }
	quantity(b.Cost, termsafe.Words(b.Currency), func(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) })
	quantity(b.Tokens, "tokens", whole)
	quantity(b.Calls, "calls", whole)
	if b.Uncounted > 0 {
		parts = append(parts, textutil.Thousands(b.Uncounted)+" uncounted")
	}
	if b.Asks != "" {
		parts = append(parts, s.Paint(s.Bad, "calls have to be proposed"))
	}
	return s.Paint(s.Name, name) + "  " + strings.Join(append(parts, "until "+until.Local().Format("15:04")), s.Paint(s.Dim, " · "))
}

func newExtend(s *connect.Settings) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "extend AMOUNT [PARTICIPANT]",
		Short: "Adds to a budget for the rest of the day",
		Long: `extend adds an amount such as '1 USD', '100000 tokens' or '20 calls' to what a
participant may use today, or without one all participants of the space together. The
amount has to be of something that the budget limits, and in its currency. You need
the capability budget.extend, and nobody extends its own budget. meup approve --extend
does it together with the approval of a call. The output is the id and the seq of the
extension: ID SEQ.

Exit codes: those of meup.`,
		Example: `  meup budgets extend '1 USD' coder
  meup budgets extend '100000 tokens'`,
		Args: program.Args("AMOUNT", "[PARTICIPANT]"),
		RunE: connect.RunE(func(c *cobra.Command, args []string) error {
			more, err := parseAmount(args[0])
			if err != nil {
				return err
			}
			if len(args) == 2 {
				more.Participant = protocol.ParticipantID(args[1])
				if !protocol.ValidParticipantID(args[1]) {
					return program.Usagef("%q is not the id of a participant", args[1])
				}
			}
			more.Reason = reason
			t, err := s.Target(c)
			if err != nil {
				return err
			}
			return Send(c, t, more.envelope(protocol.Correlation{}), false)
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for people to read")
	return c
}

// budgetExtension is the payload of a budget.extend.
type budgetExtension struct {
	Participant protocol.ParticipantID `json:"participant_id,omitempty"`
	Tokens      int64                  `json:"tokens,omitempty"`
	Calls       int64                  `json:"calls,omitempty"`
	Cost        float64                `json:"cost,omitempty"`
	Currency    string                 `json:"currency,omitempty"`
	Reason      string                 `json:"reason,omitempty"`
}

// parseAmount parses an amount such as "1 USD", "100000 tokens" or "20 calls".
func parseAmount(text string) (x budgetExtension, err error) {
	number, unit, _ := strings.Cut(strings.TrimSpace(text), " ")
	unit = strings.TrimSpace(unit)
	switch {
	case unit == "tokens":
		x.Tokens, err = strconv.ParseInt(number, 10, 64)
	case unit == "calls":
		x.Calls, err = strconv.ParseInt(number, 10, 64)
	case exchange.IsCurrency(unit):
		x.Currency = unit
		x.Cost, err = strconv.ParseFloat(number, 64)
	}
	if err != nil || x.Tokens <= 0 && x.Calls <= 0 && !(x.Cost > 0 && x.Cost <= exchange.MaxUsage) {
		return x, program.Usagef("%q is not an amount; write one such as '1 USD', '100000 tokens' or '20 calls'", text)
	}
	return x, nil
}

func (x *budgetExtension) envelope(of protocol.Correlation) protocol.Envelope {
	raw, err := json.Marshal(x)
	if err != nil {
		raw = json.RawMessage("{}") // not reached: it has texts and finite numbers
	}
	return protocol.Envelope{ID: newID(), Kind: protocol.KindBudgetExtend, Correlation: of, Payload: raw}
}

// extension returns the extension of the budget for which a proposed call is asked, and what it
// does in words.
func (f *approveFlags) extension(ctx context.Context, t *connect.Target, p *protocol.Envelope) (*protocol.Envelope, string, error) {
	more, err := parseAmount(f.extend)
	if err != nil {
		return nil, "", err
	}
	list, err := t.API.Budgets(ctx, t.Space)
	if err != nil {
		return nil, "", err
	}
	var asking []api.Budget // that of the proposer before that of the space
	for _, id := range []protocol.ParticipantID{p.From, ""} {
		for i := range list.Budgets {
			if b := &list.Budgets[i]; b.ID == id && b.Asks != "" {
				asking = append(asking, *b)
			}
		}
	}
	usedUp := func(q *api.Quantity) bool { return q != nil && q.Used >= q.Limit }
	found := slices.IndexFunc(asking, func(b api.Budget) bool { // of which something is used up that is extended
		return more.Tokens > 0 && usedUp(b.Tokens) || more.Calls > 0 && usedUp(b.Calls) || more.Cost > 0 && usedUp(b.Cost) && more.Currency == b.Currency
	})
	switch {
	case len(asking) == 0:
		return nil, "", fmt.Errorf("no budget of %s is used up; leave --extend out to approve this call alone", termsafe.Words(string(p.From)))
	case found < 0:
		return nil, "", fmt.Errorf("--extend '%s' would not help, and nothing was sent: %s", termsafe.Words(f.extend), termsafe.Words(asking[0].Asks))
	case !asking[found].MayExtend:
		return nil, "", errors.New("you may not extend this budget (budget.extend), and nothing was sent; leave --extend out to approve this call alone")
	}
	more.Participant = asking[found].ID
	more.Reason = "with the approval of " + string(p.ID)
	whose := termsafe.Words(string(cmp.Or(more.Participant, "the space")))
	out := more.envelope(protocol.CorrelateTo(p.ID))
	return &out, "the budget of " + whose + " is larger by " + termsafe.Words(f.extend) + " until " + list.Until.Local().Format("15:04"), nil
}
