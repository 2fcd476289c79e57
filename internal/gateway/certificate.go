package gateway

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/config"
)

const (
	// defaultCertificateEvery is the interval at which the files are read. ACME clients
	// replace files and send no signal.
	defaultCertificateEvery = time.Minute
	// expiresSoon is how long before the end of a certificate warnings begin. The alert
	// rule MeupCertificateExpires has the same time.
	expiresSoon = 14 * 24 * time.Hour
	warnEvery   = 24 * time.Hour
)

// certificate is the TLS certificate of new connections. It is replaced when its files
// have another one. Established connections keep theirs.
type certificate struct {
	log     *slog.Logger
	now     func() time.Time
	current atomic.Pointer[tls.Certificate]

	mu     sync.Mutex
	fault  string    // of the files; logged when it changes
	warned time.Time // when the expiry was logged
}

// config returns the settings of a listener.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}

// replace uses a certificate for new connections.
func (c *certificate) replace(pair *tls.Certificate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.use(pair)
	c.warnExpiry()
}

// use is replace with the lock held.
func (c *certificate) use(pair *tls.Certificate) {
	before := c.current.Swap(pair)
	c.fault = ""
	if slices.EqualFunc(before.Certificate, pair.Certificate, bytes.Equal) {
		return
	}
	c.warned = time.Time{}
	c.log.Info("TLS certificate replaced", "expires", notAfter(pair))
}

// watch reads the files at intervals, until ctx ends. It reads them instead of comparing
// their times, which copies and restored files may not change.
func (c *certificate) watch(ctx context.Context, every time.Duration, files func() config.TLS) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		c.check(files)
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// check uses the certificate in the files, unless they are faulty. While an ACME client
// replaces them, they may be incomplete, or not belong together.
func (c *certificate) check(files func() config.TLS) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.warnExpiry()
	at := files() // with the lock held: a reload replaces them first, and the certificate then
	if !at.Enabled() {
		return
	}
	pair, err := tls.LoadX509KeyPair(at.Cert, at.Key)
	if err == nil {
		c.use(&pair)
		return
	}
	if fault := err.Error(); fault != c.fault {
		c.fault = fault
		c.log.Warn("the files of the TLS certificate cannot be used; the current one stays in effect", "cert", at.Cert, "key", at.Key, "error", err)
	}
}

// warnExpiry logs once a day that the certificate in use ends soon, or has ended.
func (c *certificate) warnExpiry() {
	now, end := c.now(), c.expiry()
	if end.IsZero() || end.Sub(now) > expiresSoon || now.Sub(c.warned) < warnEvery {
		return
	}
	c.warned = now
	if now.After(end) {
		c.log.Error("the TLS certificate has expired: clients refuse it", "expired", end)
		return
	}
	c.log.Warn("the TLS certificate expires soon", "expires", end, "days", int(end.Sub(now).Hours()/24))
}

// expiry returns the end of the certificate in use.
func (c *certificate) expiry() time.Time { return notAfter(c.current.Load()) }

// notAfter returns the end of a certificate; zero if it cannot be read.
func notAfter(pair *tls.Certificate) time.Time {
	leaf := pair.Leaf
	if leaf == nil && len(pair.Certificate) > 0 {
		leaf, _ = x509.ParseCertificate(pair.Certificate[0]) // nil if it fails
	}
	if leaf == nil {
		return time.Time{}
	}
	return leaf.NotAfter
}
