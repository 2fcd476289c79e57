package models

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// baseURL is a validated base URL.
type baseURL struct{ *url.URL }

// base returns the configured base URL, or else the provider's own.
func (p provider) base(given string) (baseURL, error) {
	if given == "" {
		given = p.baseURL
	}
	if given == "" {
		return baseURL{}, fmt.Errorf("%s has no address of its own: set the base URL, such as http://localhost:8000/v1", p.name)
	}
	base, err := parseBaseURL(given)
	if err != nil {
		return baseURL{}, err
	}
	if !p.messages && strings.Trim(base.Path, "/") == "" {
		base.Path = "/v1" // the path on all of these servers
	}
	return base, nil
}

// parseBaseURL validates a base URL. Its errors do not quote the URL, which may
// contain a password.
func parseBaseURL(given string) (baseURL, error) {
	u, err := url.Parse(strings.TrimSpace(given))
	if err != nil {
		return baseURL{}, errors.New("the base URL is not a URL")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return baseURL{}, errors.New("the base URL begins neither with http:// nor with https://")
	case u.Hostname() == "":
		return baseURL{}, errors.New("the base URL has no host")
	case u.User != nil:
		return baseURL{}, errors.New("the base URL has a user in it; a key is set apart from it")
	case u.RawQuery != "" || u.Fragment != "":
		return baseURL{}, errors.New("the base URL has a query or a fragment, which it cannot have")
	}
	return baseURL{u}, nil
}

// sameHost reports whether two URLs have the same scheme and host.
func (b baseURL) sameHost(other string) bool {
	o, err := url.Parse(other)
	return err == nil && b.Scheme == o.Scheme && strings.EqualFold(b.Host, o.Host)
}

// exposed reports whether requests are sent unencrypted over a network.
func (b baseURL) exposed() bool {
	ip := net.ParseIP(b.Hostname())
	local := b.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	return b.Scheme == "http" && !local
}
