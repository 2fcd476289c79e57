package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/internal/access"
	"github.com/meup-protocol/meup/internal/auth"
	"github.com/meup-protocol/meup/internal/config"
	"github.com/meup-protocol/meup/internal/httpapi"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/limit"
	"github.com/meup-protocol/meup/internal/metrics"
	"github.com/meup-protocol/meup/internal/recall"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/ws"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

// Options are what a gateway is made from.
type Options struct {
	Config  *config.Config
	Logger  *slog.Logger // nil: silence
	Version httpapi.Version
	Page    fs.FS // the web page's files; nil: those that are part of the program
}

// Gateway is a gateway in this process. New makes it, Serve lets it serve,
// Drain or Close ends it.
type Gateway struct {
	log     *slog.Logger
	cfg     atomic.Pointer[config.Config]
	journal journal.Journal
	metrics *metrics.Metrics
	auth    *auth.Authenticator
	safety  *redactor
	hub     *space.Hub
	ws      *ws.Server
	api     *httpapi.Server
	turns   *recall.Keeper
	cluster *clusterLink // nil: a gateway of its own
	codes   access.LoginCodes
	page    httpapi.Page // nil: none is served

	http       *http.Server
	background context.Context //nolint:containedctx // ends with Close
	stop       context.CancelFunc
	running    sync.WaitGroup
	closing    sync.Once
	draining   atomic.Bool
}

// New puts a gateway together. It opens the log, and serves nothing yet.
func New(o Options) (*Gateway, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	page, err := openPage(o.Page)
	if err != nil {
		return nil, err
	}
	background, stop := context.WithCancel(context.Background())
	g := &Gateway{background: background, stop: stop, log: o.Logger, page: page, metrics: metrics.New(metrics.Options{
		Version: o.Version.Version, Commit: o.Version.Commit, Logger: o.Logger,
	})}
	g.cfg.Store(o.Config)
	if err := g.openLog(o.Config); err != nil {
		return nil, err
	}
	if g.safety, err = newRedactor(o.Config, g.metrics); err != nil {
		return nil, errors.Join(err, g.closeLog())
	}
	services := space.Services{
		Journal: g.journal, Validate: schemas.Payload, Safety: g.safety, Observer: g.metrics,
		NewID: newID, NewToken: auth.NewToken, Logger: o.Logger,
		RingEntries: o.Config.Ring.Entries, RingBytes: int(o.Config.Ring.Bytes),
	}
	if g.cluster != nil {
		services.Peers = g.cluster
	}
	g.hub = space.NewHub(services, spacesOf(o.Config))
	g.auth = auth.New(tokensOf(o.Config), auth.Options{Invites: invites{g.hub, g.journal}, Log: o.Logger})
	if g.cluster != nil {
		g.cluster.attach(g.hub)
	}
	g.serveParts(o)
	g.run(func() { g.hub.Run(background, time.Second) })
	g.run(func() { g.ws.Run(background) })
	g.run(func() { g.watchReadiness(background) })
	g.metrics.Sample(metrics.Sources{
		Ready: g.Ready, Spaces: func() int { return len(g.hub.Open()) }, Joining: g.ws.Joining,
	})
	return g, nil
}

