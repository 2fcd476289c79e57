package gateway_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	jose "github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// issuer is an OpenID Connect issuer with one key.
type issuer struct {
	*httptest.Server
	key  *ecdsa.PrivateKey
	down atomic.Bool
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{key: newKey(t)}
	mux := http.NewServeMux()
	answer := func(path string, body func() any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			if i.down.Load() {
				http.Error(w, "gone fishing", http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(body())
		})
	}
	answer("/.well-known/openid-configuration", func() any {
		return map[string]string{"issuer": i.URL, "jwks_uri": i.URL + "/keys"}
	})
	answer("/keys", func() any {
		return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: "k1", Use: "sig"}}}
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign returns a JWT for ada that is valid for an hour. claims override its
// claims; a nil value removes one.
func (i *issuer) sign(t *testing.T, key *ecdsa.PrivateKey, claims jwt.MapClaims) string {
	t.Helper()
	all := jwt.MapClaims{"iss": i.URL, "aud": "meup", "sub": "248289761001", "nick": "ada", "exp": time.Now().Add(time.Hour).Unix()}
	for k, v := range claims {
		all[k] = v
		if v == nil {
			delete(all, k)
		}
	}
	token := jwt.NewWithClaims(jwt.SigningMethodES256, all)
	token.Header["kid"] = "k1"
	signed, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// guestConfig admits guests of the issuer to lab and, with another audience, to
// office.
func guestConfig(i *issuer) string {
	return fmt.Sprintf(`
login_failures: {burst: 100, refill: 1h}
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
    jwt: {issuer: %[1]q, audience: meup, participant_claim: nick, capabilities: [chat, reasoning/*], limits: {rate: 7}}
  office:
    jwt: {issuer: %[1]q, audience: office, participant_claim: nick, capabilities: [chat]}
  closed:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
`, i.URL)
}

// connect dials a space with a token. Without a connection it returns the
// status and the code of the error.
func connect(t *testing.T, g *meuptest.Gateway, space, token string) (ws *websocket.Conn, status int, code protocol.Code) {
	t.Helper()
	ctx := testkit.Deadline(t)
	ws, resp, err := websocket.Dial(ctx, g.URL(space), &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err == nil {
		t.Cleanup(func() { _ = ws.CloseNow() })
		return ws, 0, ""
	}
	if resp == nil {
		t.Fatal(err)
	}
	var refusal protocol.Error
	body, err := io.ReadAll(resp.Body)
	if err != nil || json.Unmarshal(body, &refusal) != nil {
		t.Fatalf("status %d: %s (%v)", resp.StatusCode, body, err)
	}
	if strings.Contains(string(body), token) {
		t.Errorf("the refusal repeats the token: %s", body)
	}
	return nil, resp.StatusCode, refusal.Code
}

// received is a frame as a client decodes it.
type received struct {
	ID      string          `json:"id"`
	From    string          `json:"from"`
	Kind    protocol.Kind   `json:"kind"`
	Payload json.RawMessage `json:"payload"`
}

// envelope reads the next frame that is not a presence notice.
func envelope(t *testing.T, ws *websocket.Conn) received {
	t.Helper()
	ctx := testkit.Deadline(t)
	for {
		var e received
		_, frame, err := ws.Read(ctx)
		if err == nil {
			err = json.Unmarshal(frame, &e)
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != protocol.KindSystemPresence {
			return e
		}
	}
}

// closedWith reads until the connection ends, and returns its code.
func closedWith(t *testing.T, ws *websocket.Conn) websocket.StatusCode {
	t.Helper()
	ctx := testkit.Deadline(t)
	for {
		if _, _, err := ws.Read(ctx); err != nil {
			if code := websocket.CloseStatus(err); code != -1 {
				return code
			}
			t.Fatal(err)
		}
	}
}

func say(t *testing.T, ws *websocket.Conn, frame string) {
	t.Helper()
	if err := ws.Write(t.Context(), websocket.MessageText, []byte(frame)); err != nil {
		t.Fatal(err)
	}
}

func TestGuests_Configured(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	g := meuptest.Start(t, guestConfig(i))
	ws, status, _ := connect(t, g, "lab", i.sign(t, i.key, nil))
	if ws == nil {
		t.Fatalf("status %d", status)
	}
	var welcome protocol.Welcome
	if err := json.Unmarshal(envelope(t, ws).Payload, &welcome); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%s %s %g", welcome.You.ID, welcome.You.Capabilities, welcome.You.Limits.Rate); got != `ada ["chat" "reasoning/*"] 7` {
		t.Errorf("welcomed as %s", got)
	}
	say(t, ws, `{"id": "c1", "kind": "chat", "payload": {"message": "hello"}}`)
	if e := envelope(t, ws); e.ID != "c1" || e.From != "ada" {
		t.Errorf("got %+v", e)
	}
	say(t, ws, `{"id": "m1", "kind": "mcp.request", "payload": {"method": "ping"}}`)
	if e := envelope(t, ws); e.Kind != protocol.KindSystemError || !strings.Contains(string(e.Payload), `"capability_violation"`) {
		t.Errorf("got %s %s", e.Kind, e.Payload)
	}
	say(t, ws, `{"id": "c2", "from": "alice", "kind": "chat", "payload": {"message": "I am Alice"}}`)
	if e := envelope(t, ws); e.Kind != protocol.KindSystemError || !strings.Contains(string(e.Payload), `"identity_mismatch"`) {
		t.Errorf("got %s %s", e.Kind, e.Payload)
	}
}

func TestGuests_Rejected(t *testing.T) {
	i, other := newIssuer(t), newIssuer(t)
	g := meuptest.Start(t, guestConfig(i))
	good := i.sign(t, i.key, nil)
	parts := strings.Split(good, ".")
	signature, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{"iss": i.URL, "aud": "meup", "nick": "ada",
		"exp": time.Now().Add(time.Hour).Unix()}).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		space, token string
		status       int
		code         protocol.Code
	}{
		"expired":                   {"lab", i.sign(t, i.key, jwt.MapClaims{"exp": time.Now().Add(-time.Minute).Unix()}), 401, protocol.CodeUnauthorized},
		"without an expiry":         {"lab", i.sign(t, i.key, jwt.MapClaims{"exp": nil}), 401, protocol.CodeUnauthorized},
		"not yet good":              {"lab", i.sign(t, i.key, jwt.MapClaims{"nbf": time.Now().Add(time.Hour).Unix()}), 401, protocol.CodeUnauthorized},
		"for another audience":      {"lab", i.sign(t, i.key, jwt.MapClaims{"aud": "somebody"}), 401, protocol.CodeUnauthorized},
		"for office, in lab":        {"lab", i.sign(t, i.key, jwt.MapClaims{"aud": "office"}), 403, protocol.CodeForbidden},
		"for lab, in office":        {"office", good, 403, protocol.CodeForbidden},
		"for lab, where none are":   {"closed", good, 403, protocol.CodeForbidden},
		"for lab, in no space":      {"nowhere", good, 404, protocol.CodeNotFound},
		"by another key":            {"lab", i.sign(t, newKey(t), nil), 401, protocol.CodeUnauthorized},
		"of another issuer":         {"lab", other.sign(t, other.key, nil), 401, protocol.CodeUnauthorized},
		"in the name of the issuer": {"lab", other.sign(t, other.key, jwt.MapClaims{"iss": i.URL}), 401, protocol.CodeUnauthorized},
		"unsigned":                  {"lab", signature, 401, protocol.CodeUnauthorized},
		"cut off":                   {"lab", parts[0] + "." + parts[1] + ".", 401, protocol.CodeUnauthorized},
		"without a name":            {"lab", i.sign(t, i.key, jwt.MapClaims{"nick": nil}), 401, protocol.CodeUnauthorized},
		"with a name that is none":  {"lab", i.sign(t, i.key, jwt.MapClaims{"nick": "not a name"}), 401, protocol.CodeUnauthorized},
		"with a reserved name":      {"lab", i.sign(t, i.key, jwt.MapClaims{"nick": "system:gateway"}), 401, protocol.CodeUnauthorized},
		"as a participant":          {"lab", i.sign(t, i.key, jwt.MapClaims{"nick": "alice"}), 401, protocol.CodeUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			ws, status, code := connect(t, g, c.space, c.token)
			if ws != nil || status != c.status || code != c.code {
				t.Errorf("let in: %v, %d %s, want %d %s", ws != nil, status, code, c.status, c.code)
			}
		})
	}
}

func TestGuests_IssuerDown(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	g := meuptest.Start(t, guestConfig(i))
	i.down.Store(true)
	if ws, status, code := connect(t, g, "lab", i.sign(t, i.key, nil)); ws != nil || status != 503 || code != protocol.CodeUnavailable {
		t.Errorf("a guest: let in: %v, %d %s", ws != nil, status, code)
	}
	if ws, status, _ := connect(t, g, "lab", "alice-token"); ws == nil {
		t.Errorf("a participant: %d", status)
	}
}

// A token that was valid at join time disconnects its guest when it expires.
func TestGuests_TokenExpires(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	g := meuptest.Start(t, guestConfig(i))
	var token string
	var ws *websocket.Conn
	for seconds := int64(1); ws == nil; seconds *= 2 { // a busy machine may take longer to join
		if seconds > 300 {
			t.Fatal("no token lets the guest in")
		}
		token = i.sign(t, i.key, jwt.MapClaims{"exp": time.Now().Unix() + seconds})
		var status int
		ws, status, _ = connect(t, g, "lab", token)
		if ws == nil && status != http.StatusUnauthorized {
			t.Fatalf("status %d", status)
		}
	}
	stays, _, _ := connect(t, g, "lab", i.sign(t, i.key, jwt.MapClaims{"nick": "eve"}))
	envelope(t, stays)
	if code := closedWith(t, ws); code != protocol.CloseTokenExpired {
		t.Errorf("closed with %d", code)
	}
	if again, status, code := connect(t, g, "lab", token); again != nil || status != 401 || code != protocol.CodeUnauthorized {
		t.Errorf("afterwards: let in: %v, %d %s", again != nil, status, code)
	}
	say(t, stays, `{"id": "c1", "kind": "chat", "payload": {"message": "I am still here"}}`)
	if e := envelope(t, stays); e.ID != "c1" {
		t.Errorf("the other guest got %+v", e)
	}
}

// A reload applies to guests that are already connected.
func TestGuests_IssuerRemoved(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	g := meuptest.Start(t, guestConfig(i))
	ws, status, _ := connect(t, g, "lab", i.sign(t, i.key, nil))
	if ws == nil {
		t.Fatalf("status %d", status)
	}
	envelope(t, ws)
	g.Reload("spaces: {lab: {participants: {alice: {token: alice-token, capabilities: [\"*\"]}}}}\n")
	if code := closedWith(t, ws); code != protocol.CloseTokenExpired {
		t.Errorf("closed with %d", code)
	}
}
