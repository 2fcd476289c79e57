package config

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/meup-protocol/meup/internal/redact"
	"github.com/meup-protocol/meup/protocol"
)

// resolver converts a file to a Config.
type resolver struct {
	report
	env      func(string) (string, bool)
	readFile func(string) ([]byte, error)
	holdings []holding // of the current space
	secrets  []redact.Secret
	unread   bool // a file of rules is invalid or missing
}

// resolve returns the Config of a file. It is valid only if no error was
// reported.
func (r *resolver) resolve(data []byte) *Config {
	cfg := Default()
	root := readTree(&r.report, data)
	if root == nil {
		return cfg
	}
	var f fileShape
	decodeInto(&r.report, root, &f)
	r.settings(cfg, &f)
	cfg.Limits = r.limits(defaultLimits(&f.Limits), &f.Limits)
	r.spaces(cfg, &f)
	cfg.Safety.Secrets = r.secrets
	return cfg
}

// setText sets target if the value passes the check; an empty value selects the
// default.
func (r *resolver) setText(target *string, v textValue, check func(string) error) {
	if v.value == "" {
		return
	}
	if err := check(v.value); err != nil {
		r.errorf(v.place, "%v", err)
		return
	}
	*target = v.value
}

// settings resolves all settings except limits and spaces.
func (r *resolver) settings(cfg *Config, f *fileShape) {
	r.setText(&cfg.Listen, f.Listen, checkAddress)
	r.setText(&cfg.MetricsListen, f.MetricsListen, checkAddress)
	r.setText(&cfg.PprofListen, f.PprofListen, checkAddress)
	r.setText(&cfg.NATS, f.NATS, checkNATS)
	cfg.Data = r.path(cfg.Data)
	if f.Data.value != "" {
		cfg.Data = r.path(f.Data.value)
	}
	if v := f.Replicas; v.isSet() {
		if err := checkReplicas(v.value); err != nil {
			r.errorf(v.place, "%v", err)
		}
		cfg.Replicas = v.value
	}
	r.tls(cfg, &f.TLS)
	r.listeners(cfg, f)
	r.origins(cfg, f.Origins)
	r.log(cfg, &f.Log)
	r.safety(cfg, &f.Safety)
	set(&cfg.Retention.Age, f.Retention.Age.place, f.Retention.Age.value)
	set(&cfg.Retention.Bytes, f.Retention.Bytes.place, f.Retention.Bytes.value)
	set(&cfg.MaxConnections, f.MaxConns.place, f.MaxConns.value)
	r.timing(cfg, f)
	r.violations(cfg, &f.Violations)
	r.positive(&cfg.Ring.Entries, f.Ring.Entries)
	if v := f.Ring.Bytes; v.isSet() && v.value == 0 {
		r.errorf(v.place, "a ring without bytes holds nothing; the default is 8MiB")
	} else {
		set(&cfg.Ring.Bytes, v.place, v.value)
	}
	r.positive(&cfg.LoginFailures.Burst, f.LoginFailures.Burst)
	r.positiveDuration(&cfg.LoginFailures.Refill, f.LoginFailures.Refill)
}

// path resolves a path in the configuration: relative to the configuration's
// folder, so that the working directory does not matter.
func (r *resolver) path(name string) string {
	if name == InMemory || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(r.source), name)
}

func (r *resolver) tls(cfg *Config, f *tlsShape) {
	cert, key := f.Cert.value, f.Key.value
	if cert == "" && key == "" {
		return
	}
	if cert == "" || key == "" {
		r.errorf(f.place, "tls needs both cert and key, or neither")
		return
	}
	cfg.TLS = TLS{Cert: r.path(cert), Key: r.path(key)}
	certPEM, certErr := r.readFile(cfg.TLS.Cert)
	if certErr != nil {
		r.errorf(f.Cert.place, "the certificate cannot be read: %s", reason(certErr))
	}
	keyPEM, keyErr := r.readFile(cfg.TLS.Key)
	if keyErr != nil {
		r.errorf(f.Key.place, "the key cannot be read: %s", reason(keyErr))
	}
	if certErr != nil || keyErr != nil {
		return
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		r.errorf(f.Cert.place, "the certificate and the key do not work together: %v", err)
		return
	}
	cfg.TLS.Certificate = &pair
}

// reason returns an error about a file without its path.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

func (r *resolver) origins(cfg *Config, list listValue[textValue]) {
	for _, v := range list.items {
		if !v.isSet() {
			continue
		}
		origin, err := parseOrigin(v.value)
		if err != nil {
			r.errorf(v.place, "%v", err)
			continue
		}
		if origin == "*" {
			r.warnf(v.place, "every page of the web may connect with a token that it has got hold of")
		}
		cfg.Origins = append(cfg.Origins, origin)
	}
}

func (r *resolver) log(cfg *Config, f *logShape) {
	if f.Level.value != "" {
		level, err := parseLevel(f.Level.value)
		if err != nil {
			r.errorf(f.Level.place, "%v", err)
		}
		cfg.Log.Level = level
	}
	r.setText(&cfg.Log.Format, f.Format, checkFormat)
}

func (r *resolver) kindPattern(v textValue) (protocol.KindPattern, bool) {
	if !v.isSet() {
		return protocol.KindPattern{}, false
	}
	p, err := protocol.ParseKindPattern(v.value)
	if err != nil {
		r.errorf(v.place, "%v", err)
		return p, false
	}
	return p, true
}
