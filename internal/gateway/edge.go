package gateway

import (
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
)

// maxUnauthenticated bounds the connections that serve no participant.
const maxUnauthenticated = 1024

// heavySlots is how many long frames and bodies are decoded and admitted at one
// time: each takes up to 16 times its bytes until the log has it.
const heavySlots = 4

// connLimits divides the descriptors that the process may have: a quarter is
// kept for the log and for everything else that opens files, and up to a
// quarter of the others is for connections without a participant.
func connLimits(descriptors uint64) access.ConnLimits {
	total := int(min(descriptors, 1<<24))
	total -= min(max(total/4, 64), total/2, 2048)
	unauthenticated := max(min(maxUnauthenticated, total/4), 1)
	return access.ConnLimits{Unauthenticated: unauthenticated, Authenticated: max(total-unauthenticated, 1)}
}

// descriptorLimit returns how many files this process may have open. The Go
// runtime has raised the soft limit to the hard one.
func descriptorLimit() uint64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 1024
	}
	return r.Cur
}

// newHTTPServer returns a server for one of the gateway's listeners. It has no
// ReadTimeout, which would end event streams and upgraded connections: headers
// have a time limit, and bodies are read by who asks for them, see
// [access.HoldBody].
func (g *Gateway) newHTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: g.options.Config.HandshakeTimeout, IdleTimeout: 30 * time.Second,
		MaxHeaderBytes: 32 << 10, WriteTimeout: time.Minute, ErrorLog: slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
		ConnContext: g.conns.Context, ConnState: g.conns.StateChanged,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 32}, // a connection counts as one
	}
}

// NewSideServer returns a server for metrics or profiles on a listener of their
// own, with the time limits of the gateway. The listener is to be one of
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

// CountConns lets the connections of a listener count with the gateway's.
func (g *Gateway) CountConns(l net.Listener) net.Listener { return g.conns.Listen(l) }

// Connections returns how many connections serve no participant and how many
// serve one.
func (g *Gateway) Connections() (unauthenticated, authenticated int) { return g.conns.Counts() }
