package safety

import (
	"bytes"
	"regexp"
)

// maxName bounds the names of fields that are looked at; longer ones are text.
const maxName = 96

// endings are the last words of names of secrets, with conditions on the words
// before them.
var endings = func() map[string]ending {
	m := map[string]ending{
		"token": {not: tokenOf}, "key": {after: keyOf}, "keys": {after: keyOf}, "phrase": {after: set("seed", "recovery")},
		"string": {after: set("connection")}, "auth": {after: accessOf, alone: true}, "sig": {after: accessOf, alone: true},
		"signature": {after: accessOf}, // others are public, or of functions
	}
	for word := range set("password", "passwords", "passwd", "passphrase", "passcode", "pwd", "pass", "secret", "secrets", "credential",
		"credentials", "authorization", "cookie", "cookies", "bearer", "otp", "pin", "cvv", "cvc", "mnemonic", "apikey", "apikeys",
		"accesskey", "secretkey", "privatekey") {
		m[word] = ending{}
	}
	return m
}()

// ending is the condition on the word before a last word.
type ending struct {
	not   map[string]bool // none of these
	after map[string]bool // one of these; nil: any
	alone bool            // or no word
}

// tokenOf are words before "token" that make it a mark in a text or in a list.
var tokenOf = set("page", "next", "previous", "prev", "continuation", "pagination", "eos", "bos", "pad", "unk", "sep", "cls",
	"mask", "stop", "special", "start", "end", "max", "min", "num", "per", "first", "last")

// keyOf are words before "key" that make it a secret.
var keyOf = set("api", "access", "secret", "private", "signing", "encryption", "auth", "master", "service", "account", "deploy", "ssh", "license")

// accessOf are words that make a following "auth", "sig" or "signature" a credential.
var accessOf = set("basic", "http", "proxy", "registry", "user", "access", "amz", "goog", "sas")

// doubtful are names that a count or a flag has too: only texts under them are
// secrets.
var doubtful = set("pass", "auth", "sig")

// parameters are the members whose values are the parameters of a tool.
var parameters = set("arguments", "parameters", "params", "args", "input", "tool_input")

// behind are words after the last one that do not change the meaning.
var behind = set("value", "text", "plain", "plaintext", "raw", "base", "pem", "confirm", "confirmation", "again", "repeat", "old", "new", "current", "header")

// asking are first words of names that ask about a secret, or do something
// with it.
var asking = set("has", "is", "no", "needs", "requires", "require", "show", "hide", "forgot", "reset", "min", "max", "allow", "enable", "use", "with")

// joined are the ends of names that are written as one word.
var joined = []string{"password", "passwd", "passphrase", "apikey", "secretkey", "accesskey", "privatekey",
	"userpass", "dbpass", "rootpass", "adminpass", "smtppass", "clientsecret", "authtoken", "accesstoken", "refreshtoken", "bearertoken", "sessiontoken"}

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// secretName reports whether the name of a field implies a secret value:
// password, dbPassword, X-Api-Key, AUTHORIZATION; not token_count, max_tokens,
// password_policy.
func secretName(name []byte) bool {
	if len(name) == 0 || len(name) > maxName {
		return false
	}
	var buffer [2 * maxName]byte
	words := splitName(buffer[:0], name)
	last := cutLast(&words)
	for behind[string(last)] && len(words) > 0 {
		last = cutLast(&words)
	}
	first, _, several := bytes.Cut(words, underscore)
	if len(words) > 0 && asking[string(first)] {
		return false
	}
	before := words
	if several {
		before = before[bytes.LastIndexByte(before, '_')+1:]
	}
	if e, ok := endings[string(last)]; ok {
		return !e.not[string(before)] && (e.after == nil || e.after[string(before)] || e.alone && len(before) == 0)
	}
	for _, j := range joined {
		if bytes.HasSuffix(last, []byte(j)) {
			return true
		}
	}
	return false
}

var underscore = []byte("_")

// cutLast takes the last word off a name that was split.
func cutLast(words *[]byte) (last []byte) {
	w := *words
	i := bytes.LastIndexByte(w, '_')
	*words = w[:max(i, 0)]
	return w[i+1:]
}

// splitName appends the words of a name in lower case, with _ between them:
// dbPassword2, DB_PASSWORD and "db password" are all db_password.
func splitName(dst, name []byte) []byte {
	for i, c := range name {
		upper := c >= 'A' && c <= 'Z'
		switch {
		case upper && i > 0 && (lower(name[i-1]) || i+1 < len(name) && lower(name[i+1])):
			dst = separate(dst)
		case !upper && !lower(c) && c < 0x80:
			dst = separate(dst)
			continue
		}
		if upper {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return bytes.TrimSuffix(dst, underscore)
}

func separate(dst []byte) []byte {
	if len(dst) == 0 || dst[len(dst)-1] == '_' {
		return dst
	}
	return append(dst, '_')
}

func lower(c byte) bool { return c >= 'a' && c <= 'z' }

// placeholder matches references to a secret, blanks, and masked text.
var placeholder = regexp.MustCompile(`\A(?:[*•.xX]*|\$\{[\w.:-]*\}|\$[A-Z0-9_]*|\{\{[\w.\- ]*\}\}|<[a-zA-Z_\- ]*>|%[A-Z0-9_]*%|\[redacted:[a-z0-9-]*\])\z`)

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
