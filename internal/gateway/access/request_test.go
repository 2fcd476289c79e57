package access_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/gateway/access"
)

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func request(authorization, protocols []string, query string) *http.Request {
	return &http.Request{
		Header: http.Header{"Authorization": authorization, "Sec-Websocket-Protocol": protocols},
		URL:    &url.URL{Path: "/ws", RawQuery: query},
	}
}

func TestFromRequest(t *testing.T) {
	for name, c := range map[string]struct {
		header, protocols []string
		query             string
		token             string
		source            access.TokenSource
		err               error
	}{
		"header":                   {header: []string{"Bearer abc"}, token: "abc", source: access.SourceHeader},
		"scheme in lower case":     {header: []string{"bearer  abc "}, token: "abc", source: access.SourceHeader},
		"subprotocols":             {protocols: []string{"meup.v0.1, bearer." + b64("a.b~c/+=")}, token: "a.b~c/+=", source: access.SourceSubprotocol},
		"subprotocols in two":      {protocols: []string{"bearer." + b64("abc"), "meup.v0.2"}, token: "abc", source: access.SourceSubprotocol},
		"both, the same":           {header: []string{"Bearer abc"}, protocols: []string{"meup.v0.1,bearer." + b64("abc")}, token: "abc", source: access.SourceHeader},
		"header, no token offered": {header: []string{"Bearer abc"}, protocols: []string{"meup.v0.1"}, token: "abc", source: access.SourceHeader},
		"nothing":                  {err: access.ErrNoToken},
		"dialect only":             {protocols: []string{"meup.v0.1"}, err: access.ErrNoToken},
		"in the address":           {query: "space=lab&token=abc", err: access.ErrNoToken},
		"both, different":          {header: []string{"Bearer abc"}, protocols: []string{"meup.v0.1,bearer." + b64("abd")}, err: access.ErrMalformed},
		"two headers":              {header: []string{"Bearer abc", "Bearer abc"}, err: access.ErrMalformed},
		"basic":                    {header: []string{"Basic YTpi"}, err: access.ErrMalformed},
		"empty header":             {header: []string{""}, err: access.ErrMalformed},
		"scheme alone":             {header: []string{"Bearer"}, err: access.ErrMalformed},
		"two words":                {header: []string{"Bearer a b"}, err: access.ErrMalformed},
		"too long":                 {header: []string{"Bearer " + strings.Repeat("a", 16<<10+1)}, err: access.ErrMalformed},
		"padded":                   {protocols: []string{"meup.v0.1", "bearer.YWI="}, err: access.ErrMalformed},
		"not base64url":            {protocols: []string{"meup.v0.1", "bearer.a/b"}, err: access.ErrMalformed},
		"empty bearer":             {protocols: []string{"meup.v0.1", "bearer."}, err: access.ErrMalformed},
		"binary":                   {protocols: []string{"meup.v0.1", "bearer." + b64("a\x00b")}, err: access.ErrMalformed},
		"two bearers":              {protocols: []string{"meup.v0.1", "bearer." + b64("a"), "bearer." + b64("b")}, err: access.ErrMalformed},
		"bearer without dialect":   {protocols: []string{"bearer." + b64("abc")}, err: access.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			token, source, err := access.TokenFromRequest(request(c.header, c.protocols, c.query))
			if token != c.token || source != c.source || !errors.Is(err, c.err) {
				t.Errorf("got %q, %q, %v, want %q, %q, %v", token, source, err, c.token, c.source, c.err)
			}
		})
	}
}

func FuzzFromRequest(f *testing.F) {
	f.Add("Bearer abc", "meup.v0.1, bearer.YWJj", "token=x")
	f.Add("bearer  a", "bearer.YWJj,meup.v0.2", "%zz")
	f.Add("Basic YTpi", "bearer.", "")
	f.Add("", ",,bearer.!,meup.v0.1", "")
	f.Fuzz(func(t *testing.T, authorization, protocols, query string) {
		token, source, err := access.TokenFromRequest(request([]string{authorization}, []string{protocols}, query))
		if (err == nil) != (token != "" && source != "") || err == nil && !access.ValidToken(token) {
			t.Errorf("got %q, %q, %v", token, source, err)
		}
		if err != nil && !errors.Is(err, access.ErrMalformed) && !errors.Is(err, access.ErrNoToken) {
			t.Errorf("an error of no sort: %v", err)
		}
	})
}
