package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// errForbiddenAddress means that the service must not call an address.
var errForbiddenAddress = errors.New("the address is not allowed")

// Resolver looks up the addresses of a host; *net.Resolver implements it.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Guard decides which addresses callbacks may use: public addresses over http
// and https. Without it, any caller could make the service send requests to
// addresses that only the service reaches: its own host, its network, the
// metadata service of its cloud.
//
// Guard checks the addresses of a host twice: when a request is accepted, so
// that the caller gets an error, and when it dials, where it checks the address
// that it connects to. Changing the DNS record in between has no effect.
type Guard struct {
	hosts    map[string]bool
	prefixes []netip.Prefix
	resolver Resolver
}

// NewGuard returns a guard that permits public addresses and the entries of
// allow: host names, addresses, and prefixes such as 10.1.0.0/16. A nil
// resolver means the system's.
func NewGuard(allow []string, resolver Resolver) (*Guard, error) {
	g := &Guard{hosts: make(map[string]bool), resolver: resolver}
	if resolver == nil {
		g.resolver = net.DefaultResolver
	}
	for _, entry := range allow {
		if prefix, err := netip.ParsePrefix(entry); err == nil {
			g.prefixes = append(g.prefixes, prefix.Masked())
			continue
		}
		if addr, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
			addr = addr.Unmap().WithZone("")
			g.prefixes = append(g.prefixes, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		if entry == "" || strings.ContainsAny(entry, "/:@ *") {
			return nil, fmt.Errorf("allow %q: expected the name of a host, an address, or a prefix such as 10.1.0.0/16", entry)
		}
		g.hosts[plainHost(entry)] = true
	}
	return g, nil
}

func plainHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// maxURL bounds a callback URL, in bytes.
const maxURL = 2048

// lookupTimeout bounds the lookup of a host's addresses.
const lookupTimeout = 5 * time.Second

// Check validates a URL before it is used. The error is a sentence for the
// sender; it does not disclose the addresses of a host.
func (g *Guard) Check(ctx context.Context, raw string) error {
	u, err := url.Parse(raw)
	switch {
	case len(raw) > maxURL:
		return fmt.Errorf("%w: it is longer than %d bytes", errForbiddenAddress, maxURL)
	case err != nil:
		return fmt.Errorf("%w: it is not a URL", errForbiddenAddress) // err repeats it
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%w: its scheme must be http or https", errForbiddenAddress)
	case u.Hostname() == "":
		return fmt.Errorf("%w: it has no host", errForbiddenAddress)
	case u.User != nil:
		return fmt.Errorf("%w: it contains a user name or a password", errForbiddenAddress)
	case strings.Contains(u.Hostname(), "%"):
		return fmt.Errorf("%w: its host has a zone", errForbiddenAddress)
	}
	_, err = g.addresses(ctx, u.Hostname())
	return err
}

// addresses returns the addresses of a host. It fails unless all of them are
// permitted.
func (g *Guard) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if !g.permits(addr) {
			return nil, fmt.Errorf("%w: it is not public; the operator of the service can allow it", errForbiddenAddress)
		}
		return []netip.Addr{addr}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	list, err := g.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(list) == 0 {
		return nil, errUnresolved
	}
	if g.hosts[plainHost(host)] {
		return list, nil
	}
	for _, addr := range list {
		if !g.permits(addr) {
			return nil, fmt.Errorf("%w: its host has an address that is not public; the operator of the service can allow it", errForbiddenAddress)
		}
	}
	return list, nil
}

// errUnresolved is not ErrForbidden: it may be temporary.
var errUnresolved = errors.New("the address of its host was not found")

// DialContext connects to a host if all its addresses are permitted. Use it as
// the DialContext of an http.Transport.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	list, err := g.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	named := g.hosts[plainHost(host)]
	d := net.Dialer{Timeout: 4 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		if named {
			return nil
		}
		return g.control(address)
	}}
	var faults []error
	for _, addr := range list {
		c, err := d.DialContext(ctx, network, net.JoinHostPort(addr.String(), port))
		if err == nil {
			return c, nil
		}
		faults = append(faults, err)
	}
	return nil, errors.Join(faults...)
}

// control checks the address that a socket is about to connect to.
func (g *Guard) control(address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !g.permits(to.Addr()) {
		return errForbiddenAddress
	}
	return nil
}

// permits reports whether the service may call an address.
func (g *Guard) permits(addr netip.Addr) bool {
	plain := addr.Unmap().WithZone("")
	for _, p := range g.prefixes {
		if p.Contains(plain) {
			return true
		}
	}
	return addr.Zone() == "" && public(plain)
}

// notPublic are addresses outside the public internet according to the
// special-purpose registries of IANA, and the public address of Azure's
// metadata service.
var notPublic = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"168.63.129.16/32",
	"2001::/23", "2001:db8::/32", "3fff::/20",
)

var (
	globalUnicast = netip.MustParsePrefix("2000::/3") // contains all public addresses of IPv6
	sixToFour     = netip.MustParsePrefix("2002::/16")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// public reports whether an address is on the public internet. The address must
// not be mapped from IPv4. An IPv6 address that embeds an IPv4 address is
// judged by the latter (NAT64, 6to4).
func public(addr netip.Addr) bool {
	if !addr.IsValid() {
		return false
	}
	if addr.Is6() {
		b := addr.As16()
		switch {
		case nat64.Contains(addr):
			return public(netip.AddrFrom4([4]byte(b[12:16])))
		case sixToFour.Contains(addr):
			return public(netip.AddrFrom4([4]byte(b[2:6])))
		case !globalUnicast.Contains(addr):
			return false
		}
	}
	for _, p := range notPublic {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}
