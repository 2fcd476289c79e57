package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"
)

// InMemory is the name of the data folder that selects a log in memory.
const InMemory = ":memory:"

// The checks here are shared by the file, the environment and the flags.

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
	if host == "" {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	for _, c := range host {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.', c == '_':
		default:
			return false
		}
	}
	return true
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

func checkReplicas(n int) error {
	if n != 1 && n != 3 && n != 5 {
		return fmt.Errorf("%d replicas cannot be; use 1, 3 or 5, since a majority of an odd number has to agree", n)
	}
	return nil
}

func checkFormat(s string) error {
	formats := []string{FormatText, FormatJSON}
	if !slices.Contains(formats, s) {
		return fmt.Errorf("unknown log format %q; %s", textutil.Shorten(s, 40), suggest(s, formats))
	}
	return nil
}

func parseLevel(s string) (slog.Level, error) {
	levels := []string{"debug", "info", "warn", "error"}
	var level slog.Level
	if !slices.Contains(levels, s) || level.UnmarshalText([]byte(s)) != nil {
		return slog.LevelInfo, fmt.Errorf("unknown log level %q; %s", textutil.Shorten(s, 40), suggest(s, levels))
	}
	return level, nil
}

// parseOrigin parses an Origin as a browser sends it: scheme, host and port,
// without a path. The host may be a glob.
func parseOrigin(s string) (string, error) {
	if s == "*" {
		return s, nil
	}
	bad := fmt.Errorf("%q is not an origin; write https://host or https://host:port, without a path", textutil.Shorten(s, 40))
	scheme, rest, ok := strings.Cut(strings.ToLower(s), "://")
	if !ok || scheme != "https" && scheme != "http" {
		return "", bad
	}
	// url.Parse rejects a star in a host; for its checks a star is like any
	// other label.
	u, err := url.Parse(scheme + "://" + strings.ReplaceAll(rest, "*", "x"))
	if err != nil || u.Host == "" || u.User != nil || u.Host != strings.ReplaceAll(rest, "*", "x") || !validHost(u.Hostname()) {
		return "", bad
	}
	if port := u.Port(); port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "", bad
		}
	}
	return scheme + "://" + rest, nil
}
