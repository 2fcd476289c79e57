package config

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/safety/redact"
)

// resolver completes a Config from a file. The methods check what the schema
// cannot express.
type resolver struct {
	report
	cfg      *Config
	env      func(string) (string, bool)
	readFile func(string) ([]byte, error)
	alone    bool // nothing that the text names is read; readFile is nil
	secrets  []redact.Secret
}

func (r *resolver) resolve(root *node) {
	cfg := r.cfg
	for _, s := range settings {
		if n := root.get(strings.Split(s.key, ".")...); n.isSet() {
			before := *cfg
			if err := s.set(cfg, fmt.Sprint(n.value)); err != nil {
				*cfg = before
				r.errorf(n, "%v", err)
			}
		}
	}
	cfg.Data = r.path(cfg.Data)
	if root.get("limits", "rate").isSet() {
		// The traffic limits belong together: limits on bytes or reasoning that
		// the file does not mention would be a surprise.
		cfg.Limits.Burst, cfg.Limits.BytesPerSecond, cfg.Limits.Kinds = 0, 0, nil
	}
	r.decode(root, cfg)
	r.tls(root.get("tls"))
	for _, d := range cfg.listenerDiagnostics() {
		r.add(root.get(d.key), d.severity, d.message)
	}
	for i, v := range cfg.Origins {
		n := root.get("origins").members[i].value
		if !n.isSet() {
			continue
		}
		origin, err := parseOrigin(v)
		if err != nil {
			r.errorf(n, "%v", err)
		}
		if origin == "*" {
			r.warnf(n, "pages of every origin may connect if they have a token")
		}
		cfg.Origins[i] = origin
	}
	r.safety(root.get("safety"))
	r.timing(root)
	if n := root.get("ring", "bytes"); n.isSet() && cfg.Ring.Bytes == 0 {
		r.errorf(n, "a ring without bytes holds nothing; the default is 8MiB")
	}
	spaces := root.get("spaces")
	if len(spaces.entries()) == 0 && !root.faulty {
		at := root
		if spaces.isSet() {
			at = spaces
		}
		r.warnf(at, "no space is configured, so no client can connect; %s", minimal)
	}
	for _, m := range spaces.entries() {
		cfg.Spaces = append(cfg.Spaces, r.space(m.key, m.value))
	}
	r.administration(root.get("administration", "space"))
	cfg.Safety.Secrets = r.secrets
}

// slowestDrain leaves the process time to exit within its 10 s.
const slowestDrain = 9 * time.Second

func (r *resolver) timing(root *node) {
	cfg := r.cfg
	for _, d := range []struct {
		value time.Duration
		at    *node
	}{
		{cfg.HandshakeTimeout, root.get("handshake_timeout")},
		{cfg.DrainTimeout, root.get("drain_timeout")},
		{cfg.Violations.Window, root.get("violations", "window")},
		{cfg.LoginFailures.Refill, root.get("login_failures", "refill")},
	} {
		if d.value == 0 && d.at.isSet() {
			r.errorf(d.at, "this must be longer than 0s")
		}
	}
	if cfg.DrainTimeout > slowestDrain {
		r.warnf(root.get("drain_timeout"), "a service manager may end the gateway after 10s; use at most %s", slowestDrain)
	}
	ping, idle := root.get("ping_interval"), root.get("idle_timeout")
	if ping != nil && ping.invalid || idle != nil && idle.invalid {
		return
	}
	// Without pings, an idle connection would be closed although it is alive.
	if cfg.IdleTimeout > 0 && (cfg.PingInterval == 0 || cfg.PingInterval >= cfg.IdleTimeout) {
		r.errorf(cmp.Or(ping, idle), "with ping_interval %s, idle connections are closed after idle_timeout %s; set a ping_interval that is shorter and not 0s",
			cfg.PingInterval, cfg.IdleTimeout)
	}
}

// path resolves a path in the configuration: relative to the configuration's
// folder, so that the working directory does not matter.
func (r *resolver) path(name string) string {
	if name == InMemory || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(r.source), name)
}

func (r *resolver) tls(n *node) {
	t := &r.cfg.TLS
	if t.Cert == "" && t.Key == "" {
		return
	}
	if t.Cert == "" || t.Key == "" {
		r.errorf(n, "tls needs both cert and key, or neither")
		return
	}
	if r.alone {
		return
	}
	t.Cert, t.Key = r.path(t.Cert), r.path(t.Key)
	cert, certErr := r.readFile(t.Cert)
	if certErr != nil {
		r.errorf(n.get("cert"), "the certificate cannot be read: %s", reason(certErr))
	}
	key, keyErr := r.readFile(t.Key)
	if keyErr != nil {
		r.errorf(n.get("key"), "the key cannot be read: %s", reason(keyErr))
	}
	if certErr != nil || keyErr != nil {
		return
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		r.errorf(n.get("cert"), "the certificate and the key do not work together: %v", err)
		return
	}
	t.Certificate = &pair
}

// reason returns an error about a file without its path.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}
