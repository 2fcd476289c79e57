package argument

import (
	"errors"
	"net/netip"
	neturl "net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/idna"

	"github.com/meup-protocol/meup/internal/kit/glob"
	"github.com/meup-protocol/meup/protocol"
)

// URL is a compiled $url. An absent part selects what is said here, and every part of a URL
// must be selected:
//
//	scheme   http and https
//	host     every host; "example.com" is that host, "*.example.com" the hosts below it and
//	         not itself, "*" every host
//	port     the default port of the scheme
//	path     every path; globs, in which * is any text in a segment and ** any text
//
// Query and fragment are not compared. Names are not resolved, and redirects are not followed:
// a name may have the address of another host, and a server may answer with another URL.
//
// # Certainty
//
// A URL is read by two parsers, one as browsers do (WHATWG) and one as Go does (RFC 3986). It
// is uncertain unless both find the same scheme, host and port, and in any case with user
// information, a backslash, a blank, a control or an invisible character, or without a host.
//
// Hosts are compared in lower case, in ASCII and without a dot at the end, addresses by value.
// So "[::ffff:127.0.0.1]" is 127.0.0.1; "0x7f.1" is too for browsers only, and so uncertain.
//
// If scheme or port is absent, another scheme or port is uncertain rather than different, so
// that a deny rule that names a host denies all of its ports.
//
// A path is uncertain with percent encodings of dots, slashes or backslashes, or a semicolon;
// or if a glob matches only one of its forms: as written, with . and .. resolved, with
// repeated slashes merged, or in another case.
type URL struct {
	schemes []string
	hosts   []hostPattern
	ports   []uint16
	paths   []pathGlob

	globBytes int // bytes of path
}

// ParseURL compiles the value of $url. The error is an *[Error].
func ParseURL(v protocol.Value) (*URL, error) {
	err := checkKeys(v, "scheme", "host", "port", "path")
	if err != nil {
		return nil, err
	}
	u := &URL{}
	u.schemes, err = readList(v, "scheme", readScheme)
	if err != nil {
		return nil, err
	}
	u.hosts, err = readList(v, "host", readHost)
	if err != nil {
		return nil, err
	}
	u.ports, err = readList(v, "port", readPort)
	if err != nil {
		return nil, err
	}
	u.paths, err = readList(v, "path", func(v protocol.Value) (pathGlob, error) {
		text, err := readGlob(v, &u.globBytes)
		if err != nil {
			return pathGlob{}, err
		}
		return readPathGlob(text)
	})
	if err != nil {
		return nil, err
	}
	return u, nil
}

// String describes the URLs.
func (u *URL) String() string {
	list := func(n int, name func(int) string) string {
		names := make([]string, n)
		for i := range names {
			names[i] = name(i)
		}
		return strings.Join(names, " or ")
	}
	text := "http or https URLs"
	if u.schemes != nil {
		text = strings.Join(u.schemes, " or ") + " URLs"
	}
	if u.hosts != nil {
		text += " of " + list(len(u.hosts), func(i int) string { return u.hosts[i].String() })
	}
	if u.ports != nil {
		text += ", port " + list(len(u.ports), func(i int) string { return strconv.Itoa(int(u.ports[i])) })
	}
	if u.paths != nil {
		text += ", path " + list(len(u.paths), func(i int) string { return u.paths[i].source })
	}
	return text
}

// Cost returns about how many steps of 20 ns a match of a text of n bytes takes at most.
func (u *URL) Cost(n int) int {
	return 512 + 64*len(u.hosts) + min(n, maxArgument)*(32+2*u.globBytes)
}

// Match reports whether the text is one of the URLs.
func (u *URL) Match(text string) Verdict {
	a, ok := readAddress(text)
	if !ok {
		return Maybe
	}
	return min(u.matchScheme(a.scheme), u.matchHost(a.host), u.matchPort(a), u.matchPath(a))
}

func (u *URL) matchScheme(scheme string) Verdict {
	switch {
	case u.schemes == nil && scheme != "http" && scheme != "https":
		return Maybe
	case u.schemes != nil && !slices.Contains(u.schemes, scheme):
		return No
	}
	return Yes
}

func (u *URL) matchHost(h host) Verdict {
	if u.hosts == nil || slices.ContainsFunc(u.hosts, func(p hostPattern) bool { return p.matches(h) }) {
		return Yes
	}
	return No
}

