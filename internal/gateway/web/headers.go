package web

import (
	"net/http"
	"regexp"
	"strings"
)

// policy is what the page may do: run the scripts of its bundle, show its
// styles, and talk to its own gateway. Text becomes markup in one way alone, by
// the templates of the page, which are constants; what others have written is
// put into them as text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types lit-html"

// host is a host as browsers send it, so that nobody writes a policy with it.
var host = regexp.MustCompile(`^[A-Za-z0-9.-]{1,255}(:[0-9]{1,5})?$|^\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?$`)

// protect sets what keeps a page apart from others.
func protect(h http.Header, requestHost string) {
	h.Set("Content-Security-Policy", policyFor(requestHost))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// policyFor names the WebSockets of the own host beside 'self', which older
// browsers take for pages of the same scheme alone.
func policyFor(requestHost string) string {
	if !host.MatchString(requestHost) {
		return policy
	}
	return strings.Replace(policy, "connect-src 'self'", "connect-src 'self' ws://"+requestHost+" wss://"+requestHost, 1)
}
