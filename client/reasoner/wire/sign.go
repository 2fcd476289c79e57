package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Headers of a callback. The signature is present if the service has a secret;
// the timestamp is in seconds since 1970.
const (
	SignatureHeader = "X-Meup-Signature"
	TimestampHeader = "X-Meup-Timestamp"
)

// Sign returns the signature of a callback: "sha256=" and, in hexadecimal, the
// HMAC of the timestamp, a dot and the body. The receiver compares with
// hmac.Equal or [Signed], and rejects a timestamp that is minutes old.
func Sign(secret []byte, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// Signed reports whether a signature is valid for the timestamp and body.
func Signed(secret []byte, timestamp string, body []byte, signature string) bool {
	return hmac.Equal([]byte(Sign(secret, timestamp, body)), []byte(signature))
}
