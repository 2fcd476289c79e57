package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/config"
	"github.com/meup-protocol/meup/internal/gateway"
)

// serveFlags are the flags of serve; those that were given win over the
// environment, which wins over the file.
type serveFlags struct {
	config    string
	listen    string
	data      string
	nats      string
	logLevel  string
	logFormat string
	watch     bool

	acceptLoss bool
}

func newServe() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve --config FILE",
		Short: "Serves spaces",
		Long: `serve runs a gateway by a configuration file. Flags win over the environment
(MEUP_LISTEN, MEUP_DATA, MEUP_NATS, MEUP_LOG_LEVEL, MEUP_LOG_FORMAT), and the
environment over the file.

SIGHUP (and with --watch a change of the file) reads the file again; a faulty
one changes nothing and is reported. SIGTERM ends the gateway in good order:
no new connections, everything admitted is delivered, exit code 0.`,
		Example: "  meup-gateway serve --config meup.yaml\n  meup-gateway serve --config meup.yaml --listen 127.0.0.1:9000 --data :memory:",
		Args:    exactly(),
		RunE:    func(c *cobra.Command, _ []string) error { return serve(c.Context(), f, c.ErrOrStderr()) },
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "", "configuration file (required)")
	fl.StringVar(&f.listen, "listen", "", "address to listen on, host:port")
	fl.StringVar(&f.data, "data", "", "folder of the embedded log; :memory: keeps nothing")
	fl.StringVar(&f.nats, "nats", "", "nats://… URL: keep the log on this JetStream")
	fl.StringVar(&f.logLevel, "log-level", "", "debug, info, warn or error (default info)")
	fl.StringVar(&f.logFormat, "log-format", "", "text or json (default text)")
	fl.BoolVar(&f.watch, "watch", false, "reload when the file changes")
	fl.BoolVar(&f.acceptLoss, "accept-loss", false, "start although the log lacks envelopes that were acknowledged")
	return c
}

// load reads the configuration as the flags and the environment have it, and
// reports every fault.
func (f serveFlags) load(report func(config.Fault)) (*config.Config, error) {
	if f.config == "" {
		return nil, &usageError{errors.New("--config FILE is missing; meup-gateway demo needs none")}
	}
	cfg, faults := config.Load(f.config)
	if cfg != nil {
		faults = append(faults, cfg.ApplyEnv(os.LookupEnv)...)
	}
	for _, fault := range faults {
		report(fault)
	}
	if cfg == nil || config.HasErrors(faults) {
		return nil, errReported
	}
	override(&cfg.Listen, f.listen)
	override(&cfg.Data, f.data)
	override(&cfg.NATS, f.nats)
	override(&cfg.Log.Format, f.logFormat)
	if f.logLevel != "" {
		if err := cfg.Log.Level.UnmarshalText([]byte(f.logLevel)); err != nil {
			return nil, &usageError{fmt.Errorf("log level %q is none of debug, info, warn, error", f.logLevel)}
		}
	}
	return cfg, nil
}

func override(field *string, flag string) {
	if flag != "" {
		*field = flag
	}
}

func newLogger(w io.Writer, level slog.Level, format string) (*slog.Logger, error) {
	o := &slog.HandlerOptions{Level: level}
	switch format {
	case config.FormatText:
		return slog.New(slog.NewTextHandler(w, o)), nil
	case config.FormatJSON:
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, &usageError{fmt.Errorf("log format %q is neither text nor json", format)}
}

func serve(ctx context.Context, f serveFlags, w io.Writer) error {
	cfg, err := f.load(printFaults(w))
	if err != nil {
		return err
	}
	log, err := newLogger(w, cfg.Log.Level, cfg.Log.Format)
	if err != nil {
		return err
	}
	g, err := gateway.New(ctx, gateway.Options{Config: cfg, Logger: log, Version: buildVersion(), AcceptLoss: f.acceptLoss})
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return errors.Join(fmt.Errorf("listen on %s: %w", cfg.Listen, err), g.Close())
	}
	side, err := serveAside(ctx, cfg, g, log)
	if err != nil {
		return errors.Join(err, l.Close(), g.Close())
	}
	defer side()
	log.Info("serving", "address", l.Addr().String(), "spaces", len(cfg.Spaces), "log", logPlace(cfg), "version", version)
	return serveUntilDone(ctx, f, g, l, log, cfg.DrainTimeout)
}

func logPlace(cfg *config.Config) string {
	if cfg.NATS != "" {
		return "JetStream"
	}
	return cfg.Data
}

// serveUntilDone serves until the listener fails or ctx ends, and drains then.
func serveUntilDone(ctx context.Context, f serveFlags, g *gateway.Gateway, l net.Listener, log *slog.Logger, patience time.Duration) error {
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }() // ends with Drain or Close below
	reload, stop := reloadSignals(f, log)
	defer stop()
	for {
		select {
		case err := <-served:
			return errors.Join(err, g.Close())
		case <-reload:
			reloadConfig(f, g, log)
		case <-ctx.Done():
			log.Info("draining", "patience", patience)
			drainCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
			defer cancel()
			if err := g.Drain(drainCtx); err != nil {
				log.Warn("not everything could be delivered", "error", err)
			}
			err := <-served
			log.Info("stopped")
			return err
		}
	}
}

// reloadSignals returns what says that the file is to be read again.
func reloadSignals(f serveFlags, log *slog.Logger) (<-chan struct{}, func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	reload := make(chan struct{}, 1)
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Add(1)
	go func() { // ends with done; stop waits
		defer running.Done()
		watched := watchFile(f, done, log)
		for {
			select {
			case <-hup:
			case <-watched:
			case <-done:
				return
			}
			select {
			case reload <- struct{}{}:
			default:
			}
		}
	}()
	return reload, func() {
		signal.Stop(hup)
		close(done)
		running.Wait()
	}
}

func reloadConfig(f serveFlags, g *gateway.Gateway, log *slog.Logger) {
	cfg, err := f.load(logFaults(log))
	if err != nil {
		log.Error("the configuration was not reloaded; the one in force stays", "file", f.config)
		return
	}
	later := g.Reload(cfg)
	log.Info("configuration reloaded", "file", f.config)
	if len(later) > 0 {
		log.Warn("some changes hold from the next start on only", "keys", later)
	}
}

// printFaults reports faults as compilers do, a line each.
func printFaults(w io.Writer) func(config.Fault) {
	return func(f config.Fault) { fmt.Fprintln(w, f) }
}

// logFaults reports faults to the log: what stops the gateway as an error, the
// rest as warnings.
func logFaults(log *slog.Logger) func(config.Fault) {
	return func(f config.Fault) {
		level, message := slog.LevelError, "configuration fault"
		if f.Severity == config.Warning {
			level, message = slog.LevelWarn, "configuration warning"
		}
		log.Log(context.Background(), level, message, "fault", f.String())
	}
}

// serveAside serves metrics and profiles on listeners of their own, where the
// configuration asks for that.
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
		s := &http.Server{Handler: side.handler, ReadHeaderTimeout: 10 * time.Second}
		servers = append(servers, s)
		running.Add(1)
		go func() { // ends with stop, which waits
			defer running.Done()
			_ = s.Serve(l)
		}()
		log.Info("serving "+what, "address", l.Addr().String())
	}
	return stop, nil
}
