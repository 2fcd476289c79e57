package access

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// TokenSource is the part of a request that contained a token.
type TokenSource string

// The sources of tokens.
const (
	SourceHeader      TokenSource = "authorization"
	SourceSubprotocol TokenSource = "subprotocol"
)

// Bearer is who has sent a token, without the request that contained it.
type Bearer struct {
	Address netip.Addr
	Token   string
}

// maxTokenBytes bounds the length of a token; JWTs with many claims are long.
const maxTokenBytes = 16 << 10

// bearerProtocol is the prefix of the subprotocol in which a browser sends its
// token.
const bearerProtocol = "bearer."

// TokenFromRequest returns the token of a request: from the Authorization header
// ("Bearer TOKEN"), or from the offered subprotocols ("meup.v0.1" and "bearer."
// with the token in unpadded base64url). It ignores the URL, since a token in
// an address would end up in logs. The errors wrap ErrNoToken or ErrMalformed
// and give advice without repeating the input. Section 4.
func TokenFromRequest(r *http.Request) (token string, source TokenSource, err error) {
	header, err := fromHeader(r.Header.Values("Authorization"))
	if err != nil {
		return "", "", err
	}
	offered, err := fromSubprotocols(r.Header.Values("Sec-WebSocket-Protocol"))
	if err != nil {
		return "", "", err
	}
	switch {
	case header != "" && offered != "" && header != offered:
		return "", "", malformed("the Authorization header and the subprotocol hold different tokens; send one")
	case header != "":
		return header, SourceHeader, nil
	case offered != "":
		return offered, SourceSubprotocol, nil
	case r.URL != nil && (r.URL.Query().Has("token") || r.URL.Query().Has("access_token")):
		return "", "", fmt.Errorf("%w: one in the address is not accepted, since addresses are logged; send it as Authorization: Bearer TOKEN", ErrNoToken)
	}
	return "", "", fmt.Errorf("%w: send one as Authorization: Bearer TOKEN", ErrNoToken)
}

func fromHeader(values []string) (string, error) {
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", malformed("more than one Authorization header")
	}
	scheme, token, _ := strings.Cut(strings.Trim(values[0], " \t"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", malformed("the Authorization header must be Bearer TOKEN")
	}
	token = strings.TrimLeft(token, " ")
	if !ValidToken(token) {
		return "", malformed("the token in the Authorization header is empty, too long or has characters beyond visible ASCII")
	}
	return token, nil
}

func fromSubprotocols(values []string) (string, error) {
	var token string
	spoken := false
	for _, value := range values {
		for name := range strings.SplitSeq(value, ",") {
			name = strings.Trim(name, " \t")
			spoken = spoken || isDialect(name)
			encoded, isBearer := strings.CutPrefix(name, bearerProtocol)
			if !isBearer {
				continue
			}
			if token != "" {
				return "", malformed("more than one subprotocol begins with bearer.")
			}
			decoded, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
			if err != nil || !ValidToken(string(decoded)) {
				return "", malformed("what follows bearer. must be the token in base64url without padding")
			}
			token = string(decoded)
		}
	}
	if token != "" && !spoken {
		return "", malformed("offer the subprotocol %s beside the one with the token", protocol.DialectMEUP01.Subprotocol())
	}
	return token, nil
}

func isDialect(subprotocol string) bool {
	return slices.ContainsFunc(protocol.DialectNames(), func(name string) bool {
		d, _ := protocol.ParseDialect(name)
		return d.Subprotocol() == subprotocol
	})
}

// ValidToken reports whether a token has 1 to 16384 visible ASCII characters,
// which a header can contain.
func ValidToken(s string) bool {
	if s == "" || len(s) > maxTokenBytes {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
