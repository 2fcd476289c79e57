package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// knownValue is a secret that no rule knows.
const knownValue = "correct-horse_Battery!9"

// disguises are the codes that are read through, one at a time.
var disguises = map[string]func(secret string) string{
	"percent":          each(func(c byte) string { return fmt.Sprintf("%%%02x", c) }),
	"percent, upper":   each(func(c byte) string { return fmt.Sprintf("%%%02X", c) }),
	"decimal entities": each(func(c byte) string { return fmt.Sprintf("&#%d;", c) }),
	"hex entities":     each(func(c byte) string { return fmt.Sprintf("&#x%X;", c) }),
	"json escapes":     each(func(c byte) string { return fmt.Sprintf(`\u%04x`, c) }),
	"string escapes":   each(func(c byte) string { return fmt.Sprintf(`\x%02x`, c) }),
	"fullwidth":        each(func(c byte) string { return string(rune(c) - '!' + 0xff01) }),
	"hex":              func(s string) string { return hex.EncodeToString([]byte(s)) },
	"hex, upper":       func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"base64":           func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64, url":      func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"zero width":       func(s string) string { return strings.Join(strings.Split(s, ""), "\u200b") },
	"colors":           func(s string) string { return strings.Join(strings.Split(s, ""), "\x1b[1m") },
	"some percent": func(s string) string {
		return s[:3] + fmt.Sprintf("%%%02x", s[3]) + s[4:len(s)-4] + fmt.Sprintf("%%%02X", s[len(s)-4]) + s[len(s)-3:]
	},
	"percent within base64": func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte("x " + s + " y"))
	},
}

func each(code func(c byte) string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			if s[i] <= ' ' {
				b.WriteByte(s[i])
				continue
			}
			b.WriteString(code(s[i]))
		}
		return b.String()
	}
}

// secretsOf are one secret each of a dozen formats, and a known value.
func secretsOf(t testing.TB) map[string]string {
	t.Helper()
	r := rand.New(rand.NewPCG(51, 52))
	list := map[string]string{"known": knownValue}
	for name, format := range map[string]string{
		"github": "ghp_{alnum:36}", "openai": "sk-proj-{word:156}", "anthropic": "sk-ant-api03-{word:93}AA", "aws": "AKIA{b32:16}",
		"slack": "xoxb-{digit:12}-{digit:12}-{alnum:24}", "stripe": "sk_live_{alnum:24}", "google": "AIza{word:35}", "gitlab": "glpat-{alnum:20}",
		"npm": "npm_{alnum:36}", "huggingface": "hf_{alnum:34}", "sendgrid": "SG.{word:22}.{word:43}",
		"jwt": "eyJhbGciOiJIUzI1NiJ9.eyJ{alnum:117}.{word:43}",
	} {
		list[name] = write(t, r, format)
	}
	return list
}

func knowing(t testing.TB) *Set {
	t.Helper()
	rules, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	return NewSet(rules, Options{Known: []Secret{NewSecret(knownValue)}})
}

// checkMasked checks that a masked text has no part of the secret and has the text
// around it.
func checkMasked(t *testing.T, d *Set, before, disguised, after string) {
	t.Helper()
	got := d.Mask(before + disguised + after)
	if !strings.HasPrefix(got, before+"[redacted:") || !strings.HasSuffix(got, "]"+after) || strings.Count(got, "[redacted:") != 1 {
		t.Errorf("%q\nis masked as %q", before+disguised+after, got)
	}
}

func TestSecretsInDisguise(t *testing.T) {
	d := knowing(t)
	for name, secret := range secretsOf(t) {
		for disguise, code := range disguises {
			t.Run(name+"/"+disguise, func(t *testing.T) {
				checkMasked(t, d, "the value is ", code(secret), "")
				checkMasked(t, d, "", code(secret), " as you see")
			})
		}
	}
}

func TestSecretsInBrokenLines(t *testing.T) {
	d := knowing(t)
	for name, secret := range secretsOf(t) {
		for _, form := range []string{"plain", "base64"} {
			for _, width := range []int{8, 40, 64, 76} {
				text := secret
				if form == "base64" {
					text = base64.StdEncoding.EncodeToString([]byte("some text before " + secret + " and some after it, so that it is broken"))
				}
				if len(text) <= width || name == "known" && form == "plain" {
					continue // ! is in no token
				}
				for end, line := range map[string]string{"lf": "\n", "crlf": "\r\n", "indented": "\n    ", "quoted": "\n> "} {
					t.Run(fmt.Sprintf("%s/%s/%d/%s", name, form, width, end), func(t *testing.T) {
						wrapped := strings.ReplaceAll(strings.TrimSuffix(wrapAt(text, width), "\n"), "\n", line)
						checkMasked(t, d, "It reads:\n", wrapped, "\n\nand so on")
						checkMasked(t, d, "Bearer ", wrapped, "\n\nbye")
					})
				}
			}
		}
	}
}

// TestLinesThatStayApart: settings and lists of secrets are masked line by line.
func TestLinesThatStayApart(t *testing.T) {
	d := knowing(t)
	r := rand.New(rand.NewPCG(53, 54))
	key := func() string { return "sk-proj-" + random(r, "alnum", 120) }
	pat := func() string { return "ghp_" + random(r, "alnum", 36) }
	for in, want := range map[string]string{
		"A_KEY=" + key() + "\nDB_HOST=localhost\n":         "A_KEY=[redacted:openai-api-key]\nDB_HOST=localhost\n",
		pat() + "\n" + pat() + "\n" + pat() + "\n":         "[redacted:github-pat]\n[redacted:github-pat]\n[redacted:github-pat]\n",
		"- " + pat() + "\n- " + pat():                      "- [redacted:github-pat]\n- [redacted:github-pat]",
		"token=" + random(r, "alnum", 20) + "7\nnext line": "token=[redacted:generic-api-key]\nnext line",
		"the key is " + key() + "\nthen go on with it":     "the key is [redacted:openai-api-key]\nthen go on with it",
		"password: hunter2zebra\nuser: bob":                "password: [redacted:generic-password]\nuser: bob",
	} {
		if got := d.Mask(in); got != want {
			t.Errorf("%q\ngot  %q\nwant %q", in, got, want)
		}
	}
}

// TestReadingsKnowTheirPlaces checks the source span of each byte of a reading.
func TestReadingsKnowTheirPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(55, 56))
	parts := []string{"a", "Z9", "%41", "%zz", "&amp;", "&#65;", "&", `\u0042`, `\`, `\\`, "ｃ", "é", "\u200b", "\x1b[0m", "\n", "日"}
	for range 2000 {
		var b strings.Builder
		for range 1 + r.IntN(12) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		text := []byte(b.String())
		first := decoded(text)
		last := text
		if first != nil {
			last = first.text
		}
		second := stripped(first, last, true)
		for at := range second.text {
			from, to := second.span(at, at+1)
			if from < 0 || to > len(text) || from >= to {
				t.Fatalf("%q: byte %d of %q is at %d to %d", text, at, second.text, from, to)
			}
			if to-from == 1 && text[from] != second.text[at] {
				t.Fatalf("%q: byte %d of %q is at %d", text, at, second.text, from)
			}
		}
	}
}

func TestTraits(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			text := bytes.Repeat([]byte{'a', '\n'}, 10)
			text[at] = byte(c)
			if got := traitsOf(text); got != traits[c] {
				t.Fatalf("%q at %d: got %b, want %b", byte(c), at, got, traits[c])
			}
		}
	}
}
