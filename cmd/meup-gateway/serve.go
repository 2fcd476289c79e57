package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/cmd/meup-gateway/earlysignal"
	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/kit/privatedir"
	"github.com/meup-protocol/meup/internal/kit/program"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	config     string
	watch      bool
	acceptLoss bool
	restoreLog bool
	// settings are the flags that override the environment and the file, by the
	// names of config.Set. Empty ones are not set.
	settings map[string]*string
}

func newServe() *cobra.Command {
	f := serveFlags{settings: make(map[string]*string)}
	c := &cobra.Command{
		Use:   "serve --config FILE",
		Short: "Serves spaces",
		Long: `serve runs a gateway with a configuration file. Flags override the environment
(MEUP_LISTEN, MEUP_DATA, MEUP_NATS, MEUP_LOG_LEVEL, MEUP_LOG_FORMAT), and the
environment overrides the file.

The gateway listens immediately. Until its log is open, /healthz returns 200 and
everything else 503; then /readyz returns 200.

SIGHUP (with --watch also a change of the file) reloads the file, the token
files and the TLS certificate. An invalid file is reported and changes nothing.
A changed certificate is also used without a signal, within a minute, and with
--watch within a second.
Environment variables are read at the start only: a participant that is added
later needs token_file, token_sha256 or token. SIGTERM shuts the gateway down
gracefully: it accepts no new connections, delivers all admitted envelopes and
exits with 0.`,
		Example: "  meup-gateway serve --config meup.yaml\n  meup-gateway serve --config meup.yaml --listen 127.0.0.1:9000 --data :memory:",
		Args:    program.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return serve(c.Context(), f, c.ErrOrStderr()) },
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "", "configuration file (required)")
	fl.BoolVar(&f.watch, "watch", false, "reload when the file or the TLS certificate changes")
	fl.BoolVar(&f.acceptLoss, "accept-loss", false, "start even if the log is damaged or acknowledged envelopes are missing")
	fl.BoolVar(&f.restoreLog, "restore-log", false, "start, and put envelopes that the log on NATS has lost back from the copy in the data folder; with --accept-loss, also if another gateway has a longer copy")
	setting := func(name, usage string) { f.settings[name] = fl.String(name, "", usage) }
	setting("listen", "address to listen on, host:port")
	setting("data", "folder of the embedded log; :memory: stores nothing")
	setting("nats", "nats://… URL of the JetStream that stores the log")
	setting("log-level", "debug, info, warn or error (default info)")
	setting("log-format", "text or json (default text)")
	return c
}

// load reads the configuration, applies the environment and the flags, and
// reports every fault.
func (f serveFlags) load(report func(config.Diagnostic)) (*config.Config, error) {
	if f.config == "" {
		return nil, program.Usagef("--config FILE is required: meup-gateway init writes one, and meup-gateway demo needs none")
	}
	cfg, faults := config.Load(f.config)
	if cfg != nil {
		faults = append(faults, cfg.ApplyEnv(os.LookupEnv)...)
	}
	if cfg != nil && !config.HasErrors(faults) {
		for _, name := range slices.Sorted(maps.Keys(f.settings)) {
			value := *f.settings[name]
			if value == "" {
				continue
			}
			if err := cfg.Set(name, value); err != nil {
				return nil, program.Usage(err)
			}
		}
		faults = append(faults, cfg.ListenerDiagnostics(faults)...)
	}
	for _, fault := range faults {
		report(fault)
	}
	if cfg == nil || config.HasErrors(faults) {
		return nil, errReported
	}
	return cfg, nil
}

