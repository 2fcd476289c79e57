package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// InMemory is the name of the data folder that selects a log in memory.
const InMemory = ":memory:"

// settings lists the settings that the file, the environment and flags set as
// text, by the key in the file. "log.level" is --log-level and MEUP_LOG_LEVEL.
var settings = []struct {
	key string
	set func(c *Config, value string) error
}{
	{"listen", func(c *Config, v string) error { c.Listen = v; return checkAddress(v) }},
	{"metrics_listen", func(c *Config, v string) error { c.MetricsListen = v; return checkAddress(v) }},
	{"pprof_listen", func(c *Config, v string) error { c.PprofListen = v; return checkAddress(v) }},
	{"data", func(c *Config, v string) error { c.Data = v; return nil }},
	{"nats", func(c *Config, v string) error { c.NATS = v; return checkNATS(v) }},
	{"replicas", setReplicas},
	{"log.level", setLevel},
	{"log.format", setFormat},
}

var (
	flagNames     = strings.NewReplacer(".", "-", "_", "-")
	variableNames = strings.NewReplacer(".", "_")
)

// Set sets the setting of a flag ("listen", "data", "nats", "log-level", …).
// Flags override everything else, so call Set after ApplyEnv. Do not use the
// Config after an error.
func (c *Config) Set(flag, value string) error {
	for _, s := range settings {
		if flagNames.Replace(s.key) != flag {
			continue
		}
		if err := s.set(c, value); err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
		return nil
	}
	return fmt.Errorf("--%s: no such setting", flag)
}

// ApplyEnv overrides the file with the environment: MEUP_LISTEN,
// MEUP_METRICS_LISTEN, MEUP_PPROF_LISTEN, MEUP_DATA, MEUP_NATS, MEUP_REPLICAS,
// MEUP_LOG_LEVEL and MEUP_LOG_FORMAT. An empty variable counts as not set. The
// Source of a diagnostic is the variable. Do not use the Config after a diagnostic.
func (c *Config) ApplyEnv(lookup func(string) (string, bool)) []Diagnostic {
	var faults []Diagnostic
	for _, s := range settings {
		variable := "MEUP_" + strings.ToUpper(variableNames.Replace(s.key))
		value, _ := lookup(variable)
		if value == "" {
			continue
		}
		if err := s.set(c, value); err != nil {
			faults = append(faults, Diagnostic{Source: variable, Message: err.Error()})
		}
	}
	return faults
}

func setReplicas(c *Config, v string) (err error) {
	c.Replicas, err = strconv.Atoi(v)
	if err != nil {
		return fmt.Errorf("%q is not a number; use 1, 3 or 5", textutil.Shorten(v, 40))
	}
	if c.Replicas != 1 && c.Replicas != 3 && c.Replicas != 5 {
		return fmt.Errorf("%d replicas are not possible; use 1, 3 or 5", c.Replicas)
	}
	return nil
}

func setLevel(c *Config, v string) error {
	levels := []string{"debug", "info", "warn", "error"}
	if !slices.Contains(levels, v) || c.Log.Level.UnmarshalText([]byte(v)) != nil {
		return fmt.Errorf("unknown log level %q; %s", textutil.Shorten(v, 40), textutil.Suggest(v, levels))
	}
	return nil
}

func setFormat(c *Config, v string) error {
	formats := []string{formatText, FormatJSON}
	c.Log.Format = v
	if !slices.Contains(formats, v) {
		return fmt.Errorf("unknown log format %q; %s", textutil.Shorten(v, 40), textutil.Suggest(v, formats))
	}
	return nil
}

func checkAddress(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return fmt.Errorf("%q is not an address to listen on; write host:port, such as 127.0.0.1:8080 or :8080", textutil.Shorten(s, 40))
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is not a port; it is a number from 0 to 65535", textutil.Shorten(port, 40))
	}
	if !validHost(host) {
		return fmt.Errorf("%q is not a host", textutil.Shorten(host, 40))
	}
	return nil
}

// validHost reports whether a host is empty, an IP address, or a possible host
// name.
func validHost(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || !strings.ContainsFunc(host, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_'
	})
}

// checkNATS checks a list of URLs. It does not quote them, since they may
// contain a password.
func checkNATS(s string) error {
	for one := range strings.SplitSeq(s, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return errors.New("not the URL of a NATS server; write nats://host:4222 (or tls://, ws://, wss://), several with commas")
		}
	}
	return nil
}

// parseOrigin parses an Origin as a browser sends it: scheme, host and port,
// without a path. The host may be a glob.
func parseOrigin(s string) (string, error) {
	if s == "*" {
		return s, nil
	}
	origin := strings.ToLower(s)
	// url.Parse rejects a star in a host; for its checks a star is like any
	// other label.
	plain := strings.ReplaceAll(origin, "*", "x")
	u, err := url.Parse(plain)
	if err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.Scheme+"://"+u.Host == plain && validHost(u.Hostname()) {
		if _, err := strconv.ParseUint(cmp.Or(u.Port(), "0"), 10, 16); err == nil {
			return origin, nil
		}
	}
	return "", fmt.Errorf("%q is not an origin; write https://host or https://host:port, without a path", textutil.Shorten(s, 40))
}
