// Package natsconn has the common parts of all NATS clients: the settings of a
// connection, and the encoding of names as subject tokens.
package natsconn

import (
	"fmt"
	"log/slog"
	neturl "net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Connect creates a connection that several users can share. It returns at
// once, connected or not, and reconnects forever, so NATS may start later or
// restart. Publishing while disconnected is an error and is not buffered, since
// the sender receives that error too.
//
// The given options take precedence. Err: an invalid option or address.
func Connect(url string, logger *slog.Logger, options ...nats.Option) (*nats.Conn, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if url == "" {
		url = nats.DefaultURL
	}
	if err := checkURLs(url); err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	nc, err := nats.Connect(url, append(defaultOptions(logger), options...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	return nc, nil
}

// checkURLs parses addresses like nats.Connect, whose error repeats an invalid
// address with its password. The error of checkURLs has only its index in the
// list.
func checkURLs(urls string) error {
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
		// Detect a network that drops packets within 3 s.
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