// serve runs a gateway until ctx ends, the listener fails, or the log cannot be
// opened, and then drains.
func serve(ctx context.Context, f serveFlags, w io.Writer) error {
	privatedir.Umask()
	cfg, err := f.load(printFaults(w))
	if err != nil {
		return err
	}
	if f.restoreLog && (cfg.NATS == "" || cfg.Data == gateway.InMemory) {
		return program.Usagef("--restore-log is for a log on NATS, of which the data folder has a copy: use meup-gateway restore for a backup")
	}
	log, err := program.NewLogger(w, cfg.Log.Level, cfg.Log.Format)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
	if err != nil && ctx.Err() != nil {
		return nil // stopped before it began
	}
	if err != nil {
		return program.ListenError(cfg.Listen, "listen", err)
	}
	o := gateway.Options{Config: cfg, Logger: log, Version: buildVersion(), AcceptLoss: f.acceptLoss, RestoreLog: f.restoreLog}
	if f.watch {
		o.CertificateEvery = watchEvery
	}
	g, err := gateway.New(ctx, o)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	side, err := serveAside(ctx, cfg, g, log)
	if err != nil {
		return errors.Join(err, l.Close(), g.Close())
	}
	defer side()
	log.Info("listening", "address", l.Addr().String(), "version", version, "adapters", strings.Join(cfg.Adapters, " "))
	reload, stop := reloads(earlysignal.Hangup(), f, log)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }() // ends with the drain below
	opened, reloadOpen := g.Opened(), (<-chan struct{})(nil)
	for {
		select {
		case <-opened:
			opened = nil
			if g.Err() == nil {
				reloadOpen = reload // an earlier one waits in the channel
				place := cfg.Data
				if cfg.NATS != "" {
					place = "JetStream"
				}
				log.Info("serving", "address", l.Addr().String(), "spaces", len(cfg.Spaces), "log", place, "version", version)
			}
		case <-reloadOpen:
			next, err := f.load(logFaults(log))
			if err != nil {
				log.Error("configuration not reloaded; the current one stays in effect", "file", f.config)
				continue
			}
			later := g.Reload(next)
			log.Info("configuration reloaded", "file", f.config)
			if len(later) > 0 {
				log.Warn("some changes take effect after a restart", "keys", later)
			}
		case err := <-served:
			return errors.Join(err, drain(ctx, g, cfg.DrainTimeout, log))
		case <-ctx.Done():
			if err := drain(ctx, g, cfg.DrainTimeout, log); err != nil {
				return err
			}
			return <-served
		}
	}
}

func drain(ctx context.Context, g *gateway.Gateway, timeout time.Duration, log *slog.Logger) error {
	log.Info("draining", "timeout", timeout)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	err := g.Drain(ctx)
	if errors.Is(err, gateway.ErrNotClosed) {
		return err
	}
	if err != nil {
		log.Warn("shutdown timed out before all envelopes were delivered", "error", err)
	}
	log.Info("stopped")
	return nil
}

// printFaults prints faults like compilers do, one per line.
func printFaults(w io.Writer) func(config.Diagnostic) {
	return func(f config.Diagnostic) { fmt.Fprintln(w, f) }
}

// logFaults logs faults: an error if the fault stops the gateway, otherwise a
// warning.
func logFaults(log *slog.Logger) func(config.Diagnostic) {
	return func(f config.Diagnostic) {
		level, message := slog.LevelError, "configuration fault"
		if f.Severity == config.Warning {
			level, message = slog.LevelWarn, "configuration warning"
		}
		log.Log(context.Background(), level, message, "fault", f.String())
	}
}

// serveAside serves metrics and profiles on separate listeners, if configured.
func serveAside(ctx context.Context, cfg *config.Config, g *gateway.Gateway, log *slog.Logger) (stop func(), err error) {
	profiles := http.NewServeMux()
	profiles.HandleFunc("/debug/pprof/", pprof.Index)
	profiles.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	profiles.HandleFunc("/debug/pprof/profile", pprof.Profile)
	profiles.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	profiles.HandleFunc("/debug/pprof/trace", pprof.Trace)
	metrics := http.NewServeMux()
	metrics.Handle("GET /metrics", g.Metrics())

	var servers []*http.Server
	var running sync.WaitGroup
	stop = func() {
		for _, s := range servers {
			_ = s.Close() // it only listens
		}
		running.Wait()
	}
	for what, side := range map[string]struct {
		addr    string
		handler http.Handler
	}{"profiles": {cfg.PprofListen, profiles}, "metrics": {cfg.MetricsListen, metrics}} {
		if side.addr == "" {
			continue
		}
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", side.addr)
		if err != nil {
			stop()
			return nil, fmt.Errorf("listen for %s on %s: %w", what, side.addr, err)
		}
		s := g.NewSideServer(side.handler)
		servers = append(servers, s)
		running.Add(1)
		go func() { // ends with stop, which waits
			defer running.Done()
			_ = s.Serve(g.CountConns(l))
		}()
		log.Info("serving "+what, "address", l.Addr().String())
	}
	return stop, nil
}
