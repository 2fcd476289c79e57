// Package natsconn holds what everything that talks to NATS has in common: how
// a connection behaves, and how names become subject tokens.
package natsconn

import (
	"fmt"
	"log/slog"
	neturl "net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Connect makes a connection that several users can share. It returns at
// once, connected or not, and never gives up: a NATS that comes later, or
// comes back, is found. What is published while it is away is an error and not
// kept for later, since the sender is told so too.
//
// The options come last and win. Err: an option or address that cannot be.
func Connect(url string, logger *slog.Logger, options ...nats.Option) (*nats.Conn, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if url == "" {
		url = nats.DefaultURL
	}
	if err := CheckURLs(url); err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	nc, err := nats.Connect(url, append(defaultOptions(logger), options...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	return nc, nil
}

// CheckURLs reads addresses as nats.Connect does, which repeats one that cannot
// be read, and the password in it. The error names its place in the list alone.
func CheckURLs(urls string) error {
	for i, address := range strings.Split(urls, ",") {
		address = strings.TrimSpace(address)
		if !strings.Contains(address, "://") {
			address = "nats://" + address
		}
		if _, err := neturl.Parse(address); err != nil {
			return fmt.Errorf("address %d cannot be read: expected nats://host:port, with special characters of a password written as %%XX", i+1)
		}
	}
	return nil
}

func defaultOptions(logger *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.Name("meup-gateway"),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		nats.ReconnectBufSize(-1),
		nats.Timeout(2 * time.Second),
		// A network that swallows packets is noticed within 3 s.
		nats.PingInterval(time.Second),
		nats.MaxPingsOutstanding(2),
		nats.ConnectHandler(func(nc *nats.Conn) {
			logger.Info("connected to NATS", "server", nc.ConnectedServerName())
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				logger.Warn("connection to NATS lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			logger.Info("connected to NATS again", "server", nc.ConnectedServerName())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			if sub != nil {
				logger.Warn("NATS subscription", "subject", sub.Subject, "error", err)
				return
			}
			logger.Warn("NATS connection", "error", err)
		}),
	}
}
