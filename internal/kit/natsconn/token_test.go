package natsconn

import (
	"strings"
	"testing"
)

func TestTokens(t *testing.T) {
	for name, token := range map[string]string{
		"lab": "lab", "a.b": "a%2Eb", "team:x_y-z": "team%3Ax_y-z", "*": "%2A", ">": "%3E", "%2E": "%252E", "ä b": "%C3%A4%20b",
	} {
		if got := EncodeToken(name); got != token {
			t.Errorf("EncodeToken(%q) = %q, want %q", name, got, token)
		}
	}
	for _, token := range []string{"", "a.b", "%", "%2", "%2e", "%41", "%zz", "a b", "*"} {
		if name, ok := DecodeToken(token); ok {
			t.Errorf("DecodeToken(%q) = %q", token, name)
		}
	}
}

func FuzzToken(f *testing.F) {
	for _, s := range []string{"lab", "a.b", "%2E", "%", "*", "\x00\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if name, ok := DecodeToken(s); ok && EncodeToken(name) != s {
			t.Errorf("%q and %q both stand for %q", s, EncodeToken(name), name)
		}
		if s == "" {
			return
		}
		token := EncodeToken(s)
		if name, ok := DecodeToken(token); !ok || name != s || strings.ContainsAny(token, ".*> \t\r\n") {
			t.Errorf("%q became %q and that %q", s, token, name)
		}
	})
}
