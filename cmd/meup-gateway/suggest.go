package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/gateway/backtest"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/gateway/suggest"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

type suggestFlags struct {
	backtestFlags
	min       int
	approvers []string
	never     []string
	unused    string
	only      []string
	write     string
	force     bool
}

func newSuggest() *cobra.Command {
	var f suggestFlags
	c := &cobra.Command{
		Use:   "suggest --config FILE (--data DIR | --gateway URL)",
		Short: "Suggests rules from what people approved and rejected",
		Long: `suggest reads what people approved and rejected, and derives rules with which they
would have been asked less: capabilities for what was only approved, deny rules of
the deciders for what was only rejected, and rights to remove because nobody used
them. Each suggestion is printed with its id, the decisions for and against it, and
the lines for the configuration. Nothing is changed.

To accept suggestions, let it write a new configuration, look at it, and put it in
force as you do with any other:

  meup-gateway suggest … --only 3f2ab91c,64e5507d --write new.yaml
  meup-gateway check --config new.yaml
  meup-gateway backtest --config new.yaml …

A rule needs --min approvals by others than the proposer; --approver says whose
approvals count. Every rule has passed a backtest: the configuration with the rule
decides the same log again. Commands and tools that destroy or send something are
left to people, however often they were approved; --never names further tools.

With --data it reads the log of a stopped gateway, by default from the data folder
of the configuration. With --gateway it reads from a running one what the token's
participant may see; one with the capability observe sees all.`,
		Example: "  meup-gateway suggest --config meup.yaml --data /var/lib/meup\n" +
			"  meup-gateway suggest --config meup.yaml --data /var/lib/meup --only 3f2ab91c --write new.yaml\n" +
			"  meup-gateway suggest --config meup.yaml --gateway http://127.0.0.1:8080 --token-env ALICE_TOKEN --since 30d --json",
		Args: program.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return runSuggest(c.Context(), f, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "", "the configuration in force (required)")
	fl.StringVar(&f.space, "space", "", "space (default: the only one of the configuration in the log)")
	fl.StringVar(&f.since, "since", "", "only decisions from then on: a day, a time (RFC 3339), a duration before now (24h, 30d), or the id of an envelope")
	f.registerLog(fl)
	fl.IntVar(&f.min, "min", 3, "approvals that a rule needs, or rejections that a deny rule needs")
	fl.StringSliceVar(&f.approvers, "approver", nil, "participant whose approvals count (default: all but the proposer)")
	fl.StringSliceVar(&f.never, "never", nil, "tool for which no rule is suggested, such as 'billing_*'")
	fl.StringVar(&f.unused, "unused", "30d", "list rights that were not used since then: a day, a time, or a duration before now; empty: none")
	fl.StringVar(&f.write, "write", "", "write the configuration with the suggestions to this file, which must be new")
	fl.StringSliceVar(&f.only, "only", nil, "ids of the suggestions to print and write (default: all)")
	fl.BoolVar(&f.force, "force", false, "let --write replace an existing file, though never the configuration itself")
	fl.IntVar(&f.examples, "examples", 3, "examples for and against a rule")
	return c
}

func runSuggest(ctx context.Context, f suggestFlags, stdout, stderr io.Writer) (err error) {
	switch {
	case f.min < 1:
		return program.Usagef("--min must be at least 1")
	case f.force && f.write == "":
		return program.Usagef("--force is for --write FILE")
	}
	if err := checkTarget(f.config, f.write, f.force); err != nil {
		return err
	}
	unused, err := program.Moment("unused", f.unused, time.Now())
	if err != nil {
		return err
	}
	cfg, log, done, err := f.openConfigured(stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	space, err := f.pickSpace(ctx, cfg, log)
	if err != nil {
		return err
	}
	begin := backtest.Options{Log: log, Space: space}
	found, err := f.begin(ctx, &begin)
	if err == nil && !found {
		err = program.Usagef("--since %q is no time, and the space has no envelope with this id", f.since)
	}
	if err != nil {
		return err
	}
	o := suggest.Options{
		Log: log, Space: space, Partial: f.gateway != "", Since: begin.Since, After: begin.After, Now: time.Now(), Min: f.min, Never: f.never,
		UnusedSince: unused, Only: f.only, Examples: f.examples, Progress: progressTo(stderr),
	}
	for _, id := range f.approvers {
		o.Approvers = append(o.Approvers, protocol.ParticipantID(id))
	}
	inForce, err := policyAt(ctx, log, space)
	if err != nil && !errors.Is(err, backtest.ErrPolicyHidden) { // the configuration is that of --config
		return err
	}
	o.Policy, err = gateway.BacktestPolicy(cfg, space, inForce)
	if err != nil {
		return err
	}
	report, err := suggest.Run(ctx, o)
	var unknown *suggest.UnknownError
	switch {
	case errors.As(err, &unknown):
		return program.Usagef("--only: %w", err)
	case errors.Is(err, backtest.ErrNoSpace):
		return fmt.Errorf("the configuration has no space %q", space)
	case ctx.Err() != nil && err != nil:
		return program.ErrInterrupted
	case err != nil:
		return err
	}
	for i := range report.Suggestions {
		f.addOpenCalls(space, report.Suggestions[i].For, report.Suggestions[i].Against)
	}
	for i := range report.People {
		f.addOpenCalls(space, report.People[i].For, report.People[i].Against)
	}
	if f.json {
		err = printJSON(stdout, report)
	} else {
		err = printSuggestions(stdout, report, len(f.only) > 0)
	}
	if err != nil || f.write == "" {
		return err
	}
	n, err := writeSuggestions(f.config, f.write, f.force, report)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%s has the configuration with %s of %d. It is not in force.\n", f.write, textutil.Count(n, "suggestion"), len(report.Suggestions))
	return nil
}

// addOpenCalls adds how to read the calls of some lists.
func (f *suggestFlags) addOpenCalls(space string, lists ...[]api.DecidedCall) {
	for _, list := range lists {
		for i := range list {
			list[i].Open = f.howToOpen(space, list[i].ID, list[i].Seq)
		}
	}
}

// pickSpace returns the space of the log to look at.
func (f *suggestFlags) pickSpace(ctx context.Context, cfg *config.Config, log journal.Reader) (string, error) {
	names, err := log.Spaces(ctx)
	if err != nil {
		return "", fmt.Errorf("list the spaces of the log: %w", err)
	}
	if f.space != "" {
		if !slices.Contains(names, f.space) {
			return "", fmt.Errorf("the log has no space %q", f.space)
		}
		return f.space, nil
	}
	names = slices.DeleteFunc(names, func(name string) bool { _, ok := cfg.Space(name); return !ok })
	switch len(names) {
	case 0:
		return "", errors.New("the log has no space of the configuration")
	case 1:
		return names[0], nil
	}
	return "", program.Usagef("--space is required: the log has the spaces %s", strings.Join(names, ", "))
}

// printSuggestions prints a report for people. some: it has only the suggestions that were asked for.
func printSuggestions(w io.Writer, r *api.Suggestions, some bool) error {
	var out strings.Builder
	fmt.Fprintf(&out, "Space %s: %s decided, %s approved, %s rejected", r.Space, textutil.Count(r.Proposals, "proposal"),
		textutil.Thousands(int64(r.Approved)), textutil.Thousands(int64(r.Rejected)))
	if r.Proposals > 0 {
		fmt.Fprintf(&out, ", %s to %s", r.From.Format(time.RFC3339), r.To.Format(time.RFC3339))
	}
	out.WriteString("\n")
	switch n := len(r.Suggestions); {
	case n == 0:
		out.WriteString("No rule is suggested.\n")
	default:
		who := "Together they"
		if n == 1 {
			who = "It"
		}
		fmt.Fprintf(&out, "%s. %s would have asked %s fewer and let through %s that were rejected.\n",
			textutil.Count(n, "suggestion"), who, textutil.Count(r.Fewer, "time"), textutil.Count(r.LetThrough, "call"))
	}
	if r.Unseen > 0 {
		fmt.Fprintf(&out, "%s not visible to the token; decisions among them are not known here. Use the token of a participant with the capability observe.\n", were(r.Unseen, "entry", "entries"))
	}
	for i := range r.Suggestions {
		printSuggestion(&out, &r.Suggestions[i])
	}
	if len(r.Suggestions) > 0 && !some {
		out.WriteString("\nTo accept some of them, add --only ID,… --write NEW.yaml.\n")
	}
	for i := range r.People {
		x := &r.People[i]
		fmt.Fprintf(&out, "\nLeft to people: %s may be asked about %s\n  approved %s; %s\n", x.Participant, x.Words, textutil.Count(x.Approved, "time"), x.Why)
		printCalls(&out, x.For)
		printCalls(&out, x.Against)
	}
	for i := range r.Unused {
		x := &r.Unused[i]
		since := "never in this log"
		if x.Last != nil {
			since = "not since " + x.Last.Format(time.RFC3339)
		}
		held := "configured for"
		if x.Grant != "" {
			held = "granted (" + string(x.Grant) + ") to"
		}
		fmt.Fprintf(&out, "\nNot used: %s %s; remove it?\n", held, x.Participant)
		for _, c := range x.Capabilities {
			fmt.Fprintf(&out, "  %s\n", termsafe.JSON(c))
		}
		fmt.Fprintf(&out, "  used %s\n", since)
	}
	if r.UnusedUnknown != "" {
		fmt.Fprintf(&out, "\nIt is not known which rights are not used: %s.\n", r.UnusedUnknown)
	}
	_, err := io.WriteString(w, termsafe.Text(out.String()))
	return err
}

func printSuggestion(out *strings.Builder, s *api.Suggestion) {
	title, n, did, other, from := "Allow "+string(s.Participant), s.Approved, "approved", "not approved", ""
	if s.Does == suggest.Deny {
		title, n, did, other, from = "Deny everybody", s.Rejected, "rejected", "approved", ", proposed mostly by "+string(s.Participant)
		if s.Host != "" {
			title += " at " + string(s.Host)
		}
	}
	fmt.Fprintf(out, "\n%s  %s: %s\n", s.ID, title, s.Words)
	var by []string
	for _, id := range s.By {
		by = append(by, string(id))
	}
	fmt.Fprintf(out, "  %s %s by %s on %s%s; would have asked %s fewer\n", did, textutil.Count(n, "time"), strings.Join(by, ", "),
		textutil.Count(s.Days, "day"), from, textutil.Count(s.Fewer, "time"))
	printCalls(out, s.For)
	if len(s.Against) > 0 {
		fmt.Fprintf(out, "  the rule does not match these calls of %s, which were %s:\n", termsafe.Words(s.Tool), other)
		printCalls(out, s.Against)
	}
	if s.ConfiguredIn != "" {
		out.WriteString("  in the configuration:\n")
		for line := range strings.Lines(s.Patch) {
			out.WriteString("    " + line)
		}
		return
	}
	fmt.Fprintf(out, "  the configuration does not have %s; grant it:\n", s.Participant)
	for _, c := range s.Capabilities {
		fmt.Fprintf(out, "    meup grant %s %s\n", textutil.ShellWord(string(s.Participant)), textutil.ShellWord(string(termsafe.JSON(c))))
	}
}

func printCalls(out *strings.Builder, list []api.DecidedCall) {
	for _, x := range list {
		fmt.Fprintf(out, "  %s  %s  %s  (%s by %s", x.TS.Format(time.RFC3339), x.ID, x.What, x.Outcome, x.By)
		if x.Reason != "" {
			fmt.Fprintf(out, ": %s", termsafe.Words(x.Reason))
		}
		fmt.Fprintf(out, ")\n    %s\n", x.Open)
	}
}
