// Package natsembed runs a NATS server with JetStream within the process, for
// operators who want a queue on disk without another program. Workers and
// clients of other processes can connect to it.
//
// Its file store syncs every acknowledged write to the disk; a NATS server
// syncs every two minutes by default. The server is not part of a cluster: its
// folder is the only copy.
package natsembed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/meup-protocol/meup/internal/kit/privatedir"
)

// DefaultListen is the default address of a server.
const DefaultListen = "127.0.0.1:4222"

const (
	// startWait bounds the start: a large store is loaded first.
	startWait = time.Minute
	// startPoll is the interval at which Start checks for a fatal error.
	startPoll = 200 * time.Millisecond
)

// Options configures a server. Dir is required.
type Options struct {
	// Dir is the folder of the store; no other process may use it. It is created
	// if it does not exist.
	Dir string
	// Listen is host:port; empty means DefaultListen, port 0 a free port.
	Listen string

	// Token is required from all clients. If it is empty, every client that
	// reaches the address can connect.
	Token string

	// Logger receives the server's log messages; nil discards them.
	Logger *slog.Logger
}

// Server is a running NATS server.
type Server struct {
	nats *server.Server
	lock *os.File
	opts Options
}

// Start starts a server and returns when it accepts connections. It returns an
// error if the folder is in use, the address is in use, or ctx ends.
func Start(ctx context.Context, opts Options) (*Server, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	config, err := opts.config()
	if err != nil {
		return nil, err
	}
	if err := privatedir.Secure(opts.Dir, opts.Logger, "jetstream", lockName); err != nil {
		return nil, fmt.Errorf("start NATS server: %w", err)
	}
	lock, err := privatedir.Lock(filepath.Join(opts.Dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("start NATS server: %w", err)
	}
	s := &Server{lock: lock, opts: opts}
	if err := s.start(ctx, config); err != nil {
		s.Close()
		return nil, fmt.Errorf("start NATS server: %w", err)
	}
	return s, nil
}

func (o *Options) config() (*server.Options, error) {
	if o.Dir == "" {
		return nil, errors.New("start NATS server: no folder is named")
	}
	if o.Listen == "" {
		o.Listen = DefaultListen
	}
	host, portText, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("start NATS server: listen on %q: %w", o.Listen, err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("start NATS server: listen on %q: the port is no number", o.Listen)
	}
	if port == 0 {
		portText = strconv.Itoa(server.RANDOM_PORT)
	}
	n, _ := strconv.Atoi(portText)
	return &server.Options{
		ServerName: "meup-embedded",
		Host:       host, Port: n,
		Authorization: o.Token,
		JetStream:     true, StoreDir: o.Dir,
		SyncAlways: true,
		NoSigs:     true, // the program handles them
	}, nil
}

func (s *Server) start(ctx context.Context, config *server.Options) error {
	ns, err := server.NewServer(config)
	if err != nil {
		return err
	}
	l := &logger{log: s.opts.Logger}
	ns.SetLoggerV2(l, false, false, false)
	s.nats = ns
	ns.Start()
	deadline := time.Now().Add(startWait)
	for !ns.ReadyForConnections(startPoll) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case l.fatal() != "":
			return errors.New(l.fatal())
		case time.Now().After(deadline):
			return fmt.Errorf("it is not ready after %s", startWait)
		}
	}
	if !ns.JetStreamEnabled() {
		return fmt.Errorf("the store in %s cannot be used: %s", s.opts.Dir, l.fatal())
	}
	return nil
}

// URL returns the address for clients, without credentials.
func (s *Server) URL() string { return "nats://" + s.nats.Addr().String() }

// Loopback reports whether only this machine can reach the server.
func (s *Server) Loopback() bool {
	a, ok := s.nats.Addr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

// ClientOptions returns the options for connections from this process: they use
// no network, and include the credentials.
func (s *Server) ClientOptions() []nats.Option {
	list := []nats.Option{nats.InProcessServer(s.nats)}
	if s.opts.Token != "" {
		list = append(list, nats.Token(s.opts.Token))
	}
	return list
}

// Close closes all connections and stops the server, and returns when it has
// stopped.
func (s *Server) Close() {
	if s.nats != nil {
		s.nats.Shutdown()
		s.nats.WaitForShutdown()
	}
	_ = s.lock.Close() // releases the lock too
}

const lockName = "LOCK"
