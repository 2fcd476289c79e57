package access

import (
	"encoding/base64"
	"errors"
	"testing"
	"time"
)

// FuzzParseJWT checks the parser on unauthenticated input.
func FuzzParseJWT(f *testing.F) {
	enc := base64.RawURLEncoding.EncodeToString
	header := enc([]byte(`{"alg":"ES256","kid":"k1"}`))
	f.Add(header + "." + enc([]byte(`{"iss":"x","aud":["a",7],"exp":1.5e9,"nbf":-1,"sub":"ada"}`)) + "." + enc([]byte("signature")))
	f.Add(header + "." + enc([]byte(`[]`)) + ".")
	f.Add("..")
	accepts := JWT{Issuer: "x", Audience: "a", ParticipantClaim: "sub"}
	f.Fuzz(func(t *testing.T, token string) {
		jwt, err := parseJWT(token)
		if err == nil {
			_, _, err = jwt.check(accepts, time.Unix(1_400_000_000, 0))
		}
		if err != nil && !errors.Is(err, ErrUnknownToken) && !errors.Is(err, ErrExpired) {
			t.Errorf("an error of no sort: %v", err)
		}
	})
}
