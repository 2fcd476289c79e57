package web

import (
	"net/http"
	"regexp"
	"strings"
)

// policy restricts the page: it may run the scripts of its bundle, use its
// styles, and connect to its own gateway. Only the page's templates, which are
// constants, can create markup; texts of participants are inserted as text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types lit-html"

// host matches a valid Host header, so that a client cannot inject text into
// the policy.
var host = regexp.MustCompile(`^[A-Za-z0-9.-]{1,255}(:[0-9]{1,5})?$|^\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?$`)

// protect sets the headers that isolate the page from other pages.
func protect(h http.Header, requestHost string) {
	h.Set("Content-Security-Policy", policyFor(requestHost))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// policyFor adds the WebSockets of the own host to 'self', which in older
// browsers covers only the page's own scheme.
func policyFor(requestHost string) string {
	if !host.MatchString(requestHost) {
		return policy
	}
	return strings.Replace(policy, "connect-src 'self'", "connect-src 'self' ws://"+requestHost+" wss://"+requestHost, 1)
}
