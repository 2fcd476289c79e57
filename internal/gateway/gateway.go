// Package gateway assembles a gateway from its configuration: journal, hub, admission,
// WebSockets, HTTP, adapters, turns and search, the cluster. It is the only package that
// imports every part. Commands and tests both start gateways through it,
// so that the tests run the same code.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/gateway/derived"
	"github.com/meup-protocol/meup/internal/gateway/httpapi"
	"github.com/meup-protocol/meup/internal/gateway/web"
	"github.com/meup-protocol/meup/internal/gateway/ws"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

// Options configures a gateway.
type Options struct {
	Config  *config.Config
	Logger  *slog.Logger // nil: discards everything
	Version httpapi.Version
	Page    fs.FS // the web page's files; nil: the bundled ones
	// AcceptLoss opens a log that lacks entries it once acknowledged, which is
	// an error otherwise.
	AcceptLoss bool
	// RestoreLog puts entries that a log on NATS has lost back from the copy in the
	// data folder.
	RestoreLog bool
	// CertificateEvery is the interval at which the files of the TLS certificate are
	// read; default a minute.
	CertificateEvery time.Duration
	// ListWait is that of [mcpserver.Options], SearchWait the Wait of [derived.SearchOptions].
	ListWait, SearchWait time.Duration

	fs vfs.FS // of the embedded log; nil: the operating system's. Tests inject failures
}

// Gateway is a gateway in this process. New creates it, Serve serves it, and
// Drain or Close stops it.
type Gateway struct {
	options Options
	log     *slog.Logger
	cfg     atomic.Pointer[config.Config]
	metrics *Metrics
	safety  *redactor
	codes   access.LoginCodes
	secret  access.Secret // of the log
	page    httpapi.Page  // nil: the gateway serves no page
	http    *http.Server
	// certificate is nil for plain HTTP.
	certificate *certificate
	conns       *access.Conns

	background context.Context //nolint:containedctx // ends with Close
	stop       context.CancelFunc
	opening    context.CancelFunc // cancels opening the log
	running    sync.WaitGroup
	closing    sync.Once
	draining   atomic.Bool
	ending     sync.WaitGroup // a Drain, which may still run after ErrNotClosed

	// opened is closed when the log is open, or when openErr has the reason why
	// it is not. The fields below are set before.
	opened  chan struct{}
	openErr error
	journal journal.Journal
	auth    *access.TokenAuthenticator
	hub     *space.Hub
	ws      *ws.Server
	api     *httpapi.Server
	turns   *derived.TurnStore
	cluster *clusterLink // nil: a single gateway
	admin   administration
}

// New creates a gateway and starts to open its log. It does not wait for the
// log: Opened reports when it is open. Until then Serve answers /healthz, and
// every other request with 503. If ctx ends before the log is open, opening it
// is canceled; later it has no effect.
func New(ctx context.Context, o Options) (*Gateway, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	page, err := openPage(o.Page)
	if err != nil {
		return nil, err
	}
	g := &Gateway{options: o, log: o.Logger, page: page, opened: make(chan struct{}), metrics: NewMetrics(MetricsOptions{
		Version: o.Version.Version, Commit: o.Version.Commit, Logger: o.Logger,
	})}
	g.safety, err = newRedactor(o.Config, g.metrics)
	if err != nil {
		return nil, err
	}
	g.cfg.Store(o.Config)
	g.conns = access.NewConns(connLimits(descriptorLimit()))
	g.http = g.newHTTPServer(g)
	if o.Config.TLS.Enabled() {
		g.certificate = &certificate{log: o.Logger, now: time.Now}
		g.certificate.current.Store(o.Config.TLS.Certificate)
		g.http.TLSConfig = g.certificate.config()
	}
	g.background, g.stop = context.WithCancel(context.WithoutCancel(ctx))
	ctx, g.opening = context.WithCancel(ctx)
	g.run(func() { g.open(ctx) })
	if g.certificate != nil {
		every := cmp.Or(o.CertificateEvery, defaultCertificateEvery)
		g.run(func() { g.certificate.watch(g.background, every, func() config.TLS { return g.cfg.Load().TLS }) })
	}
	return g, nil
}

// snapshotEvery is the interval at which the states of spaces are stored.
const snapshotEvery = 10 * time.Second

