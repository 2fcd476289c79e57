package access_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/protocol"
)

// start is the time at which the tests start.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// issuer is an OpenID Connect issuer with a key set that can change.
type issuer struct {
	*httptest.Server
	mu      sync.Mutex
	down    bool
	keys    jose.JSONWebKeySet
	fetches int    // of the discovery document
	answer  string // replaces the key set, if not empty
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.fetches++
		if i.down {
			http.Error(w, "gone fishing", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.answer != "" {
			w.Write([]byte(i.answer))
			return
		}
		json.NewEncoder(w).Encode(i.keys)
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

// set changes the issuer under its lock.
func (i *issuer) set(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

func (i *issuer) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

// publish adds a key to the key set.
func (i *issuer) publish(kid string, public any) {
	i.set(func() { i.keys.Keys = append(i.keys.Keys, jose.JSONWebKey{Key: public, KeyID: kid, Use: "sig"}) })
}

// sign returns a JWT; the claims override valid defaults.
func (i *issuer) sign(t *testing.T, method jwt.SigningMethod, kid string, key any, claims jwt.MapClaims) string {
	t.Helper()
	all := jwt.MapClaims{"iss": i.URL, "aud": "meup", "sub": "ada", "exp": start.Add(time.Hour).Unix()}
	for k, v := range claims {
		all[k] = v
		if v == nil {
			delete(all, k)
		}
	}
	token := jwt.NewWithClaims(method, all)
	if kid != "" {
		token.Header["kid"] = kid
	}
	signed, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func ecKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// trusting returns an Authenticator for three spaces: lab trusts the issuer,
// other trusts it with another audience, plain trusts no issuer.
func trusting(t *testing.T, i *issuer) *access.TokenAuthenticator {
	t.Helper()
	a := access.NewTokenAuthenticator(trustTable(i), access.TokenOptions{})
	t.Cleanup(a.Close)
	return a
}

func trustTable(i *issuer) access.TokenTable {
	names := map[string]bool{"lab": true, "other": true, "plain": true}
	return access.TokenTable{
		Spaces: []access.SpaceTokens{
			{Name: "lab", JWT: &access.JWT{Issuer: i.URL, Audience: "meup", ParticipantClaim: "sub"},
				Tokens: []access.Token{{Participant: "alice", Hash: access.Hash("alice-token")}}, Reserved: []protocol.ParticipantID{"bea"}},
			{Name: "other", JWT: &access.JWT{Issuer: i.URL, Audience: "other", ParticipantClaim: "sub"}},
			{Name: "plain"},
		},
		Find: func(space string) (string, bool) { return space, names[space] },
	}
}

func TestJWT_Claims(t *testing.T) {
	i, key := newIssuer(t), ecKey(t)
	i.publish("k1", key.Public())
	a := trusting(t, i)

	for name, c := range map[string]struct {
		claims jwt.MapClaims
		space  string
		want   error
	}{
		"good":                       {},
		"one audience of two":        {claims: jwt.MapClaims{"aud": []string{"x", "meup"}}},
		"expired within the leeway":  {claims: jwt.MapClaims{"exp": start.Add(-time.Second).Unix()}},
		"expired":                    {claims: jwt.MapClaims{"exp": start.Add(-2 * time.Second).Unix()}, want: access.ErrExpired},
		"without expiry":             {claims: jwt.MapClaims{"exp": nil}, want: access.ErrUnknownToken},
		"expiry is text":             {claims: jwt.MapClaims{"exp": "never"}, want: access.ErrUnknownToken},
		"begins within the leeway":   {claims: jwt.MapClaims{"nbf": start.Add(time.Second).Unix()}},
		"begins later":               {claims: jwt.MapClaims{"nbf": start.Add(time.Minute).Unix()}, want: access.ErrUnknownToken},
		"begins at no time":          {claims: jwt.MapClaims{"nbf": "later"}, want: access.ErrUnknownToken},
		"audience of nobody":         {claims: jwt.MapClaims{"aud": "x"}, want: access.ErrUnknownToken},
		"audience of another space":  {claims: jwt.MapClaims{"aud": "other"}, want: access.ErrOtherSpace},
		"space without issuer":       {space: "plain", want: access.ErrOtherSpace},
		"no such space":              {space: "nowhere", want: access.ErrOtherSpace},
		"another issuer":             {claims: jwt.MapClaims{"iss": "https://id.example.org"}, want: access.ErrUnknownToken},
		"no subject":                 {claims: jwt.MapClaims{"sub": nil}, want: access.ErrUnknownToken},
		"subject is a number":        {claims: jwt.MapClaims{"sub": 7}, want: access.ErrUnknownToken},
		"subject is no id":           {claims: jwt.MapClaims{"sub": "ada lovelace"}, want: access.ErrUnknownToken},
		"subject is the gateway":     {claims: jwt.MapClaims{"sub": "system:gateway"}, want: access.ErrUnknownToken},
		"subject looks like it":      {claims: jwt.MapClaims{"sub": "System:Gateway"}, want: access.ErrUnknownToken},
		"subject has a token itself": {claims: jwt.MapClaims{"sub": "alice"}, want: access.ErrUnknownToken},
		"subject has no token":       {claims: jwt.MapClaims{"sub": "bea"}, want: access.ErrUnknownToken},
		"subject with a pipe":        {claims: jwt.MapClaims{"sub": "auth0|7f"}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.space == "" {
				c.space = "lab"
			}
			token := i.sign(t, jwt.SigningMethodES256, "k1", key, c.claims)
			id, err := a.Authenticate(t.Context(), c.space, token, start)
			if !errors.Is(err, c.want) {
				t.Fatalf("got %+v, %v, want error %v", id, err, c.want)
			}
			if err == nil && (id.Via != access.ViaJWT || id.Space != c.space || !id.Expires.After(start)) {
				t.Errorf("got %+v", id)
			}
		})
	}
}

func TestJWT_KeyTypes(t *testing.T) {
	i := newIssuer(t)
	ec := ecKey(t)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	edPublic, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.publish("ec", ec.Public())
	i.publish("rsa", rsaKey.Public())
	i.publish("ed", edPublic)
	a := trusting(t, i)
	for _, c := range []struct {
		method jwt.SigningMethod
		kid    string
		key    crypto.Signer
	}{
		{jwt.SigningMethodES256, "ec", ec}, {jwt.SigningMethodRS256, "rsa", rsaKey},
		{jwt.SigningMethodPS512, "rsa", rsaKey}, {jwt.SigningMethodEdDSA, "ed", ed}, {jwt.SigningMethodEdDSA, "", ed},
	} {
		id, err := a.Authenticate(t.Context(), "lab", i.sign(t, c.method, c.kid, c.key, nil), start)
		if err != nil || id.Participant != "ada" {
			t.Errorf("%s by key %q: got %+v, %v", c.method.Alg(), c.kid, id, err)
		}
	}
}

func TestJWT_ForgeriesRejected(t *testing.T) {
	i := newIssuer(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i.publish("k1", key.Public())
	a := trusting(t, i)
	if _, err := a.Authenticate(t.Context(), "lab", i.sign(t, jwt.SigningMethodRS256, "k1", key, nil), start); err != nil {
		t.Fatal(err)
	}

	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	good := i.sign(t, jwt.SigningMethodRS256, "k1", key, nil)
	parts := strings.Split(good, ".")
	other := strings.Split(i.sign(t, jwt.SigningMethodRS256, "k1", key, jwt.MapClaims{"sub": "eve"}), ".")
	for name, token := range map[string]string{
		"none":                          i.sign(t, jwt.SigningMethodNone, "k1", jwt.UnsafeAllowNoneSignatureType, nil),
		"HS256 with the public key":     i.sign(t, jwt.SigningMethodHS256, "k1", publicPEM, nil),
		"HS256 with the key's DER":      i.sign(t, jwt.SigningMethodHS256, "k1", der, nil),
		"another key under the same id": i.sign(t, jwt.SigningMethodES256, "k1", ecKey(t), nil),
		"claims of another":             parts[0] + "." + other[1] + "." + parts[2],
		"without signature":             parts[0] + "." + parts[1] + ".",
		"not base64":                    "a.b.c",
		"too long":                      strings.Repeat("a", 20000) + ".b.c",
	} {
		t.Run(name, func(t *testing.T) {
			if id, err := a.Authenticate(t.Context(), "lab", token, start); !errors.Is(err, access.ErrUnknownToken) {
				t.Errorf("got %+v, %v", id, err)
			}
			if spaces, err := a.Spaces(t.Context(), token, start); !errors.Is(err, access.ErrUnknownToken) {
				t.Errorf("good for %v, %v", spaces, err)
			}
		})
	}
}

func TestIssuer_RotatedKeyAndBadTokens(t *testing.T) {
	i, first, second := newIssuer(t), ecKey(t), ecKey(t)
	i.publish("k1", first.Public())
	a := trusting(t, i)
	login := func(kid string, key *ecdsa.PrivateKey, now time.Time) error {
		_, err := a.Authenticate(t.Context(), "lab", i.sign(t, jwt.SigningMethodES256, kid, key, nil), now)
		return err
	}
	if err := login("k1", first, start); err != nil {
		t.Fatal(err)
	}

	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := login("made-up", second, start.Add(time.Second)); !errors.Is(err, access.ErrUnknownToken) {
				t.Errorf("unknown key: %v", err)
			}
		})
	}
	wg.Wait()
	if n := i.count(); n != 1 {
		t.Errorf("the issuer was asked %d times, want once", n)
	}

	i.set(func() { i.keys.Keys = nil })
	i.publish("k2", second.Public())
	if err := login("k2", second, start.Add(11*time.Second)); err != nil {
		t.Errorf("rotated key: %v", err)
	}
	if err := login("k1", first, start.Add(30*time.Second)); !errors.Is(err, access.ErrUnknownToken) {
		t.Errorf("withdrawn key: %v", err)
	}
}

func TestIssuer_WithdrawnKey(t *testing.T) {
	i, key := newIssuer(t), ecKey(t)
	i.publish("k1", key.Public())
	a := trusting(t, i)
	token := i.sign(t, jwt.SigningMethodES256, "k1", key, jwt.MapClaims{"exp": start.Add(48 * time.Hour).Unix()})
	login := func(after time.Duration) error {
		_, err := a.Authenticate(t.Context(), "lab", token, start.Add(after))
		return err
	}
	if err := login(0); err != nil {
		t.Fatal(err)
	}
	i.set(func() { i.down = true })
	if err := login(time.Hour); err != nil {
		t.Errorf("while the issuer is down the keys at hand must do: %v", err)
	}
	i.set(func() { i.down, i.keys.Keys = false, nil })
	i.publish("k2", ecKey(t).Public())
	if err := login(2 * time.Hour); !errors.Is(err, access.ErrUnknownToken) {
		t.Errorf("withdrawn key: %v", err)
	}
}

func TestIssuer_DownBackoff(t *testing.T) {
	i, key := newIssuer(t), ecKey(t)
	i.publish("k1", key.Public())
	i.set(func() { i.down = true })
	a := trusting(t, i)
	token := i.sign(t, jwt.SigningMethodES256, "k1", key, nil)
	login := func(after time.Duration) error {
		_, err := a.Authenticate(t.Context(), "lab", token, start.Add(after))
		return err
	}
	for _, ms := range []int{0, 10, 500, 1000, 1500, 2900, 3000, 6999} {
		if err := login(time.Duration(ms) * time.Millisecond); !errors.Is(err, access.ErrUnavailable) {
			t.Fatalf("at %d ms: %v", ms, err)
		}
	}
	if n := i.count(); n != 3 { // at 0, 1 and 3 s
		t.Errorf("the issuer was asked %d times, want 3", n)
	}
	i.set(func() { i.down = false })
	if err := login(7 * time.Second); err != nil {
		t.Errorf("issuer up again: %v", err)
	}
	if _, err := a.Authenticate(t.Context(), "lab", "alice-token", start); err != nil {
		t.Errorf("static token: %v", err)
	}
}

func TestIssuer_UnusualKeySets(t *testing.T) {
	key := ecKey(t)
	good, err := jose.JSONWebKey{Key: key.Public(), KeyID: "k1"}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		answer string
		want   error
	}{
		"unknown sorts beside a good one": {`{"keys":[{"kty":"XYZ"},7,{"kty":"oct","k":"AAAA"},` + string(good) + `]}`, nil},
		"symmetric only":                  {`{"keys":[{"kty":"oct","kid":"k1","k":"AAAA"}]}`, access.ErrUnavailable},
		"no JSON":                         {`<html>`, access.ErrUnavailable},
		"too long":                        {`{"keys":[` + string(good) + strings.Repeat(" ", 2<<20) + `]}`, access.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			i.set(func() { i.answer = c.answer })
			a := trusting(t, i)
			_, err := a.Authenticate(t.Context(), "lab", i.sign(t, jwt.SigningMethodES256, "k1", key, nil), start)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// A reload of the configuration keeps the keys, also while the issuer is down.
func TestIssuer_KeysAfterReplace(t *testing.T) {
	i, key := newIssuer(t), ecKey(t)
	i.publish("k1", key.Public())
	a := trusting(t, i)
	token := i.sign(t, jwt.SigningMethodES256, "k1", key, nil)
	for range 2 {
		if _, err := a.Authenticate(t.Context(), "lab", token, start); err != nil {
			t.Fatal(err)
		}
		i.set(func() { i.down = true })
		a.Replace(trustTable(i))
	}
}

// The keys of an issuer with https are not fetched over a connection that an attacker can change.
func TestIssuer_AddressOfKeys(t *testing.T) {
	open, key := newIssuer(t), ecKey(t)
	open.publish("k1", key.Public())
	var keysURL string
	mux := http.NewServeMux()
	secure := httptest.NewTLSServer(mux)
	t.Cleanup(secure.Close)
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"issuer": secure.URL, "jwks_uri": keysURL})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, r *http.Request) { json.NewEncoder(w).Encode(open.keys) })
	for name, c := range map[string]struct {
		keys string
		want error
	}{
		"https":      {secure.URL + "/keys", nil},
		"http":       {open.URL + "/keys", access.ErrUnavailable},
		"a file":     {"file:///keys", access.ErrUnavailable},
		"no address": {"https://%", access.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			keysURL = c.keys
			a := access.NewTokenAuthenticator(access.TokenTable{
				Spaces: []access.SpaceTokens{{Name: "lab", JWT: &access.JWT{Issuer: secure.URL, Audience: "meup", ParticipantClaim: "sub"}}},
				Find:   func(space string) (string, bool) { return space, space == "lab" },
			}, access.TokenOptions{Client: secure.Client()})
			t.Cleanup(a.Close)
			token := open.sign(t, jwt.SigningMethodES256, "k1", key, jwt.MapClaims{"iss": secure.URL})
			if _, err := a.Authenticate(t.Context(), "lab", token, start); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestIssuer_FirstCallerDisconnects(t *testing.T) {
	i, key := newIssuer(t), ecKey(t)
	i.publish("k1", key.Public())
	a := trusting(t, i)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Authenticate(ctx, "lab", i.sign(t, jwt.SigningMethodES256, "k1", key, nil), start); err != nil {
		t.Error(err)
	}
}
