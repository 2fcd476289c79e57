package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/gateway/backtest"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/internal/journal/pebblejournal"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

type backtestFlags struct {
	config   string
	current  string
	space    string
	since    string
	data     string
	gateway  string
	tokenEnv string
	examples int
	json     bool

	hidden bool // the token may not read a policy in force
}

func newBacktest() *cobra.Command {
	var f backtestFlags
	c := &cobra.Command{
		Use:   "backtest --config NEW (--data DIR | --gateway URL)",
		Short: "Shows what another configuration would have decided over the log",
		Long: `backtest decides the envelopes of a log again, by the capabilities, the deciders and
the safety rules of another configuration, and shows what would have been
different: calls that nobody would have been asked about, that would have been
refused, or that somebody would have been asked about first, and texts that would
have been masked. They are grouped by the rule that decides, with examples; what
people decided otherwise comes first. It changes nothing, and a difference is no
error.

With --data it reads the log of a stopped gateway, by default from the data folder
of the configuration. With --gateway it reads from a running one what the token's
participant may see; one with the capability observe sees all.

An envelope is different if the new configuration says something else than what
happened, and something else than the configuration in force says, so that older
changes are not blamed on the new one. The configuration in force is the one that
the gateway has stored in its data folder. A running one shows it to participants
that observe the space or may change rights; with the token of another one, name it
with --current, or the comparison is with what happened alone.`,
		Example: "  meup-gateway backtest --config new.yaml --since 30d --data /var/lib/meup\n" +
			"  meup-gateway backtest --config new.yaml --current meup.yaml --space lab --gateway http://127.0.0.1:8080 --token-env ALICE_TOKEN --json",
		Args: program.Args(),
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "", "the other configuration (required)")
	fl.StringVar(&f.current, "current", "", "the configuration in force (default: the one that the gateway has stored)")
	fl.StringVar(&f.space, "space", "", "space (default: all of the log)")
	fl.StringVar(&f.since, "since", "", "only envelopes from then on: a day, a time (RFC 3339), a duration before now (24h, 30d), or the id of an envelope")
	f.registerLog(fl)
	fl.IntVar(&f.examples, "examples", 3, "examples of a group")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		cfg, log, done, err := f.openConfigured(c.ErrOrStderr())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, done()) }()
		report, err := f.compare(c.Context(), cfg, log, c.ErrOrStderr())
		if c.Context().Err() != nil && err != nil {
			return program.ErrInterrupted
		}
		if err != nil {
			return err
		}
		for i := range report.Groups {
			for j := range report.Groups[i].Examples {
				x := &report.Groups[i].Examples[j]
				x.Open = f.howToOpen(report.Groups[i].Space, x.ID, x.Seq)
			}
		}
		if f.json {
			return printJSON(c.OutOrStdout(), report)
		}
		return printBacktest(c.OutOrStdout(), report, f.hidden)
	}
	return c
}

// registerLog adds the flags that name the log and the form of the output.
func (f *backtestFlags) registerLog(fl *pflag.FlagSet) {
	fl.StringVar(&f.data, "data", "", "data folder of a stopped gateway (default: the one of the configuration)")
	fl.StringVar(&f.gateway, "gateway", "", "base URL of a running gateway")
	fl.StringVar(&f.tokenEnv, "token-env", "MEUP_TOKEN", "environment variable with the token, for --gateway")
	fl.BoolVar(&f.json, "json", false, "print JSON")
}