// open opens the log, and creates and starts everything that needs it. If the log cannot be
// opened, it closes the HTTP server, so that Serve returns.
func (g *Gateway) open(ctx context.Context) {
	cfg := g.options.Config
	if err := g.openLog(ctx, cfg); err != nil {
		g.openErr = err
		if ctx.Err() != nil {
			g.openErr = errStopped
		}
		close(g.opened)
		_ = g.http.Close() // only listeners can fail to close
		return
	}
	services := space.Services{
		Journal: g.journal, Validate: schemas.Payload, Safety: g.safety, Observer: g.metrics,
		NewID: newID, NewToken: access.NewToken, Logger: g.log,
		RingEntries: cfg.Ring.Entries, RingBytes: int(cfg.Ring.Bytes), Administered: g.applyDirectory,
	}
	if g.cluster != nil {
		services.Peers = g.cluster
	}
	g.hub = space.NewHub(services, spacesOf(cfg, cfg, g.heldIn))
	if err := g.hub.LoadInvitations(g.background); err != nil {
		g.log.Warn("invitation tokens cannot be checked yet", "error", err)
	}
	g.auth = access.NewTokenAuthenticator(tokensOf(cfg), access.TokenOptions{Invites: invites{g.hub, &g.admin}, Log: g.log})
	g.admin.mu.Lock()
	g.admin.moveLocked(cfg.Administration.Space)
	g.admin.mu.Unlock()
	if name := cfg.Administration.Space; name != "" {
		if _, err := g.hub.Space(g.background, name); err != nil { // followDirectory tries again
			g.log.Warn("the administrative space cannot be read yet; its tokens are not accepted", "space", name, "error", err)
		}
		g.applyDirectory()
	}
	g.notePolicy(cfg)
	if g.cluster != nil {
		g.cluster.attach(g.hub)
	}
	g.secret.Journal = g.journal
	g.serveParts(cfg)
	g.run(func() { g.hub.Run(g.background, time.Second) })
	g.run(func() { g.hub.SaveSnapshots(g.background, snapshotEvery) })
	g.run(func() { g.keepRecords(g.background) })
	g.run(func() { g.followDirectory(g.background) })
	g.run(func() { g.ws.Run(g.background) })
	g.run(func() { g.watchReadiness(g.background) })
	sources := Sources{Ready: g.Ready, Spaces: func() int { return len(g.hub.Open()) }, Joining: g.ws.Joining}
	if g.certificate != nil {
		sources.CertificateExpiry = g.certificate.expiry
	}
	g.metrics.Sample(sources)
	close(g.opened)
}

// sessionBurst is how many sessions the browsers of an address may end at once, and how many
// they may replace.
const sessionBurst = 100

// serveParts creates the WebSocket server and the HTTP API.
func (g *Gateway) serveParts(cfg *config.Config) {
	admission := &access.Admission{
		Hub: g.hub, Auth: g.auth, Spaces: g.spacesOf, Ready: g.readable, Logger: g.log,
		LoginFailed: g.metrics.LoginFailed, Codes: &g.codes,
		Attempts: limit.NewAttempts(limit.AttemptLimits{Failures: cfg.LoginFailures.Burst, Refill: cfg.LoginFailures.Refill}),
	}
	ended := limit.AttemptLimits{Failures: sessionBurst}
	admission.Sessions = &access.Sessions{Secret: &g.secret, SignOuts: limit.NewAttempts(ended), SignIns: limit.NewAttempts(ended)}
	heavy := make(chan struct{}, heavySlots)
	violations := func() limit.Violations { // a reload changes them
		v := g.cfg.Load().Violations
		return limit.NewViolations(v.Max, v.Window)
	}
	g.ws = ws.NewServer(ws.Options{
		Admission: admission, Heavy: heavy, Origins: cfg.Origins, NewViolations: violations,
		PingInterval: zeroMeansNoLimit(cfg.PingInterval), IdleTimeout: zeroMeansNoLimit(cfg.IdleTimeout), HandshakeTimeout: cfg.HandshakeTimeout,
		MaxConnections: cfg.MaxConnections, Observer: g.metrics, Logger: g.log,
	})
	g.turns = derived.NewTurnStore(derived.TurnOptions{
		Dir: indexDir(cfg, turnsIndex), Bounds: g.journal.Bounds, Base: g.journal.Base, Mask: g.safety, Logger: g.log,
	})
	index := derived.NewSearchStore(derived.SearchOptions{
		Dir: indexDir(cfg, searchIndex), Spaces: g.hub.Open, Bounds: g.journal.Bounds, Mask: g.safety.Text, Logger: g.log,
		Wait: g.options.SearchWait,
	})
	g.run(func() { index.Run(g.background) })
	options := httpapi.Options{
		Turns: g.turns, Search: index, Has: g.has, Administration: g, Policy: g.Policy, Analysis: g,
		Admission: admission, Heavy: heavy, Journal: g.journal, Origins: cfg.Origins, Ready: g.publicReady, WS: g.ws, Page: g.page,
		Version: g.options.Version, IdleTimeout: zeroMeansNoLimit(cfg.IdleTimeout), Logger: g.log,
	}
	options.Adapters = func(api *httpapi.Server) []httpapi.Route { return g.routes(cfg, api) }
	options.Hooks = g.hooks(cfg)
	if cfg.MetricsListen == "" {
		options.Metrics = g.metrics.Handler()
	}
	g.api = httpapi.New(options)
}

