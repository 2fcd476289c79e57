package gateway

import (
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
)

// maxUnauthenticated bounds the connections without an authenticated
// participant.
const maxUnauthenticated = 1024

// heavySlots is how many long frames and bodies are decoded and admitted
// concurrently. Each uses up to 16 times its size in memory until it is in the
// log.
const heavySlots = 4

// connLimits divides the file descriptors of the process. It reserves a quarter
// for the log and other files; up to a quarter of the rest is for connections
// without a participant.
func connLimits(descriptors uint64) access.ConnLimits {
	total := int(min(descriptors, 1<<24))
	total -= min(max(total/4, 64), total/2, 2048)
	unauthenticated := max(min(maxUnauthenticated, total/4), 1)
	return access.ConnLimits{Unauthenticated: unauthenticated, Authenticated: max(total-unauthenticated, 1)}
}

// newHTTPServer returns a server for one of the gateway's listeners. It has no
// ReadTimeout, which would end event streams and upgraded connections. Headers
// have a time limit; each handler bounds the read of its body, see
// [access.HoldBody]. Handlers that wait longer than the WriteTimeout are
// [access.Patient].
func (g *Gateway) newHTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: g.options.Config.HandshakeTimeout, IdleTimeout: 30 * time.Second,
		MaxHeaderBytes: 32 << 10, WriteTimeout: time.Minute, ErrorLog: slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
		ConnContext: g.conns.Context, ConnState: g.conns.StateChanged,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 32}, // a connection counts once, however many streams it has
	}
}

// NewSideServer returns a server for metrics or profiles on a separate
// listener, with the time limits of the gateway. Wrap the listener with
// CountConns.
func (g *Gateway) NewSideServer(h http.Handler) *http.Server {
	return g.newHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		access.HoldBody(w, r)
		if refused := access.CheckHost(r, g.cfg.Load().Origins); refused != nil {
			access.WriteError(w, refused)
			return
		}
		h.ServeHTTP(w, r)
	}))
}

// CountConns wraps a listener so that its connections count against the
// gateway's limits.
func (g *Gateway) CountConns(l net.Listener) net.Listener { return g.conns.Listen(l) }

// Connections returns how many connections are unauthenticated and how many
// belong to a participant.
func (g *Gateway) Connections() (unauthenticated, authenticated int) { return g.conns.Counts() }
