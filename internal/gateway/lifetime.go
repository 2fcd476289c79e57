package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/protocol"
)

// startGrace is how long Serve waits for the log before it accepts connections
// without it.
const startGrace = 500 * time.Millisecond

// closeTimeout bounds how long Drain waits for the log to close after its
// context has ended.
const closeTimeout = 800 * time.Millisecond

var (
	errStarting = errors.New("starting: the log is not open yet")
	errDraining = errors.New("shutting down")
	// errNotWritable is the reason that clients without a token receive.
	errNotWritable = errors.New("the log is not accepting entries")

	errStopped = errors.New("the gateway was stopped before its log was open")

	// ErrNotClosed is returned by Drain when the log does not close in time,
	// such as on a disk that does not answer. The process has to exit.
	ErrNotClosed = errors.New("the log did not close in time")
)

// Opened returns a channel that is closed when the log is open, or cannot be
// opened. In the second case Err and Serve return the reason.
func (g *Gateway) Opened() <-chan struct{} { return g.opened }

// Err returns why the log could not be opened. It is nil before Opened.
func (g *Gateway) Err() error {
	select {
	case <-g.opened:
		return g.openErr
	default:
		return nil
	}
}

// isOpen reports whether the log is open and the parts that need it are
// running.
func (g *Gateway) isOpen() bool {
	select {
	case <-g.opened:
		return g.openErr == nil
	default:
		return false
	}
}

// Ready returns nil while the gateway can do its work, and otherwise the reason
// why it cannot.
func (g *Gateway) Ready() error {
	switch {
	case g.draining.Load():
		return errDraining
	case !g.isOpen():
		return errStarting
	}
	return g.journal.Ready()
}

// publicReady is Ready for clients without a token. The reason contains no
// paths and no addresses; the gateway's log has them.
func (g *Gateway) publicReady() error {
	err := g.Ready()
	if err == nil || errors.Is(err, errDraining) || errors.Is(err, errStarting) {
		return err
	}
	return errNotWritable
}

// readable returns why participants cannot read now. The log of a single
// gateway is complete even while it accepts no entries, for example on a full
// disk: then only sending is rejected. A shared log may lack entries of other
// gateways.
func (g *Gateway) readable() error {
	if g.cluster == nil {
		return nil
	}
	return g.journal.Ready()
}

// ServeHTTP answers a request. Most requests need the log.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	access.HoldBody(w, r)
	if g.isOpen() {
		g.api.ServeHTTP(w, r)
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /healthz":
		writeStatus(w, http.StatusOK, `{"status":"ok"}`)
	case "GET /readyz":
		writeStatus(w, http.StatusServiceUnavailable, `{"status":"unavailable","reason":"`+errStarting.Error()+`"}`)
	default:
		access.WriteError(w, protocol.Errorf(protocol.CodeUnavailable, "The gateway is starting; try again in a moment."))
	}
}

func writeStatus(w http.ResponseWriter, status int, body string) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body + "\n")) // the peer may be gone
}

// Serve serves connections from l until Drain or Close, and then returns nil.
// It returns earlier if the log cannot be opened.
func (g *Gateway) Serve(l net.Listener) error {
	// A log on the local disk opens quickly. Until then connections wait in the
	// listener's queue, so that a client that connects right after the start
	// gets no 503.
	grace := time.NewTimer(startGrace)
	defer grace.Stop()
	select {
	case <-g.opened:
	case <-grace.C:
	}
	l = g.conns.Listen(l)
	var err error
	if g.http.TLSConfig != nil {
		err = g.http.ServeTLS(l, "", "")
	} else {
		err = g.http.Serve(l)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if err := g.Err(); err != nil && !errors.Is(err, errStopped) {
		return err
	}
	return nil
}

func (g *Gateway) run(f func()) {
	g.running.Add(1)
	go func() { // ends with the context that f was given; Close waits
		defer g.running.Done()
		f()
	}()
}

// watchReadiness logs when the gateway stops being ready and when it is ready
// again.
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

// Drain shuts the gateway down gracefully: it accepts no new connections,
// delivers admitted envelopes, and closes every connection with 1001. After three
// quarters of the time of ctx it cuts the remaining connections. It returns within
// closeTimeout after ctx, with ErrNotClosed if the log is still not closed.
func (g *Gateway) Drain(ctx context.Context) error {
	g.draining.Store(true)
	g.opening()
	ended := make(chan error, 1)
	g.ending.Go(func() { ended <- g.drain(ctx) }) // waited for below, unless the log blocks
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	timeout := time.NewTimer(closeTimeout)
	defer timeout.Stop()
	select {
	case err := <-ended:
		return err
	case <-timeout.C:
		return ErrNotClosed
	}
}

func (g *Gateway) drain(ctx context.Context) error {
	var err error
	if g.isOpen() {
		// Clients that do not read take all the time that they are given. The log closes in
		// the rest.
		if deadline, ok := ctx.Deadline(); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, deadline.Add(-time.Until(deadline)/4))
			defer cancel()
		}
		g.ws.Refuse()
		err = g.hub.Drain(ctx)
		g.ws.Wait(ctx)
		g.conns.CloseIdle()
		err = errors.Join(err, g.http.Shutdown(ctx)) // lets running requests such as downloads complete
	}
	return errors.Join(err, g.Close())
}

// Close stops the gateway at once.
func (g *Gateway) Close() error {
	var err error
	g.closing.Do(func() {
		g.opening()
		err = g.http.Close()
		<-g.opened
		g.stop()
		if g.openErr == nil { // what open started, the log last
			cut, cancel := context.WithCancel(context.Background())
			cancel()
			g.ws.Refuse()
			g.ws.Wait(cut)
			g.turns.Close()
			g.running.Wait()
			g.auth.Close()
			if g.cluster != nil {
				err = errors.Join(err, g.cluster.peers.Close())
			}
			err = errors.Join(err, g.journal.Close())
			if g.cluster != nil {
				g.cluster.conn.Close()
			}
		}
		g.running.Wait()
	})
	if err != nil {
		return fmt.Errorf("close gateway: %w", err)
	}
	return nil
}

// keepRecords records the guests that are here, and which promotions have ended, see
// [space.Hub.RecordGuests] and [space.Hub.EndPromotions], once a minute until ctx ends.
func (g *Gateway) keepRecords(ctx context.Context) {
	t := time.NewTicker(time.Minute)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			g.hub.RecordGuests(ctx)
			g.hub.EndPromotions(ctx)
		}
	}
}
