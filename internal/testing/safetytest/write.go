// Package safetytest generates texts for tests of the leak detector: secrets of all
// formats in typical surroundings, and texts without secrets that look similar.
//
// All texts are made from formats and a seed, so that this repository contains no
// secret, not even a false one, and a text can be generated again. The package
// does not depend on the rules: other detectors can be tested with the same texts.
package safetytest

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

const (
	digits = "0123456789"
	small  = "abcdefghijklmnopqrstuvwxyz"
	large  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// classes are the characters that a format may ask for.
var classes = map[string]string{
	"digit": digits, "hex": digits + "abcdef", "HEX": digits + "ABCDEF",
	"letter": small + large, "small": small, "large": large,
	"lower": digits + small, "CAP": digits + large, "alnum": digits + small + large,
	"b64": digits + small + large + "/+", "word": digits + small + large + "_-",
	"lword": digits + small + "_-", "b32": large + "234567", "h8": digits + "abcdefgh",
	"bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", "ulid": "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
}

// lists are the words that a format may ask for.
var lists = map[string][]string{
	"noun": {
		"account", "answer", "batch", "branch", "budget", "cache", "cluster", "column", "deploy", "document", "draft", "event",
		"feature", "gateway", "handler", "index", "invoice", "journal", "key", "ledger", "limit", "module", "node", "order",
		"page", "payload", "planner", "queue", "record", "report", "schema", "secret", "segment", "session", "space", "stage",
		"stream", "task", "tenant", "thread", "token", "user", "vault", "widget", "worker", "password", "credential", "access",
	},
	"verb": {
		"build", "check", "close", "compare", "create", "delete", "fetch", "find", "load", "mask", "merge", "move", "open", "parse",
		"plan", "read", "refresh", "resolve", "retry", "rotate", "save", "send", "split", "store", "sync", "update", "verify", "write",
	},
	"person":  {"ada", "bob", "chen", "dana", "elif", "farid", "grace", "hugo", "ines", "jonas", "kofi", "lena"},
	"host":    {"api.example.org", "cdn.example.com", "db-1.internal", "localhost", "registry.example.net", "auth.example.org", "queue.svc.cluster.local"},
	"ext":     {"go", "py", "ts", "rs", "java", "md", "yaml", "json", "sql", "tsx", "css", "sh"},
	"level":   {"DEBUG", "INFO", "WARN", "ERROR"},
	"service": {"heroku", "twilio", "discord", "slack", "stripe", "github", "gitlab", "cloudflare", "datadog", "sentry", "okta", "linear", "asana", "jira", "facebook", "twitter", "fastly", "netlify", "snyk", "square", "dropbox", "mailgun", "algolia", "yandex", "zendesk", "confluence", "artifactory", "travis", "codecov", "new relic"},
}

// composed are names of compositions of other names.
var composed = map[string]string{
	"uuid":   "{hex:8}-{hex:4}-4{hex:3}-a{hex:3}-{hex:12}",
	"ulid":   "01{ulid:24}",
	"sha1":   "{hex:40}",
	"sha256": "{hex:64}",
	"ident":  "{noun}_{verb}_{noun}",
	"camel":  "{verb}{Noun}{Noun}",
	"path":   "src/{noun}/{noun}_{noun}.{ext}",
	"time":   "2026-1{digit:1}-0{digit:1}T1{digit:1}:2{digit:1}:3{digit:1}.{digit:3}Z",
	"semver": "{digit:1}.{digit:2}.{digit:1}",
	"ip":     "10.{digit:2}.{digit:2}.{digit:2}",
}

// Write makes a text of a format. {class:n} is n random characters, {class:n-m} a
// random number of them, {name} a word of a list or a composition, {Name} and
// {NAME} the same in capitals, and {pick:a|b|c} one of several; other braces are
// literal.
func Write(r *rand.Rand, format string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(format, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, closed := strings.Cut(rest, "}")
		text, known := "", false
		if closed {
			text, known = fill(r, name)
		}
		if !known {
			b.WriteByte('{')
			format = rest
			continue
		}
		b.WriteString(text)
		format = after
	}
}

// fill returns the text for a name between braces.
func fill(r *rand.Rand, name string) (text string, known bool) {
	if format, ok := composed[name]; ok {
		return Write(r, format), true
	}
	if list, ok := lists[name]; ok {
		return list[r.IntN(len(list))], true
	}
	if list, ok := lists[strings.ToLower(name)]; ok && len(name) > 1 {
		word := list[r.IntN(len(list))]
		if name == strings.ToUpper(name) {
			return strings.ToUpper(word), true
		}
		return strings.ToUpper(word[:1]) + word[1:], true
	}
	if options, ok := strings.CutPrefix(name, "pick:"); ok {
		list := strings.Split(options, "|")
		return list[r.IntN(len(list))], true
	}
	class, length, ok := strings.Cut(name, ":")
	if !ok || classes[class] == "" {
		return "", false
	}
	least, most, ranged := strings.Cut(length, "-")
	n, err := strconv.Atoi(least)
	if err != nil {
		return "", false
	}
	if m, err := strconv.Atoi(most); ranged && err == nil {
		n += r.IntN(m - n + 1)
	}
	return Random(r, class, n), true
}

// Random returns n characters of a class. The last one is no - or _, since
// some formats end where a word ends.
func Random(r *rand.Rand, class string, n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = classes[class][r.IntN(len(classes[class]))]
	}
	if n > 0 && (text[n-1] == '-' || text[n-1] == '_') {
		text[n-1] = 'x'
	}
	return string(text)
}
