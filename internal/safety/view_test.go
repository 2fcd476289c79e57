package safety

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// terminalSequences are sequences that a terminal does not display.
var terminalSequences = []string{
	"\x1b[0m", "\x1b[1;38;5;208m", "\x1b[K", "\x1b[?25l", "\x1b]0;title\a", "\x1b]8;;https://x.org\x1b\\", "\x1b(B", "\x1b7", "\x1bc",
	"\x1bPq#1\x1b\\", "\u009b31m", "\u009d0;t\u009c", "\x1b(B\x1b[m", "\x1b[1m\u200b\x00\x1b[0m", "\x1b", "\u0085\x1b[m",
}

// TestWithTerminalSequencesInside checks that one mark covers known values, formats
// and wrapped secrets with a terminal sequence at all positions.
func TestWithTerminalSequencesInside(t *testing.T) {
	p := knowing(t, value)
	for _, c := range terminalSequences[:len(terminalSequences)-1] {
		for _, secret := range []string{value, ghp} {
			for at := 1; at < len(secret); at += 3 {
				in := "say " + secret[:at] + c + secret[at:] + " now"
				if got := p.Text(in); !strings.HasPrefix(got, "say [redacted:") || !strings.HasSuffix(got, "] now") || strings.Count(got, "[") != 1 {
					t.Fatalf("%q at %d: got %q", c, at, got)
				}
			}
			if got := p.Text("say " + strings.Join(strings.Split(secret, ""), c)); got != "say [redacted:known-secret]" && got != "say [redacted:github-pat]" {
				t.Fatalf("%q everywhere: got %q", c, got)
			}
		}
		if got := p.Text(c + ghp + c); strings.Contains(got, ghp[8:]) {
			t.Errorf("%q around it: got %q", c, got)
		}
		// A reading without the sequence finds only a part.
		if got := p.Text("token=q7Wm2xKp9sRt4vYb8" + c + "nH3cLd6fGj5"); strings.Contains(got, "cLd6f") {
			t.Errorf("%q: the rest stays: %q", c, got)
		}
	}
}

// TestTerminalSequencesStay: coloured text without a secret is left alone.
func TestTerminalSequencesStay(t *testing.T) {
	p := knowing(t, value)
	for _, c := range terminalSequences {
		text := "ok \t" + c + "PASS" + c + " internal/safety " + c
		if v, err := thought(p, parse(t, `{"message":`+string(must(json.Marshal(text)))+`}`)); err != nil || v.Payload != nil {
			t.Errorf("%q: got %s, %v", text, v.Payload, err)
		}
	}
}

// TestEscapesOfJSONInsideAText: they are looked through once.
func TestEscapesOfJSONInsideAText(t *testing.T) {
	p := knowing(t, value, "with/slash+and\U0001f600")
	escaped := ""
	for _, c := range ghp {
		escaped += fmt.Sprintf(`\u%04x`, c)
	}
	for in, want := range map[string]string{
		`{"v":"` + escaped + `","n":1}`:                  `{"v":"[redacted:github-pat]","n":1}`,
		`{"v":"` + escaped[:18] + ghp[3:] + `"}`:         `{"v":"[redacted:github-pat]"}`,
		`{"password":"\u0068unter2zebra"}`:               `{"password":"[redacted:generic-password]"}`,
		`{"v":"corre\u0063t-horse_Battery\u0021\u0039"}`: `{"v":"[redacted:known-secret]"}`,
		`{"v":"corre\u200b\u001b[0mct-horse_Battery!9"}`: `{"v":"[redacted:known-secret]"}`,
		`{"v":"with\/slash+and\ud83d\ude00."}`:           `{"v":"[redacted:known-secret]."}`,
		`\u00e9t\u00e9 C:\users \u12 \/ \\u0041 \ud83d`:  `\u00e9t\u00e9 C:\users \u12 \/ \\u0041 \ud83d`,
	} {
		if got := p.Text(in); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
}

// TestDigestsAreNoSecrets has names of digests of secrets.
func TestDigestsAreNoSecrets(t *testing.T) {
	p := pipeline(t, Config{})
	digest := "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	for _, name := range []string{"token_sha256", "token_hash", "api_key-digest", "secret_sha512_256", "access_token_fingerprint", "secret_checksum", "token_md5"} {
		for _, text := range []string{name + ": " + digest, name + "=" + digest, `{"` + name + `": "` + digest + `"}`} {
			if got := p.Text(text); got != text {
				t.Errorf("%s became %s", text, got)
			}
		}
	}
	if got := p.Text("token: " + digest); strings.Contains(got, digest) {
		t.Errorf("got %s", got)
	}
}