// zeroMeansNoLimit replaces 0, which means never in a configuration, with 100 years.
func zeroMeansNoLimit(d time.Duration) time.Duration {
	if d == 0 {
		return 100 * 365 * 24 * time.Hour
	}
	return d
}

func newID() protocol.ID {
	id, err := uuid.NewV7()
	if err != nil {
		panic(err) // without randomness nothing is secure
	}
	return protocol.ID(id.String())
}

// Reload applies another configuration file. It waits until the log is open. It
// returns the settings that differ from those at the start and need a restart.
func (g *Gateway) Reload(cfg *config.Config) (needsRestart []string) {
	if <-g.opened; g.openErr != nil {
		return nil
	}
	g.admin.mu.Lock()
	g.cfg.Store(cfg)
	if g.certificate != nil && cfg.TLS.Enabled() {
		g.certificate.replace(cfg.TLS.Certificate)
	}
	g.admin.moveLocked(cfg.Administration.Space)
	g.applyLocked()
	g.admin.mu.Unlock()
	g.hub.EndPromotions(g.background)
	if err := g.safety.replace(cfg); err != nil {
		g.log.Error("the safety settings were not changed", "error", err)
	}
	g.turns.Remask()
	g.notePolicy(cfg)
	return fixedDifferences(g.options.Config, cfg)
}

// spacesOf lists the spaces that a token is valid for, including the space that
// it is an invitation to.
func (g *Gateway) spacesOf(ctx context.Context, token string, now time.Time) ([]string, error) {
	names, err := g.auth.Spaces(ctx, token, now)
	if name, _, ok, _ := g.hub.InvitedTo(access.Hash(token)); ok {
		if _, inviteErr := g.auth.Authenticate(ctx, name, token, now); inviteErr == nil {
			names, err = append(names, name), nil
		}
	}
	return names, err
}

// has reports whether the log of a space has an envelope with this id.
func (g *Gateway) has(ctx context.Context, name string, id protocol.ID) (bool, error) {
	_, err := g.journal.Lookup(ctx, name, id)
	if errors.Is(err, journal.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// invites looks up invitations for the authenticator: in the hub's index, and in
// the state of the named space.
type invites struct {
	*space.Hub
	admin *administration
}

// InvitedTo returns the space that a token of this digest is an invitation to. The
// error is also set while the administrative space has not been read: then the token
// may be one of its tokens.
func (i invites) InvitedTo(hash [32]byte) (name string, expires time.Time, ok bool, err error) {
	name, expires, ok, err = i.Hub.InvitedTo(hash)
	if ok || err != nil {
		return name, expires, ok, err
	}
	i.admin.mu.Lock()
	defer i.admin.mu.Unlock()
	if i.admin.space != "" && !i.admin.read {
		err = errDirectoryUnread
	}
	return name, expires, ok, err
}

// LookupInvite returns the invitation whose token has this hash.
func (i invites) LookupInvite(ctx context.Context, name string, hash [32]byte) (access.Invitation, bool, error) {
	s, err := i.Space(ctx, name)
	if err != nil {
		if errors.Is(err, space.ErrNoSpace) {
			err = nil
		}
		return access.Invitation{}, false, err
	}
	found, ok := s.LookupInvitation(hash)
	return access.Invitation(found), ok, nil
}

// openPage returns the page with these files, or the bundled page; nil if the
// program has none.
func openPage(files fs.FS) (httpapi.Page, error) {
	open := web.Bundled
	if files != nil {
		open = func() (*web.Site, error) { return web.New(files) }
	}
	site, err := open()
	if err != nil {
		return nil, fmt.Errorf("open the web page: %w", err)
	}
	if site == nil {
		return nil, nil //nolint:nilnil // a gateway without a page
	}
	return site, nil
}

// HasPage reports whether the gateway serves a web page.
func (g *Gateway) HasPage() bool { return g.page != nil }

// NewLoginCode returns a code with which one browser can sign in without the
// token: once, and within access.CodeLifetime. It is for the "#code=" fragment
// of the page's address, which browsers do not send.
func (g *Gateway) NewLoginCode(token string) string { return g.codes.New(token, time.Now()) }
