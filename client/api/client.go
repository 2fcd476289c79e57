package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options configures a Client. URL and Token are required.
type Options struct {
	// URL of the gateway, "http://host:port" or "https://host". A path is
	// prepended to the routes.
	URL string
	// Token is the bearer token. No error and no log contains it.
	Token string
	// HTTPClient makes the requests; nil: one that does not follow redirects.
	// It must not have a timeout of its own, which would end event streams; the
	// context of each call bounds the call.
	HTTPClient *http.Client
}

// Client sends requests to one gateway. All methods are safe for concurrent
// use.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

// maxBody bounds a response, in bytes. Turns are the longest responses of a
// gateway.
const maxBody = 64 << 20

// New returns a client. It does not connect to the gateway.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("gateway URL: expected http://host:port or https://host")
	}
	if base.User != nil {
		return nil, errors.New("gateway URL: it holds a user or a password; the token alone says who asks")
	}
	if o.Token == "" {
		return nil, errors.New("the token is empty: is the variable with the token set?")
	}
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("token: expected one of printable characters without spaces")
	}
	base.RawQuery, base.Fragment = "", ""
	c := &Client{base: base, token: o.Token, http: o.HTTPClient}
	if c.http == nil {
		c.http = &http.Client{
			Transport: &http.Transport{
				Proxy:                 http.ProxyFromEnvironment,
				TLSHandshakeTimeout:   15 * time.Second,
				ResponseHeaderTimeout: time.Minute,
				IdleConnTimeout:       time.Minute,
				ForceAttemptHTTP2:     true,
			},
			// A gateway does not redirect, and the token is only for the gateway.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return c, nil
}

// Close closes idle connections. It does not end calls.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request builds a request for a path of escaped segments.
func (c *Client) request(ctx context.Context, method string, segments []string, q url.Values, body io.Reader) (*http.Request, error) {
	u := c.base.JoinPath(segments...)
	u.RawQuery = q.Encode()
	r, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	return r, nil
}

// do returns the body of a response with status 200.
func (c *Client) do(r *http.Request) ([]byte, http.Header, error) {
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read or given up
	if resp.StatusCode != http.StatusOK {
		return nil, nil, refusal(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read answer: %w", err)
	}
	if len(body) > maxBody {
		return nil, nil, fmt.Errorf("read answer: it has more than %d bytes", maxBody)
	}
	return body, resp.Header, nil
}

// get requests an object and decodes it. The segments of the path must be
// escaped.
func (c *Client) get(ctx context.Context, segments []string, q url.Values, into any) error {
	r, err := c.request(ctx, http.MethodGet, segments, q, nil)
	if err != nil {
		return err
	}
	body, _, err := c.do(r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

// inSpace returns a path within a space. JoinPath would resolve the names "."
// and "..", which PathEscape does not escape, so segment escapes them.
func inSpace(space string, rest ...string) []string {
	path := []string{"api", "spaces", segment(space)}
	for _, s := range rest {
		path = append(path, segment(s))
	}
	return path
}

func segment(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return url.PathEscape(s)
}
