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

// Options say which gateway to ask and as whom. URL and Token are required.
type Options struct {
	// URL of the gateway, "http://host:port" or "https://host". A path is kept
	// in front of the routes.
	URL string
	// Token is the bearer token. It is in no error and no log.
	Token string
	// HTTPClient makes the requests; nil stands for one that follows no
	// redirect. It must not have a timeout of its own, which would end event
	// streams; the context of each call bounds it.
	HTTPClient *http.Client
}

// Client asks one gateway. All methods may be called at the same time, from
// any goroutine.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

// maxBody bounds an answer. Turns are the longest ones that a gateway gives.
const maxBody = 64 << 20

// New makes a client. It does not ask the gateway anything yet.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("gateway URL: expected http://host:port or https://host")
	}
	if base.User != nil {
		return nil, errors.New("gateway URL: it holds a user or a password; the token alone says who asks")
	}
	if o.Token == "" || strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("token: expected one of printable characters without spaces")
	}
	base.RawQuery, base.Fragment = "", ""
	c := &Client{base: base, token: o.Token, http: o.HTTPClient}
	if c.http == nil {
		c.http = newHTTPClient()
	}
	return c, nil
}

func newHTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			TLSHandshakeTimeout:   15 * time.Second,
			ResponseHeaderTimeout: time.Minute,
			IdleConnTimeout:       time.Minute,
			ForceAttemptHTTP2:     true,
		},
		// A gateway redirects nobody, and the token is for it alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Close closes the connections that are idle. It ends no call.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request makes a request for a path of escaped segments.
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

// do returns the body of an answer, which is 200.
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

// get asks for an object and reads it. Segments of the path are escaped here.
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

// inSpace is the path of something in a space. JoinPath would resolve dots,
// which a name may be made of; PathEscape leaves them, so they are escaped
// here.
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
