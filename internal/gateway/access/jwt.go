package access

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/meup-protocol/meup/protocol"
)

// leeway is the tolerance for differences between the issuer's clock and the
// gateway's.
const leeway = 2 * time.Second

// algorithms lists the accepted signature algorithms. All are asymmetric: with
// a MAC, the issuer's public key would suffice to sign.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512,
	jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512,
	jose.EdDSA,
}

// parsedJWT is a well-formed JWT. Its claims count only after the signature has
// been verified; the issuer claim selects the keys for that.
type parsedJWT struct {
	signed *jose.JSONWebSignature
	claims protocol.Value
	issuer string
}

// parseJWT parses a token in compact form. The error wraps ErrUnknownToken: a
// token that is not a JWT may be any other unknown token.
func parseJWT(token string) (*parsedJWT, error) {
	if len(token) > maxTokenBytes || strings.Count(token, ".") != 2 {
		return nil, ErrUnknownToken
	}
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil || len(signed.Signatures) != 1 {
		return nil, fmt.Errorf("%w: not a JWT signed by an algorithm that is allowed", ErrUnknownToken)
	}
	payload, err := base64.RawURLEncoding.Strict().DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		return nil, fmt.Errorf("%w: claims of the JWT are not base64url", ErrUnknownToken)
	}
	doc, err := protocol.ParseJSON(payload, protocol.MaxDepth)
	if err != nil {
		return nil, fmt.Errorf("%w: claims of the JWT: %w", ErrUnknownToken, err)
	}
	claims := doc.Root()
	return &parsedJWT{signed, claims, claims.Get("iss").Text()}, nil
}

// check returns the participant of a verified JWT, and the time from which on it is rejected, if
// the settings of a space accept it. The error wraps ErrUnknownToken or ErrExpired.
func (j *parsedJWT) check(accepts JWT, now time.Time) (protocol.ParticipantID, time.Time, error) {
	if j.issuer != accepts.Issuer {
		return "", time.Time{}, fmt.Errorf("%w: another issuer", ErrUnknownToken)
	}
	if !hasAudience(j.claims.Get("aud"), accepts.Audience) {
		return "", time.Time{}, fmt.Errorf("%w: the JWT is for another audience", ErrUnknownToken)
	}
	exp, ok := numericDate(j.claims.Get("exp"))
	if !ok { // it would never expire
		return "", time.Time{}, fmt.Errorf("%w: the JWT has no expiry", ErrUnknownToken)
	}
	expires := exp.Add(leeway)
	if !now.Before(expires) {
		return "", time.Time{}, ErrExpired
	}
	nbf := j.claims.Get("nbf")
	from, ok := numericDate(nbf)
	if nbf.Exists() && (!ok || now.Add(leeway).Before(from)) {
		return "", time.Time{}, fmt.Errorf("%w: the JWT is not valid yet", ErrUnknownToken)
	}
	id := j.claims.Get(accepts.ParticipantClaim).Text()
	if !protocol.ValidParticipantID(id) || protocol.ParticipantID(id).IsReserved() || strings.HasPrefix(id, protocol.InvitedPrefix) {
		return "", time.Time{}, fmt.Errorf("%w: the claim %s is not a participant's id", ErrUnknownToken, accepts.ParticipantClaim)
	}
	return protocol.ParticipantID(id), expires, nil
}

// hasAudience reports whether the audience, a string or an array of strings,
// contains want.
func hasAudience(aud protocol.Value, want string) bool {
	if want == "" {
		return false
	}
	for v := range aud.Elements {
		if v.EqualText(want) {
			return true
		}
	}
	return aud.EqualText(want)
}

// numericDate parses seconds since 1970, with or without a fraction, up to the
// year 9999.
func numericDate(v protocol.Value) (time.Time, bool) {
	f, ok := v.Float()
	if !ok || f < 0 || f > 253402300799 {
		return time.Time{}, false
	}
	whole, fraction := math.Modf(f)
	return time.Unix(int64(whole), int64(fraction*1e9)).UTC(), true
}
