package command

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/protocol"
)

func newListSpaces(s *connect.Settings) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "Lists the spaces of the gateway",
		Args: program.Args(),
		Long: `list prints the spaces in effect: the name, file or log for where it comes from, the
number of participants, and why it has no effect, if so.` + exitCodes,
		RunE: runAdmin(s, &asJSON, nil, func(_ context.Context, x *adminSession, _ []string) error {
			if x.json {
				return x.encode(x.directory)
			}
			return x.table("SPACE\tSOURCE\tPARTICIPANTS\tNOTE", func(row func(...any)) {
				for _, s := range x.directory.Spaces {
					note := s.Inactive
					if s.Name == x.directory.Administration {
						note = "the administrative space"
					}
					row(s.Name, s.Source, len(s.Participants), note)
				}
			})
		}),
	}
	jsonFlag(c, &asJSON, "print the directory as one JSON object")
	return c
}

func jsonFlag(c *cobra.Command, v *bool, usage string) { c.Flags().BoolVar(v, "json", false, usage) }

const receiptJSON = `print {"id":…,"seq":…}`

// table prints rows in columns.
func (x *adminSession) table(head string, rows func(row func(cells ...any))) error {
	w := tabwriter.NewWriter(x.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	rows(func(cells ...any) {
		for i, c := range cells {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, termsafe.Words(fmt.Sprint(c)))
		}
		fmt.Fprintln(w)
	})
	return w.Flush()
}

// moment formats a time for a table; "" for the zero time.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

// limits are the flags for limits that override the level above.
type limits struct{ values map[string]*float64 }

func (l *limits) register(fl *pflag.FlagSet) {
	l.values = map[string]*float64{
		"rate": fl.Float64("rate", 0, "envelopes per second; 0: no limit"), "burst": fl.Float64("burst", 0, "envelopes at once"),
		"connections": fl.Float64("connections", 0, "connections at the same time; 0: no limit"),
	}
}

// add adds the limits that were given to a payload.
func (l *limits) add(fl *pflag.FlagSet, payload map[string]any) {
	given := map[string]any{}
	for name, v := range l.values {
		if fl.Changed(name) {
			given[name] = *v
		}
	}
	if len(given) > 0 {
		payload["limits"] = given
	}
}

func newAddSpace(s *connect.Settings) *cobra.Command {
	var asJSON, replace bool
	var visibility, dialect, decide string
	var l limits
	c := &cobra.Command{
		Use: "add SPACE", Short: "Adds a space",
		Args: program.Args("SPACE"),
		Long: `add makes a space without participants. A space that was removed before has its old
log again. --replace changes the settings of a space that administration has
made; its participants stay.` + exitCodes,
		Example: "  meup admin spaces add team-blue --visibility everyone",
	}
	c.RunE = runAdmin(s, &asJSON, nil, func(ctx context.Context, x *adminSession, args []string) error {
		payload := map[string]any{"space": args[0], "if_absent": !replace}
		for name, v := range map[string]string{"visibility": visibility, "dialect": dialect, "decide": decide} {
			if v != "" {
				payload[name] = v
			}
		}
		l.add(c.Flags(), payload)
		r, err := x.send(ctx, protocol.KindAdminSpacePut, payload)
		if err != nil {
			return err
		}
		return x.print(adminResult{ID: r.ID, Seq: r.Seq})
	})
	fl := c.Flags()
	fl.StringVar(&visibility, "visibility", "", "who sees an envelope with recipients: addressed (default) or everyone")
	fl.StringVar(&dialect, "dialect", "", "of connections that name none: meup/v0.1 (default), meup/v0.2 or mew/v0.4")
	fl.StringVar(&decide, "decide", "", "who may decide on proposals: callers (default) or explicit")
	fl.BoolVar(&replace, "replace", false, "replace the settings if the space exists")
	l.register(fl)
	jsonFlag(c, &asJSON, receiptJSON)
	return c
}

func newRemoveSpace(s *connect.Settings) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "remove SPACE", Short: "Removes a space with its participants and tokens",
		Args: program.Args("SPACE"),
		Long: `remove removes a space that administration has made, with its participants and
tokens. Their connections are closed. The log of the space stays.` + exitCodes,
		RunE: runAdmin(s, &asJSON, nil, func(ctx context.Context, x *adminSession, args []string) error {
			if _, err := x.space(args[0]); err != nil {
				return err
			}
			r, err := x.send(ctx, protocol.KindAdminSpaceRemove, map[string]any{"space": args[0]})
			if err != nil {
				return err
			}
			return x.print(adminResult{ID: r.ID, Seq: r.Seq})
		}),
	}
	jsonFlag(c, &asJSON, receiptJSON)
	return c
}