func printJSON(w io.Writer, v any) error {
	out := json.NewEncoder(termsafe.JSONWriter(w))
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

// openConfigured reads the configuration and opens the log.
func (f *backtestFlags) openConfigured(stderr io.Writer) (*config.Config, journal.Reader, func() error, error) {
	switch {
	case f.config == "":
		return nil, nil, nil, program.Usagef("--config FILE is required")
	case f.data != "" && f.gateway != "":
		return nil, nil, nil, program.Usagef("use either --data or --gateway, not both")
	case f.examples < 0:
		return nil, nil, nil, program.Usagef("--examples must not be negative")
	case f.space != "" && !protocol.ValidSpaceName(f.space):
		return nil, nil, nil, program.Usagef("--space requires the name of a space")
	}
	cfg, err := loadForLog(f.config, stderr)
	if err != nil {
		return nil, nil, nil, err
	}
	if f.gateway == "" {
		f.data = cmp.Or(f.data, cfg.Data)
		if f.data == gateway.InMemory || f.data == cfg.Data && cfg.NATS != "" {
			return nil, nil, nil, fmt.Errorf("%s stores the log outside of a folder: use --gateway", f.config)
		}
	}
	log, done, err := f.open(stderr)
	return cfg, log, done, err
}

// compare runs the backtest of one space, or of all that the log has.
func (f *backtestFlags) compare(ctx context.Context, cfg *config.Config, log journal.Reader, stderr io.Writer) (*api.Backtest, error) {
	names, err := log.Spaces(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the spaces of the log: %w", err)
	}
	if f.space != "" {
		if !slices.Contains(names, f.space) {
			return nil, fmt.Errorf("the log has no space %q", f.space)
		}
		names = []string{f.space}
	}
	var all *api.Backtest
	for _, name := range names {
		o := backtest.Options{Log: log, Space: name, Examples: f.examples, Partial: f.gateway != "", Progress: progressTo(stderr)}
		found, err := f.begin(ctx, &o)
		if err != nil {
			return nil, err
		}
		if !found { // the space does not have the envelope of --since
			continue
		}
		inForce, err := policyAt(ctx, log, name)
		hidden := errors.Is(err, backtest.ErrPolicyHidden)
		f.hidden = f.hidden || hidden
		if err != nil && !hidden {
			return nil, err
		}
		o.Current, err = f.inForce(name, inForce, stderr)
		if err != nil {
			return nil, err
		}
		o.New, err = gateway.BacktestPolicy(cfg, name, inForce)
		if err != nil {
			return nil, err
		}
		r, err := backtest.Run(ctx, o)
		switch {
		case errors.Is(err, backtest.ErrNoSpace) && f.space == "":
			fmt.Fprintf(stderr, "The configuration has no space %s, which is not compared.\n", name)
		case errors.Is(err, backtest.ErrNoSpace):
			return nil, fmt.Errorf("the configuration has no space %q", name)
		case err != nil:
			return nil, err
		case all == nil:
			all = r
		default:
			backtest.Add(all, r)
		}
	}
	if all == nil && f.since != "" && len(names) > 0 {
		return nil, program.Usagef("--since %q is no time, and the log has no envelope with this id", f.since)
	}
	if all == nil {
		return nil, errors.New("the log has no space of the configuration")
	}
	return all, nil
}

func (f *backtestFlags) open(stderr io.Writer) (journal.Reader, func() error, error) {
	if f.gateway != "" {
		token := os.Getenv(f.tokenEnv)
		if token == "" {
			return nil, nil, fmt.Errorf("the environment variable %s is not set: it must contain the token", f.tokenEnv)
		}
		remote, err := backtest.OpenRemote(f.gateway, token)
		if err != nil {
			return nil, nil, program.Usagef("--gateway, --token-env: %w", err)
		}
		return remote, func() error { remote.Close(); return nil }, nil
	}
	dir := filepath.Join(f.data, "log")
	if _, err := os.Stat(dir); err != nil {
		return nil, nil, fmt.Errorf("no log in %s: %w", f.data, err)
	}
	stored, err := pebblejournal.OpenStored(dir, program.TextLogger(stderr, slog.LevelWarn))
	if errors.Is(err, entrydb.ErrInUse) {
		return nil, nil, fmt.Errorf("the log in %s is in use by a running gateway: stop it, or use --gateway URL and --token-env NAME", f.data)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open the log: %w", err)
	}
	return stored.Reader(), stored.Close, nil
}

// policyAt returns the policy in force at a running gateway; nil: the log is of a stopped one. The
// error is backtest.ErrPolicyHidden if the token may not read it.
func policyAt(ctx context.Context, log journal.Reader, space string) (*api.Policy, error) {
	remote, ok := log.(*backtest.Remote)
	if !ok {
		return nil, nil //nolint:nilnil // there is none
	}
	return remote.Policy(ctx, space)
}

// inForce returns the configuration in force; nil if it is not known.
func (f *backtestFlags) inForce(space string, remote *api.Policy, stderr io.Writer) (*backtest.Policy, error) {
	switch {
	case f.current != "":
		cfg, err := loadForLog(f.current, stderr)
		if err != nil {
			return nil, err
		}
		return gateway.BacktestPolicy(cfg, space, remote)
	case remote != nil:
		return gateway.RemotePolicy(remote, space)
	case f.gateway != "":
		return nil, nil //nolint:nilnil // it is not known
	}
	return gateway.StoredPolicy(f.data, space)
}

// begin sets where the comparison begins. It reports false if --since is the id of an
// envelope that the space does not have.
func (f *backtestFlags) begin(ctx context.Context, o *backtest.Options) (bool, error) {
	begin, err := program.Moment("since", f.since, time.Now())
	if err == nil {
		o.Since = begin
		return true, nil
	}
	if !protocol.ValidID(f.since) {
		return false, program.Usage(err)
	}
	first, err := o.Log.Lookup(ctx, o.Space, protocol.ID(f.since))
	if errors.Is(err, journal.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	o.After = first.Envelope.Seq - 1
	return true, nil
}

// progressTo returns a function that reports the progress at a terminal; nil if w is none.
func progressTo(w io.Writer) func(int) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(file.Fd()) {
		return nil
	}
	return func(n int) { fmt.Fprintf(w, "%s …\n", textutil.Count(n, "envelope")) }
}

// howToOpen returns how to read an envelope: its address in the page, or a command.
func (f *backtestFlags) howToOpen(space string, id protocol.ID, seq protocol.Seq) string {
	if f.gateway != "" {
		return fmt.Sprintf("%s/#/space/%s/m/%s", strings.TrimRight(f.gateway, "/"), space, id)
	}
	return fmt.Sprintf("meup-gateway export --space %s --data %s --since %d | head -n 1", textutil.ShellWord(space), textutil.ShellWord(f.data), seq-1)
}

// printBacktest prints a report for people. hidden: the token may not read a policy in force.
func printBacktest(w io.Writer, r *api.Backtest, hidden bool) error {
	var out strings.Builder
	noun := "Space"
	if len(r.Spaces) > 1 {
		noun = "Spaces"
	}
	fmt.Fprintf(&out, "%s %s: %s", noun, strings.Join(r.Spaces, ", "), textutil.Count(r.Envelopes, "envelope"))
	if r.Envelopes > 0 {
		fmt.Fprintf(&out, ", %s to %s", r.From.Format(time.RFC3339), r.To.Format(time.RFC3339))
	}
	fmt.Fprintf(&out, "\n%s\n", r.Summary)
	switch {
	case r.Baseline != backtest.BaselineRecord:
	case hidden:
		fmt.Fprintln(&out, "This is compared with what happened alone, since the participant of the token may not read the policy in force.\n"+
			"Use the token of one that observes the space or may change rights, or name the configuration in force with --current FILE.")
	default:
		fmt.Fprintln(&out, "This is compared with what happened alone, since the configuration in force is not known: name it with --current FILE.")
	}
	if r.Unseen > 0 {
		fmt.Fprintf(&out, "%s not visible to the token. A grant among them is not known here; use the token of a participant with the capability observe.\n", were(r.Unseen, "entry", "entries"))
	}
	if r.Unjudged > 0 {
		fmt.Fprintf(&out, "%s could not be compared: what decides about them is not in the log any more.\n", textutil.Count(r.Unjudged, "envelope"))
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		fmt.Fprintf(&out, "\n%s: %s %s from %s\n", title(g), textutil.Thousands(int64(g.Count)), g.Kind, g.Participant)
		if len(r.Spaces) > 1 {
			fmt.Fprintf(&out, "  in space %s\n", g.Space)
		}
		switch {
		case g.Rule != "" && g.Why != "":
			fmt.Fprintf(&out, "  by %s: %s\n", g.Rule, g.Why)
		case g.Rule != "":
			fmt.Fprintf(&out, "  by %s\n", g.Rule)
		case g.Why != "":
			fmt.Fprintf(&out, "  %s\n", g.Why)
		}
		if g.Before != "" {
			fmt.Fprintf(&out, "  in force: admitted by %s\n", g.Before)
		}
		for _, x := range g.Examples {
			fmt.Fprintf(&out, "  %s  %s  %s", x.TS.Format(time.RFC3339), x.ID, x.What)
			if x.Approved != "" {
				fmt.Fprintf(&out, "  (approved by %s)", x.Approved)
			}
			if x.Rejected != "" {
				fmt.Fprintf(&out, "  (rejected by %s", x.Rejected)
				if x.Reason != "" {
					fmt.Fprintf(&out, ": %s", x.Reason)
				}
				out.WriteString(")")
			}
			fmt.Fprintf(&out, "\n    %s\n", x.Open)
		}
	}
	_, err := io.WriteString(w, termsafe.Text(out.String()))
	return err
}

func were(n int, one, more string) string {
	if n == 1 {
		return "1 " + one + " was"
	}
	return textutil.Thousands(int64(n)) + " " + more + " were"
}

func title(g *api.BacktestGroup) string {
	switch {
	case g.Outcome == backtest.Allowed && len(g.RejectedBy) > 0:
		return "Let through although rejected"
	case g.Outcome == backtest.Allowed:
		return "Allowed without a question"
	case len(g.ApprovedBy) > 0:
		return "Refused although approved"
	case len(g.RejectedBy) > 0:
		return "Refused without a question"
	case g.Outcome == backtest.Asked:
		return "Asked instead of allowed"
	case g.Outcome == backtest.Masked:
		return "Masked"
	case g.Outcome == backtest.Unmasked:
		return "No longer masked"
	}
	return "Refused"
}
