package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/gateway/archive"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/kit/privatedir"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

type exportFlags struct {
	space    string
	thread   string
	job      string
	config   string
	data     string
	gateway  string
	tokenEnv string
	format   string
	output   string
	since    string
	until    string
	from     []string
	kinds    []string
}

func newExport() *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use:   "export --space S (--data DIR | --config FILE | --gateway URL)",
		Short: "Writes a space, or one thread or job of it, as JSON Lines, Markdown or traces",
		Long: `export writes the log of a space to standard output or to a file. With --gateway
it reads from a running gateway and writes the envelopes that the token's
participant may see. With --data or --config it reads the whole log from the
folder of a stopped gateway; a running gateway locks its folder. Progress goes to
standard error.

The formats:
  jsonl  one envelope per line, in the order of the log. Invisible characters
         and terminal control characters are written as \\u escapes
  md     the threads and jobs, oldest first: each turn with its question, the
         agents' reasoning and the answers
  otel   one trace per turn or job as a line of OTLP JSON, for any collector

--thread selects one thread, --job one job; in jsonl, all its envelopes. The id of
a thread is the id of its first message. A job is reasoning that no message asked
for; its id is its outermost context.

md and otel mask secrets. With --gateway, the gateway does this and numbers the
turns. With --config, its safety settings, rules and secrets are used, and its
data folder unless --data is given. With --data alone, only the built-in rules
are used. jsonl is the log as it is stored, after the gateway's safety rules.`,
		Example: "  meup-gateway export --space lab --config meup.yaml >lab.jsonl\n" +
			"  meup-gateway export --space lab --config meup.yaml --data ./backup --format md --thread 0193a5c2-7b1e-7000-8000-000000000000 --output incident.md\n" +
			"  meup-gateway export --space lab --gateway http://127.0.0.1:8080 --token-env ALICE_TOKEN --format otel >lab-traces.jsonl",
		Args: program.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return runExport(c.Context(), f, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.space, "space", "", "space to export (required)")
	fl.StringVar(&f.thread, "thread", "", "export only this thread")
	fl.StringVar(&f.job, "job", "", "export only this job")
	fl.StringVar(&f.config, "config", "", "configuration of a stopped gateway: its folder, rules and secrets are used")
	fl.StringVar(&f.data, "data", "", "folder of the embedded log of a stopped gateway")
	fl.StringVar(&f.gateway, "gateway", "", "base URL of a running gateway")
	fl.StringVar(&f.tokenEnv, "token-env", "MEUP_TOKEN", "environment variable with the token, for --gateway")
	fl.StringVar(&f.format, "format", archive.Lines, "jsonl, md or otel")
	fl.StringVar(&f.output, "output", "", "file to write, atomically (default: standard output)")
	fl.StringVar(&f.since, "since", "", "start after this seq, or at a time: a day, a time (RFC 3339), or a duration before now (jsonl)")
	fl.StringVar(&f.until, "until", "", "only envelopes before this time (jsonl)")
	fl.StringSliceVar(&f.from, "from", nil, "only envelopes of these participants (jsonl)")
	fl.StringSliceVar(&f.kinds, "kinds", nil, "only these kinds, such as chat,capability/* (jsonl)")
	return c
}

// filter adds the filters of the flags to the options.
func (f *exportFlags) filter(o *archive.ExportOptions, now time.Time) error {
	if f.format != archive.Lines && (f.since != "" || f.until != "" || len(f.from)+len(f.kinds) > 0) {
		return program.Usagef("--since, --until, --from and --kinds require --format jsonl")
	}
	var begin time.Time
	seq, err := protocol.ParseSeq(f.since)
	o.Since = seq
	if err != nil {
		begin, err = program.Moment("since", f.since, now)
		if err != nil {
			return program.Usage(err)
		}
	}
	end, err := program.Moment("until", f.until, now)
	if err != nil {
		return program.Usage(err)
	}
	filter := protocol.Filter{Kinds: f.kinds}
	for _, id := range f.from {
		filter.From = append(filter.From, protocol.ParticipantID(id))
	}
	matcher, err := filter.Compile()
	if err != nil {
		return program.Usagef("--from, --kinds: %w", err)
	}
	if f.until != "" || len(f.from)+len(f.kinds) > 0 || !begin.IsZero() {
		o.Keep = func(e *protocol.Envelope) bool {
			return !e.TS.Before(begin) && (end.IsZero() || e.TS.Before(end)) && matcher.Match(e)
		}
	}
	return nil
}

func runExport(ctx context.Context, f exportFlags, stdout, progress io.Writer) (err error) {
	switch {
	case !protocol.ValidSpaceName(f.space):
		return program.Usagef("--space requires the name of a space")
	case f.data == "" && f.config == "" && f.gateway == "":
		return program.Usagef("use --gateway for a running gateway, or --config or --data for a stopped one")
	case f.data != "" && f.gateway != "":
		return program.Usagef("use either --data or --gateway, not both")
	case f.config != "" && f.gateway != "":
		return program.Usagef("--config cannot be used with --gateway: a running gateway masks by its own configuration")
	case f.format != archive.Lines && f.format != archive.Markdown && f.format != archive.Traces:
		return program.Usagef("unknown format %q; use jsonl, md or otel", f.format)
	case f.thread != "" && !protocol.ValidID(f.thread):
		return program.Usagef("--thread %q is not the id of a message", f.thread)
	case f.job != "" && !protocol.ValidID(f.job):
		return program.Usagef("--job %q is not the id of a job", f.job)
	case f.thread != "" && f.job != "":
		return program.Usagef("--thread and --job cannot be combined")
	}
	o := archive.ExportOptions{Thread: protocol.ID(f.thread), Job: protocol.ID(f.job), Format: f.format, Output: f.output}
	if err := f.filter(&o, time.Now()); err != nil {
		return err
	}
	privatedir.Umask()
	source, err := f.open(ctx, progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	return archive.WriteExport(ctx, source, o, stdout, progress)
}

func (f *exportFlags) open(ctx context.Context, warnings io.Writer) (archive.ExportSource, error) {
	if f.gateway != "" {
		token := os.Getenv(f.tokenEnv)
		if token == "" {
			return nil, fmt.Errorf("the environment variable %s is not set: it must contain the token", f.tokenEnv)
		}
		source, err := archive.OpenGateway(f.gateway, token, f.space)
		if err != nil {
			return nil, program.Usagef("--gateway, --token-env: %w", err)
		}
		return source, nil
	}
	data := f.data
	var mask turns.Masker // masks all secrets of the configuration, if there is one
	var err error
	if f.config == "" {
		if f.format != archive.Lines {
			fmt.Fprintln(warnings, "Without --config, secrets are masked by the built-in rules only.")
		}
		mask, err = safety.New(safety.Config{})
	} else {
		var cfg *config.Config
		cfg, err = serveFlags{config: f.config}.load(printFaults(warnings))
		if err != nil {
			return nil, err
		}
		data = cmp.Or(f.data, cfg.Data)
		if f.data == "" && (cfg.NATS != "" || cfg.Data == gateway.InMemory) {
			return nil, fmt.Errorf("%s stores the log outside of a folder: use --gateway", f.config)
		}
		mask, err = gateway.SafetyOf(cfg, nil)
	}
	if err != nil {
		return nil, err
	}
	return archive.OpenFolder(ctx, data, f.space, mask, program.TextLogger(warnings, slog.LevelWarn))
}
