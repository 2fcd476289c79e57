package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/privatedir"
	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// The formats of an export.
const (
	formatLines    = "jsonl"
	formatMarkdown = "md"
	formatTraces   = "otel"
)

type exportFlags struct {
	space    string
	thread   string
	config   string
	data     string
	gateway  string
	tokenEnv string
	format   string
	output   string
	since    uint64
}

func newExport() *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use:   "export --space S (--data DIR | --config FILE | --gateway URL)",
		Short: "Writes a space or one thread of it as JSON Lines, Markdown or traces",
		Long: `export writes the log of a space to standard output or to a file. With --gateway
it reads from a running gateway and writes the envelopes that the token's
participant may see. With --data or --config it reads the whole log from the
folder of a stopped gateway; a running gateway locks its folder. Progress goes to
standard error.

The formats:
  jsonl  one envelope per line, in the order of the log. Invisible characters
         and terminal control characters are written as \\u escapes
  md     the threads, oldest first: each turn with its question, the agents'
         reasoning and the answers
  otel   one trace per turn as a line of OTLP JSON, for any collector

--thread selects one thread; in jsonl, all envelopes of the thread. The id of a
thread is the id of its first message.

md and otel mask secrets. With --gateway, the gateway does this and numbers the
turns. With --config, its safety settings, rules and secrets are used, and its
data folder unless --data is given. With --data alone, only the built-in rules
are used. jsonl is the log as it is stored, after the gateway's safety rules.`,
		Example: "  meup-gateway export --space lab --config meup.yaml >lab.jsonl\n" +
			"  meup-gateway export --space lab --config meup.yaml --data ./backup --format md --thread 0193a5c2-7b1e-7000-8000-000000000000 --output incident.md\n" +
			"  meup-gateway export --space lab --gateway http://127.0.0.1:8080 --token-env ALICE_TOKEN --format otel >lab-traces.jsonl",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return export(c.Context(), f, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.space, "space", "", "space to export (required)")
	fl.StringVar(&f.thread, "thread", "", "export only this thread")
	fl.StringVar(&f.config, "config", "", "configuration of a stopped gateway: its folder, rules and secrets are used")
	fl.StringVar(&f.data, "data", "", "folder of the embedded log of a stopped gateway")
	fl.StringVar(&f.gateway, "gateway", "", "base URL of a running gateway")
	fl.StringVar(&f.tokenEnv, "token-env", "MEUP_TOKEN", "environment variable with the token, for --gateway")
	fl.StringVar(&f.format, "format", formatLines, "jsonl, md or otel")
	fl.StringVar(&f.output, "output", "", "file to write, atomically (default: standard output)")
	fl.Uint64Var(&f.since, "since", 0, "start after this seq (jsonl)")
	return c
}

// check rejects invalid combinations of flags.
func (f *exportFlags) check() error {
	switch {
	case !protocol.ValidSpaceName(f.space):
		return &usageError{errors.New("--space requires the name of a space")}
	case f.data == "" && f.config == "" && f.gateway == "":
		return &usageError{errors.New("use --gateway for a running gateway, or --config or --data for a stopped one")}
	case f.data != "" && f.gateway != "":
		return &usageError{errors.New("use either --data or --gateway, not both")}
	case f.config != "" && f.gateway != "":
		return &usageError{errors.New("--config cannot be used with --gateway: a running gateway masks by its own configuration")}
	case f.format != formatLines && f.format != formatMarkdown && f.format != formatTraces:
		return &usageError{fmt.Errorf("unknown format %q; use jsonl, md or otel", f.format)}
	case f.thread != "" && !protocol.ValidID(f.thread):
		return &usageError{fmt.Errorf("--thread %q is not the id of a message", f.thread)}
	case f.since > 0 && f.format != formatLines:
		return &usageError{fmt.Errorf("--since requires --format jsonl")}
	}
	return nil
}

func export(ctx context.Context, f exportFlags, stdout, progress io.Writer) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	privatedir.Umask()
	log, err := f.open(ctx, progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	out, err := newSink(f.output, stdout)
	if err != nil {
		return err
	}
	x := &exporter{flags: f, log: log, out: out, progress: newMeter(progress, &f)}
	err = out.end(x.run(ctx))
	if errors.Is(err, errReaderGone) {
		return nil
	}
	if err == nil {
		x.progress.done()
	}
	return err
}

// open opens the log to export.
func (f *exportFlags) open(ctx context.Context, warnings io.Writer) (exportLog, error) {
	if f.gateway != "" {
		return openRemote(f)
	}
	return openFolder(ctx, f, warnings)
}

// exporter reads a log and writes it in one format.
type exporter struct {
	flags    exportFlags
	log      exportLog
	out      *sink
	progress *progress
}

func (x *exporter) run(ctx context.Context) error {
	if x.flags.format == formatLines {
		return x.lines(ctx)
	}
	return x.log.turns(ctx, x)
}

// atEnd is greater than the Seq of every entry of a log.
const atEnd = protocol.Seq(math.MaxInt64 - 1)

// lines writes envelopes: all after a Seq, or the envelopes of a thread.
func (x *exporter) lines(ctx context.Context) error {
	since := protocol.Seq(x.flags.since)
	begin, thread := since+1, (*membership)(nil)
	if x.flags.thread != "" {
		// To find the thread of each entry, it has to read the log from the
		// beginning.
		begin, thread = 1, newMembership(&x.flags, newExportTracker(&x.flags, nil, nil))
	}
	var line []byte
	for e, err := range x.log.Range(ctx, begin, atEnd) {
		if err != nil {
			return err
		}
		if thread != nil && !thread.has(ctx, e) || e.Envelope.Seq <= since {
			x.progress.read()
			continue
		}
		line = append(protocol.OneLine(protocol.AppendEnvelope(line[:0], protocol.DialectMEUP01, e.Envelope)), '\n')
		if _, err := x.out.Write(termsafe.JSON(line)); err != nil {
			return err
		}
		x.progress.wrote()
	}
	if thread == nil {
		return nil
	}
	return thread.missing()
}
