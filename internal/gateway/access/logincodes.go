package access

import (
	"crypto/rand"
	"crypto/subtle"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Bounds of login codes.
const (
	// CodeLifetime is how long a login code can be used.
	CodeLifetime = 10 * time.Minute
	maxCodes     = 64 // outstanding; a new code evicts the oldest
)

// LoginCodes maps one-time codes in links to tokens. A code is valid once and
// for minutes, so that a copy in a browser's history or a terminal's scrollback
// is worthless. Codes are kept in memory only. The zero value is empty; its
// methods may be called concurrently.
type LoginCodes struct {
	mu    sync.Mutex
	codes []loginCode // oldest first
}

type loginCode struct {
	hash    Digest
	token   string
	expires time.Time
}

// New returns a code for a token, valid once, until CodeLifetime after now.
func (c *LoginCodes) New(token string, now time.Time) string {
	code := rand.Text()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(now)
	if len(c.codes) == maxCodes {
		c.codes = slices.Delete(c.codes, 0, 1)
	}
	c.codes = append(c.codes, loginCode{Hash(code), token, now.Add(CodeLifetime)})
	return code
}

// Redeem returns the token of a code and deletes the code. Its duration depends
// neither on the position of the code nor on whether it exists.
func (c *LoginCodes) Redeem(code string, now time.Time) (token string, ok bool) {
	hash := Hash(code)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(now)
	found := -1
	for i := range c.codes {
		same := subtle.ConstantTimeCompare(c.codes[i].hash[:], hash[:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 {
		return "", false
	}
	token = c.codes[found].token
	c.codes = slices.Delete(c.codes, found, found+1)
	return token, true
}

// forget deletes expired codes; mu is held. A code expires by the wall clock too: real time
// does not count while the machine is suspended.
func (c *LoginCodes) forget(now time.Time) {
	c.codes = slices.DeleteFunc(c.codes, func(l loginCode) bool {
		return !now.Before(l.expires) || !now.Round(0).Before(l.expires.Round(0))
	})
}

// Redeem exchanges a login code for its token. An unknown code counts as a
// failed login.
func (d *Admission) Redeem(addr netip.Addr, code string, now time.Time) (token string, refused error) {
	if d.Codes != nil {
		if token, ok := d.Codes.Redeem(code, now); ok {
			return token, nil
		}
	}
	if refused := d.failed(now, addr); refused != nil {
		return "", refused
	}
	return "", unauthorized("The link was used already, or is too old; sign in with a token.")
}