func (u *URL) matchPort(a address) Verdict {
	switch {
	case u.ports == nil && a.port != defaultPorts[a.scheme]:
		return Maybe
	case u.ports != nil && !slices.Contains(u.ports, a.port):
		return No
	}
	return Yes
}

// matchPath compares all forms of the path.
func (u *URL) matchPath(a address) Verdict {
	if u.paths == nil {
		return Yes
	}
	if a.paths == nil {
		return Maybe
	}
	all, some := true, false
	for _, form := range a.paths {
		folded := fold(form)
		if slices.ContainsFunc(u.paths, func(p pathGlob) bool { return glob.Match(p.exact, form) }) {
			some = true
			continue
		}
		all = false
		some = some || slices.ContainsFunc(u.paths, func(p pathGlob) bool { return glob.Match(p.loose, folded) })
	}
	switch {
	case all:
		return Yes
	case some:
		return Maybe
	}
	return No
}

// Covers reports whether u certainly matches what other certainly matches: each scheme, host,
// port and path of other is one of u.
func (u *URL) Covers(other *URL) bool {
	schemes, otherSchemes := u.schemes, other.schemes
	if schemes == nil {
		schemes = []string{"http", "https"}
	}
	if otherSchemes == nil {
		otherSchemes = []string{"http", "https"}
	}
	for _, scheme := range otherSchemes {
		ports := other.ports
		if ports == nil {
			ports = []uint16{defaultPorts[scheme]}
		}
		missing := func(port uint16) bool { return u.matchPort(address{scheme: scheme, port: port}) != Yes }
		if !slices.Contains(schemes, scheme) || slices.ContainsFunc(ports, missing) {
			return false
		}
	}
	hosts, paths := other.hosts, other.paths
	if hosts == nil {
		hosts = []hostPattern{{any: true}}
	}
	for _, h := range hosts {
		if u.hosts != nil && !slices.ContainsFunc(u.hosts, func(p hostPattern) bool { return p.covers(h) }) {
			return false
		}
	}
	if u.paths == nil {
		return true
	}
	for _, p := range paths {
		if !slices.ContainsFunc(u.paths, func(own pathGlob) bool { return own.exact.Covers(p.exact) }) {
			return false
		}
	}
	return paths != nil
}

