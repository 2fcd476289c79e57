package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/reasoner/httpapi"
)

// servers are HTTP servers, each with its listener, that start and stop
// together.
type servers []server

type server struct {
	*http.Server
	listener net.Listener
}

// add listens on the address of a flag, for this many concurrent connections. slowest
// bounds the duration of a response: a client that has not read it by then is
// disconnected, like a client that sends a request more slowly than
// httpapi.BodyTimeout.
func (s *servers) add(ctx context.Context, flag, address string, h http.Handler, most int, slowest time.Duration, log *slog.Logger) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return program.ListenError(address, flag, err)
	}
	*s = append(*s, server{listener: netutil.LimitListener(l, most), Server: &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: httpapi.BodyTimeout, WriteTimeout: slowest, IdleTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}})
	return nil
}

func (s servers) addresses() []net.Addr {
	list := make([]net.Addr, len(s))
	for i := range s {
		list[i] = s[i].listener.Addr()
	}
	return list
}

// close closes servers that have not served.
func (s servers) close() {
	for i := range s {
		_ = s[i].listener.Close() // it has no connections
	}
}

// serve serves until ctx ends or a listener fails; then it waits for active
// requests for at most drain.
func (s servers) serve(ctx context.Context, drain time.Duration, log *slog.Logger) error {
	served := make(chan error, len(s))
	for _, one := range s {
		go func() { served <- one.Serve(one.listener) }() // ends with Shutdown or Close below, and is waited for
	}
	var fault error
	waiting := len(s)
	select {
	case err := <-served:
		waiting--
		fault = fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		log.Info("draining", "timeout", drain)
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	for _, one := range s {
		if err := one.Shutdown(patience); err != nil {
			log.Warn("requests were cut off", "error", err)
			_ = one.Close() // the error of Shutdown has more detail
		}
	}
	for range waiting {
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			fault = errors.Join(fault, err)
		}
	}
	return fault
}
