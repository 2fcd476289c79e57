package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/meup-protocol/meup/internal/kit/textutil"

	"github.com/coreos/go-oidc/v3/oidc"
	jose "github.com/go-jose/go-jose/v4"
)

const (
	// maxAnswerBytes bounds the size of an issuer's response.
	maxAnswerBytes = 1 << 20
	// maxKeys bounds how many keys are tried for a JWT without a key id.
	maxKeys = 64
)

// newKeyClient returns the HTTP client for issuers. The size and time of responses
// are bounded, and a redirect from https to http is rejected.
func newKeyClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // net/http says so
	transport.MaxIdleConnsPerHost = 1
	transport.MaxResponseHeaderBytes = 64 << 10
	transport.ResponseHeaderTimeout = fetchTimeout
	transport.IdleConnTimeout = 30 * time.Second
	return &http.Client{
		Timeout:   fetchTimeout,
		Transport: boundedTransport{transport},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) > 3 {
				return errors.New("too many redirects")
			}
			if via[0].URL.Scheme == "https" && next.URL.Scheme != "https" {
				return errors.New("redirect from https to http")
			}
			return nil
		},
	}
}

// boundedTransport returns an error when a response is too long, since go-oidc
// reads responses completely.
type boundedTransport struct{ *http.Transport }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswerBytes)
	return resp, nil
}

// fetchKeys discovers the address of an issuer's keys, and fetches them. It
// discovers the address each time, since an issuer may move its keys.
func fetchKeys(ctx context.Context, client *http.Client, issuer string) ([]jose.JSONWebKey, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), issuer)
	var discovered struct {
		KeysURL string `json:"jwks_uri"`
	}
	if err == nil {
		err = provider.Claims(&discovered)
	}
	if err != nil { // the library quotes the response
		return nil, fmt.Errorf("discover: %s", textutil.Shorten(err.Error(), 200))
	}
	// The connection for the keys is at least as secure as the issuer's, which may be http on a loopback address.
	from, err1 := url.Parse(issuer)
	keysURL, err2 := url.Parse(discovered.KeysURL)
	secure := err1 == nil && err2 == nil && (keysURL.Scheme == "https" || keysURL.Scheme == "http" && from.Scheme == "http")
	if !secure {
		return nil, errors.New("discover: jwks_uri is not an https address")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, discovered.KeysURL, nil)
	if err != nil {
		return nil, fmt.Errorf("get keys: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("get keys: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get keys: status %d", resp.StatusCode)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("get keys: %w", err)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, fmt.Errorf("parse keys: %w", err)
	}
	keys := []jose.JSONWebKey{}
	for _, raw := range set.Keys {
		// Unknown key types are skipped, as RFC 7517 section 5 requires, and keys that are secret or not for signing.
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) != nil || !key.IsPublic() || !key.Valid() || key.Use == "enc" {
			continue
		}
		keys = append(keys, key)
		if len(keys) == maxKeys {
			break
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("parse keys: none that can verify a signature")
	}
	return keys, nil
}