// defaultPorts are the ports of the schemes whose URLs are compared: those with hosts that all
// parsers read alike.
var defaultPorts = map[string]uint16{"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}

func readScheme(v protocol.Value) (string, error) {
	s, err := readEntry(v)
	if err != nil {
		return "", err
	}
	s = lowerASCII(s)
	if defaultPorts[s] == 0 {
		return "", errors.New("it must be one of http, https, ws, wss and ftp, without :// ; use $path for files")
	}
	return s, nil
}

func readPort(v protocol.Value) (uint16, error) {
	n, ok := v.Int()
	if !ok || n < 1 || n > 65535 {
		return 0, errors.New("it must be a number from 1 to 65535")
	}
	return uint16(n), nil
}

// address is a URL that all parsers read alike.
type address struct {
	scheme string
	host   host
	port   uint16
	paths  []string // the forms of the decoded path; nil: it is uncertain
}

// readAddress reads a URL. It fails if that is uncertain.
func readAddress(text string) (address, bool) {
	if len(text) > maxArgument || !isPlain(text) || strings.Contains(text, `\`) ||
		strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || isInvisible(r) }) {
		return address{}, false
	}
	g, err := neturl.Parse(text)
	if err != nil || g.User != nil || !strings.HasPrefix(text[len(g.Scheme):], "://"+g.Host) {
		return address{}, false
	}
	w, err := whatwg.Parse(text)
	if err != nil || w.Scheme() != g.Scheme || defaultPorts[g.Scheme] == 0 {
		return address{}, false
	}
	port := w.DecodedPort()
	h, ok := readHostname(w.Hostname())
	if !ok || !h.isWritten(g.Hostname()) || g.Port() != "" && g.Port() != strconv.Itoa(port) {
		return address{}, false
	}
	return address{scheme: g.Scheme, host: h, port: uint16(port), paths: pathForms(g.EscapedPath(), w.Pathname())}, true
}

// pathForms returns what a server may read as the path: as Go and as browsers send it, and with
// repeated slashes merged.
func pathForms(asGo, asBrowser string) []string {
	if asGo == "" {
		asGo = "/"
	}
	written, ok := decodePath(asGo)
	resolved, okToo := decodePath(asBrowser)
	if !ok || !okToo || strings.ContainsAny(written, `\;`) {
		return nil
	}
	clean := path.Clean(written)
	if clean != "/" && strings.HasSuffix(written, "/") {
		clean += "/"
	}
	return slices.Compact([]string{written, resolved, clean})
}

// host is a name or an address.
type host struct {
	name string
	ip   netip.Addr
}

// readHostname reads a host as the WHATWG parser returns it.
func readHostname(s string) (host, bool) {
	ip, err := netip.ParseAddr(strings.Trim(s, "[]"))
	if err == nil {
		return host{ip: ip.Unmap()}, true
	}
	name := strings.TrimSuffix(s, ".")
	return host{name: name}, !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".") && !strings.Contains(name, "..") && name != ""
}

// isWritten reports whether a host as it is written means this one for every program: an
// address in its usual form, or a name that is the same in all versions of IDNA.
func (h host) isWritten(s string) bool {
	if h.ip.IsValid() {
		ip, err := netip.ParseAddr(s)
		return err == nil && ip.Unmap() == h.ip
	}
	s = strings.TrimSuffix(s, ".")
	if lowerASCII(s) == h.name {
		return true
	}
	mapped, err := transitional.ToASCII(s)
	if err != nil || mapped != h.name {
		return false
	}
	plain, err := idna.Punycode.ToASCII(strings.ToLower(s))
	return err == nil && plain == h.name
}

// transitional maps names as in the first version of IDNA, in which ß is ss.
var transitional = idna.New(idna.MapForLookup(), idna.Transitional(true))

// hostPattern is a host of a matcher.
type hostPattern struct {
	host
	any   bool // "*"
	below bool // "*.": the hosts below the name
}

// hostSyntax matches characters that are no part of a host.
var hostSyntax = regexp.MustCompile(`[/\\?#@%\s]`)

func readHost(v protocol.Value) (hostPattern, error) {
	s, err := readEntry(v)
	if err != nil {
		return hostPattern{}, err
	}
	if s == "*" {
		return hostPattern{any: true}, nil
	}
	name, below := strings.CutPrefix(s, "*.")
	if glob.HasStar(name) {
		return hostPattern{}, errors.New(`a * stands alone or before the first dot, as in "*.example.com"`)
	}
	_, err = netip.ParseAddr(strings.Trim(name, "[]"))
	isIPv6 := err == nil && strings.Contains(name, ":")
	if hostSyntax.MatchString(name) || strings.Contains(name, ":") && !isIPv6 {
		return hostPattern{}, errors.New("it is a host alone; scheme, port and path have their own keys")
	}
	if isIPv6 {
		name = "[" + strings.Trim(name, "[]") + "]"
	}
	w, err := whatwg.Parse("http://" + name)
	if err != nil {
		return hostPattern{}, errors.New("it is no host; write a name or an address")
	}
	p := hostPattern{below: below}
	var ok bool
	p.host, ok = readHostname(w.Hostname())
	if !ok {
		return hostPattern{}, errors.New("it has an empty label; write a name or an address")
	}
	if below && p.ip.IsValid() {
		return hostPattern{}, errors.New("there is no host below an address; list the addresses")
	}
	return p, nil
}

func (p hostPattern) String() string {
	switch {
	case p.any:
		return "any host"
	case p.ip.IsValid():
		return p.ip.String()
	case p.below:
		return "*." + p.name
	}
	return p.name
}

func (p hostPattern) matches(h host) bool {
	switch {
	case p.any:
		return true
	case p.below:
		return strings.HasSuffix(h.name, "."+p.name)
	}
	return p.host == h
}

// covers reports whether p matches every host that q matches.
func (p hostPattern) covers(q hostPattern) bool {
	if q.any || q.below {
		return p.any || q.below && p.below && (p.name == q.name || p.matches(q.host))
	}
	return p.matches(q.host)
}

// pathGlob is a glob of paths.
type pathGlob struct {
	source       string
	exact, loose glob.Glob
}

func readPathGlob(s string) (pathGlob, error) {
	switch {
	case s[0] != '/' && s != "**":
		return pathGlob{}, errors.New("it begins with a slash")
	case strings.ContainsAny(s, `%;\?#`):
		return pathGlob{}, errors.New(`it has one of % ; \ ? #; write the path without encoding, parameters, query and fragment`)
	case path.Clean(s) != s && path.Clean(s)+"/" != s:
		return pathGlob{}, errors.New("it has an empty segment, . or ..; write the path without")
	}
	return pathGlob{source: s, exact: glob.Compile(s), loose: glob.Compile(fold(s))}, nil
}
