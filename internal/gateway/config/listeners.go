package config

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// listenerDiagnostic is a diagnostic of the listen addresses, with the key of the file
// that it is about.
type listenerDiagnostic struct {
	key      string
	severity Severity
	message  string
}

// listenerDiagnostics checks the addresses for conflicts with each other and with
// the TLS setting.
func (c *Config) listenerDiagnostics() []listenerDiagnostic {
	var faults []listenerDiagnostic
	if isPublic(c.Listen) && !c.TLS.Enabled() {
		faults = append(faults, listenerDiagnostic{"listen", Warning, fmt.Sprintf(
			"other machines can reach %s, and without tls tokens are sent unencrypted; let a proxy on this machine do TLS, or listen on 127.0.0.1", c.Listen)})
	}
	if c.MetricsListen != "" && sameListener(c.MetricsListen, c.Listen) {
		faults = append(faults, listenerDiagnostic{"metrics_listen", Error, "this is the address of listen; leave it out to serve /metrics there"})
	}
	if c.PprofListen == "" {
		return faults
	}
	if sameListener(c.PprofListen, c.Listen) || c.MetricsListen != "" && sameListener(c.PprofListen, c.MetricsListen) {
		faults = append(faults, listenerDiagnostic{"pprof_listen", Error, "this is the address of another listener; the profiler needs one of its own"})
	}
	if isPublic(c.PprofListen) {
		faults = append(faults, listenerDiagnostic{"pprof_listen", Warning, fmt.Sprintf(
			"other machines can reach the profiler on %s, which exposes memory with tokens; listen on 127.0.0.1", c.PprofListen)})
	}
	return faults
}

// ListenerDiagnostics returns the diagnostics of the addresses that ApplyEnv and Set have
// introduced: diagnostics that the file does not have already.
func (c *Config) ListenerDiagnostics(file []Diagnostic) []Diagnostic {
	var faults []Diagnostic
	for _, f := range c.listenerDiagnostics() {
		if !slices.ContainsFunc(file, func(known Diagnostic) bool { return known.Message == f.message }) {
			faults = append(faults, Diagnostic{Source: "flags and environment", Severity: f.severity, Message: f.key + ": " + f.message})
		}
	}
	return faults
}

// isPublic reports whether an address may be reached from other machines.
func isPublic(address string) bool {
	host, _, err := splitAddress(address)
	ip, ipErr := netip.ParseAddr(host)
	return err == nil && (ipErr != nil || !ip.IsLoopback())
}

// sameListener reports whether two listen addresses conflict. Port 0 never
// conflicts.
func sameListener(a, b string) bool {
	hostA, portA, errA := splitAddress(a)
	hostB, portB, errB := splitAddress(b)
	return errA == nil && errB == nil && portA == portB && portA != "0" &&
		(hostA == hostB || isWildcard(hostA) || isWildcard(hostB))
}

// splitAddress returns the host and port of an address to listen on.
func splitAddress(address string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(address)
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	return host, port, err
}

func isWildcard(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}