// serveParts makes what faces the network.
func (g *Gateway) serveParts(o Options) {
	cfg := o.Config
	door := &access.Door{
		Hub: g.hub, Auth: g.auth, Ready: g.journal.Ready, Logger: o.Logger, LoginFailed: g.metrics.LoginFailed, Codes: &g.codes,
		Attempts: limit.NewAttempts(limit.AttemptLimits{Failures: cfg.LoginFailures.Burst, Refill: cfg.LoginFailures.Refill}),
	}
	g.ws = ws.NewServer(ws.Options{
		Door: door, Origins: cfg.Origins, NewViolations: g.newViolations,
		PingInterval: orNever(cfg.PingInterval), IdleTimeout: orNever(cfg.IdleTimeout), HandshakeTimeout: cfg.HandshakeTimeout,
		MaxConnections: cfg.MaxConnections, Observer: g.metrics, Logger: o.Logger,
	})
	g.turns = recall.New(recall.Options{Mask: g.safety, Logger: o.Logger})
	options := httpapi.Options{
		Turns: g.turns, Has: g.has,
		Door: door, Journal: g.journal, Origins: cfg.Origins, Ready: g.Ready, WS: g.ws, Page: g.page,
		Version: o.Version, IdleTimeout: orNever(cfg.IdleTimeout), Logger: o.Logger,
		Spaces: func(ctx context.Context, token string) ([]string, error) {
			return g.spacesOf(ctx, token, time.Now())
		},
	}
	if cfg.MetricsListen == "" {
		options.Metrics = g.metrics.Handler()
	}
	g.api = httpapi.New(options)
	g.http = &http.Server{
		Handler: g.api, ReadHeaderTimeout: cfg.HandshakeTimeout, IdleTimeout: 30 * time.Second,
		MaxHeaderBytes: 32 << 10, WriteTimeout: time.Minute, ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
}

// orNever puts a time that nobody lives to see in the place of 0, which is how
// a configuration says never.
func orNever(d time.Duration) time.Duration {
	if d == 0 {
		return 100 * 365 * 24 * time.Hour
	}
	return d
}

func (g *Gateway) newViolations() ws.Violations {
	v := g.cfg.Load().Violations
	violations := limit.NewViolations(v.Max, v.Window)
	return &violations
}

func newID() protocol.ID {
	id, err := uuid.NewV7()
	if err != nil {
		panic(err) // the system has no randomness: nothing can be safe
	}
	return protocol.ID(id.String())
}

// Handler returns the gateway's HTTP handler.
func (g *Gateway) Handler() http.Handler { return g.api }

// Ready returns nil while the gateway can do its work, and otherwise why not.
func (g *Gateway) Ready() error {
	if g.draining.Load() {
		return errDraining
	}
	return g.journal.Ready()
}

var errDraining = errors.New("the gateway is going down")

// Serve serves connections from l until Drain or Close; it returns nil then.
func (g *Gateway) Serve(l net.Listener) error {
	if tls := g.cfg.Load().TLS; tls.Cert != "" {
		return ignoreClosed(g.http.ServeTLS(l, tls.Cert, tls.Key))
	}
	return ignoreClosed(g.http.Serve(l))
}

func (g *Gateway) run(f func()) {
	g.running.Add(1)
	go func() { // ends with the context that f was given; Close waits
		defer g.running.Done()
		f()
	}()
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// watchReadiness says in the log when the gateway stops being ready and when
// it is again.
func (g *Gateway) watchReadiness(ctx context.Context) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	ready := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		err := g.Ready()
		switch {
		case err != nil && ready:
			g.log.Error("not ready", "reason", err)
		case err == nil && !ready:
			g.log.Info("ready again")
		}
		ready = err == nil
	}
}

// Reload puts another configuration in force. What only a restart can change
// is listed in the result.
func (g *Gateway) Reload(cfg *config.Config) (needsRestart []string) {
	before := g.cfg.Swap(cfg)
	g.auth.Replace(tokensOf(cfg))
	g.hub.Reload(spacesOf(cfg))
	if err := g.safety.replace(cfg); err != nil {
		g.log.Error("the safety settings stay as they were", "error", err)
	}
	g.turns.Remask()
	return fixedDifferences(before, cfg)
}

// Drain ends the gateway in good order: no new connections, everything that
// was admitted is delivered, every connection is closed with 1001. When ctx
// ends first, what is left is cut.
func (g *Gateway) Drain(ctx context.Context) error {
	g.draining.Store(true)
	g.ws.Refuse()
	err := g.hub.Drain(ctx)
	g.ws.Wait(ctx)
	return errors.Join(err, g.Close())
}

// Close ends the gateway at once.
func (g *Gateway) Close() error {
	var err error
	g.closing.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		g.ws.Refuse()
		err = g.http.Close()
		g.ws.Wait(ctx)
		g.stop()
		g.turns.Close()
		g.running.Wait()
		g.auth.Close()
		err = errors.Join(err, g.closeLog())
	})
	if err != nil {
		return fmt.Errorf("close gateway: %w", err)
	}
	return nil
}

// spacesOf lists the spaces that a token is good for; those that it is an
// invitation to are found as long as they are open.
func (g *Gateway) spacesOf(ctx context.Context, token string, now time.Time) ([]string, error) {
	names, err := g.auth.Spaces(ctx, token, now)
	for _, s := range g.hub.Open() {
		if _, expires, ok := s.LookupInvitation(auth.Hash(token)); ok && (expires.IsZero() || now.Before(expires)) {
			names, err = append(names, s.Name()), nil
		}
	}
	return names, err
}

// has reports whether the log of a space has an envelope of this id.
func (g *Gateway) has(ctx context.Context, name string, id protocol.ID) (bool, error) {
	_, err := g.journal.Lookup(ctx, name, id)
	if errors.Is(err, journal.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// invites looks invitations up in the spaces' own state.
type invites struct {
	hub *space.Hub
	log journal.Journal
}

// LookupInvite returns whom an invitation is for.
func (i invites) LookupInvite(name string, hash [32]byte) (protocol.ParticipantID, time.Time, bool) {
	// Whoever presents any token gets here: a space without a log has invited
	// nobody and is not opened for that.
	ctx := context.Background()
	if _, newest, err := i.log.Bounds(ctx, name); err != nil || newest == 0 {
		return "", time.Time{}, false
	}
	s, err := i.hub.Space(ctx, name)
	if err != nil {
		return "", time.Time{}, false
	}
	return s.LookupInvitation(hash)
}

// Invited looks at the spaces that are open. To read the logs of all others
// for every token that somebody makes up would cost too much; an invitation to
// one of them is nobody's token elsewhere.
func (i invites) Invited(hash [32]byte, now time.Time) bool { return i.hub.Invited(hash, now) }
