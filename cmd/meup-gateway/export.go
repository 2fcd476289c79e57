package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/journal/pebblejournal"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

type exportFlags struct {
	space    string
	data     string
	gateway  string
	tokenEnv string
	format   string
	since    uint64
}

func newExport() *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use:   "export --space S (--data DIR | --gateway URL)",
		Short: "Writes the log of a space as JSON Lines",
		Long: `export writes the envelopes of a space to standard output, one a line, in the
order of the log. With --data it reads the folder of a gateway that does not
run and writes everything; with --gateway it asks a running one and writes what
the token's participant may see. Progress goes to standard error.`,
		Example: "  meup-gateway export --space lab --data ./meup-data >lab.jsonl\n" +
			"  meup-gateway export --space lab --gateway http://127.0.0.1:8080 --token-env ALICE_TOKEN >lab.jsonl",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return export(c.Context(), f, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.space, "space", "", "space to export (required)")
	fl.StringVar(&f.data, "data", "", "folder of the embedded log of a gateway that does not run")
	fl.StringVar(&f.gateway, "gateway", "", "base URL of a running gateway")
	fl.StringVar(&f.tokenEnv, "token-env", "MEUP_TOKEN", "environment variable with the token, for --gateway")
	fl.StringVar(&f.format, "format", "jsonl", "jsonl")
	fl.Uint64Var(&f.since, "since", 0, "begin behind this seq")
	return c
}

func export(ctx context.Context, f exportFlags, out, progress io.Writer) error {
	switch {
	case !protocol.ValidSpaceName(f.space):
		return &usageError{errors.New("--space must name a space")}
	case (f.data == "") == (f.gateway == ""):
		return &usageError{errors.New("give one of --data and --gateway")}
	case f.format != "jsonl":
		return &usageError{fmt.Errorf("format %q is not known; there is jsonl", f.format)}
	}
	w := &exporter{out: bufio.NewWriterSize(out, 1<<16), progress: progress, last: time.Now()}
	var err error
	if f.data != "" {
		err = w.fromFolder(ctx, f)
	} else {
		err = w.fromGateway(ctx, f)
	}
	err = errors.Join(err, w.out.Flush())
	fmt.Fprintf(progress, "%d envelopes\n", w.n)
	return err
}

// exporter writes lines and says from time to time how far it is.
type exporter struct {
	out      *bufio.Writer
	progress io.Writer
	n        int
	last     time.Time
}

func (w *exporter) line(b []byte) error {
	if _, err := w.out.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if w.n++; w.n%1000 == 0 && time.Since(w.last) > 2*time.Second {
		fmt.Fprintf(w.progress, "%d envelopes …\n", w.n)
		w.last = time.Now()
	}
	return nil
}

func (w *exporter) fromFolder(ctx context.Context, f exportFlags) error {
	dir := filepath.Join(f.data, "log")
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("there is no log in %s: %w", f.data, err)
	}
	log := slog.New(slog.NewTextHandler(w.progress, &slog.HandlerOptions{Level: slog.LevelWarn}))
	j, err := pebblejournal.Open(pebblejournal.Options{Dir: dir, Logger: log})
	if err != nil {
		return fmt.Errorf("open the log (a running gateway holds it; use --gateway then): %w", err)
	}
	err = w.entries(ctx, j, f)
	return errors.Join(err, j.Close())
}

func (w *exporter) entries(ctx context.Context, j journal.Journal, f exportFlags) error {
	for e, err := range j.Range(ctx, f.space, journal.Query{After: protocol.Seq(f.since)}) {
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if e.Hidden {
			continue
		}
		if err := w.line(protocol.OneLine(protocol.AppendEnvelope(nil, protocol.MEUP1, &e.Envelope))); err != nil {
			return err
		}
	}
	return nil
}

func (w *exporter) fromGateway(ctx context.Context, f exportFlags) error {
	token := os.Getenv(f.tokenEnv)
	if token == "" {
		return fmt.Errorf("the environment variable %s has no token", f.tokenEnv)
	}
	for since := fmt.Sprint(f.since); ; {
		next, more, err := w.page(ctx, f, token, since)
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
		since = next
	}
}

// page writes one page of history and returns where the next one begins.
func (w *exporter) page(ctx context.Context, f exportFlags, token, since string) (next string, more bool, err error) {
	address := strings.TrimRight(f.gateway, "/") + "/api/spaces/" + url.PathEscape(f.space) + "/envelopes?limit=1000&since=" + since
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", false, &usageError{fmt.Errorf("--gateway: %w", err)}
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/jsonl")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", false, fmt.Errorf("ask the gateway: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode != http.StatusOK {
		var refused protocol.Error
		if json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&refused) == nil && refused.Code != "" {
			return "", false, &refused
		}
		return "", false, fmt.Errorf("the gateway answered %s", resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if err := w.line(append([]byte(nil), lines.Bytes()...)); err != nil {
			return "", false, err
		}
	}
	if err := lines.Err(); err != nil {
		return "", false, fmt.Errorf("read the gateway's answer: %w", err)
	}
	return resp.Header.Get("Meup-Next"), resp.Header.Get("Meup-Has-More") == "true", nil
}
