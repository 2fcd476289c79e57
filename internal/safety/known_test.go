package safety

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/safety/redact"
)

// value is a secret that no rule knows.
const value = "correct-horse_Battery!9"

func knowing(t testing.TB, values ...string) *Pipeline {
	t.Helper()
	var c Config
	for _, v := range values {
		c.Secrets = append(c.Secrets, redact.NewSecret(v))
	}
	return pipeline(t, c)
}

func TestKnownValuesAreMasked(t *testing.T) {
	p := knowing(t, value, "short", "zweites-Geheimnis-ä", "prefix-of-one", "prefix-of-one-and-more")
	encode := base64.StdEncoding.EncodeToString
	for in, want := range map[string]string{
		"the password is " + value + ", really": "the password is [redacted:known-secret], really",
		value:                                   "[redacted:known-secret]",
		"x" + value + "x":                       "x[redacted:known-secret]x",
		strings.ToUpper(value):                  strings.ToUpper(value), // another text
		"short":                                 "short",
		"Es heißt zweites-Geheimnis-ä.":         "Es heißt [redacted:known-secret].",
		"prefix-of-one and prefix-of-one-and-more":                   "[redacted:known-secret] and [redacted:known-secret]",
		"in base64: " + encode([]byte("x="+value)) + "!":             "in base64: [redacted:known-secret]!",
		"in base64: " + encode([]byte("zweites-Geheimnis-ä")):        "in base64: [redacted:known-secret]",
		value[:7] + "\u200b" + value[7:]:                             "[redacted:known-secret]",
		"a\u200d b " + value[:3] + "\u00ad\ufeff" + value[3:] + " c": "a\u200d b [redacted:known-secret] c",
	} {
		if got := p.Text(in); got != want {
			t.Errorf("%q\ngot  %q\nwant %q", in, got, want)
		}
	}
}

// TestWrappedInBase64: any rule, any alignment, both alphabets, with and
// without padding, over several lines; the whole run becomes one mark.
func TestWrappedInBase64(t *testing.T) {
	p := knowing(t, value)
	r := rand.New(rand.NewPCG(21, 22))
	for _, secret := range []string{value, ghp, "password = tr0ub4dor&3x", npm} {
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
			for lead := range 60 {
				text := strings.Repeat("é", lead%4) + random(r, "lower", lead) + " " + secret + " " + random(r, "lower", r.IntN(60))
				run := e.EncodeToString([]byte(text))
				for _, in := range []string{run, wrapLines(run, 64, "\n"), wrapLines(run, 76, "\r\n")} {
					if got := p.Text("see '" + in + "', and go on"); !strings.HasPrefix(got, "see '[redacted:") || !strings.HasSuffix(got, "]', and go on") || strings.Count(got, "[") != 1 {
						t.Fatalf("%q in %q\ngot %q", text, in, got)
					}
				}
			}
		}
	}
	twice := base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(ghp))))
	if got := p.Text(twice); got != twice {
		t.Errorf("wrapped twice: got %q", got) // once is what is promised
	}
	if got, want := p.Text("Bearer_"+base64.RawURLEncoding.EncodeToString([]byte(value))), "[redacted:known-secret]"; got != want {
		t.Errorf("behind something that looks like base64 itself: got %q", got)
	}
}

func wrapLines(run string, width int, end string) string {
	var lines []string
	for len(run) > width {
		lines, run = append(lines, run[:width]), run[width:]
	}
	return strings.Join(append(lines, run), end)
}

// TestWithUnseenCharactersInside checks that one mark covers a secret and the
// invisible characters inside, at all positions.
func TestWithUnseenCharactersInside(t *testing.T) {
	p := knowing(t, value)
	for _, c := range []string{"\u200b", "\u200c\u200d", "\ufeff", "\u00ad", "\u2060", "\u034f", "\ufe0f", "\U000e0041", "\u0000", "\u202a", "\u007f"} {
		for _, secret := range []string{value, ghp, base64.RawStdEncoding.EncodeToString([]byte(ghp))} {
			for at := 1; at < len(secret); at += 3 {
				in := "say " + secret[:at] + c + secret[at:] + " now"
				if got := p.Text(in); !strings.HasPrefix(got, "say [redacted:") || !strings.HasSuffix(got, "] now") || strings.Count(got, "[") != 1 {
					t.Fatalf("%+q at %d: got %+q", c, at, got)
				}
			}
			in := "say " + strings.Join(strings.Split(secret, ""), c) + " now"
			if got := p.Text(in); strings.Count(got, "[redacted:") != 1 || len(got) > 60 {
				t.Fatalf("%+q everywhere: got %+q", c, got)
			}
		}
	}
}

// TestUnseenCharactersThatBelong: emoji, scripts that join letters, and text
// from right to left stay as they are.
func TestUnseenCharactersThatBelong(t *testing.T) {
	p := knowing(t, value)
	for _, text := range []string{
		"👩\u200d👩\u200d👧 went on ❤\ufe0f with 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f and 1\ufe0f⃣",
		"می\u200cخواهم کتاب\u200cها را", "क्\u200dष", "\u2067שלום\u2069 world", "\ufeffbegins with a mark", "so\u00adge\u00adnannt", "日本\U000e0100語",
	} {
		v, err := thought(p, parse(t, `{"message":`+string(must(json.Marshal(text)))+`}`))
		if err != nil || v.Payload != nil || p.Text(text) != text {
			t.Errorf("%q: got %s, %v", text, v.Payload, err)
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// TestSecretsSplitByJSON: escapes, keys and depth hide nothing.
func TestSecretsSplitByJSON(t *testing.T) {
	p := knowing(t, value)
	escaped := ""
	for _, c := range value {
		escaped += fmt.Sprintf(`\u%04x`, c)
	}
	in := `{"a":[{"b":{"` + escaped + `":["x ` + escaped[:60] + value[10:] + `"]}}]}`
	v, _ := thought(p, parse(t, in))
	want := `{"a":[{"b":{"[redacted:known-secret]":["x [redacted:known-secret]"]}}],"redacted":["known-secret"]}`
	if string(v.Payload) != want {
		t.Errorf("got %s", v.Payload)
	}
}

func TestActionOfKnownValues(t *testing.T) {
	p := pipeline(t, Config{Secrets: []redact.Secret{redact.NewSecret(value)}, Actions: map[string]Action{redact.RuleKnown: ActionBlock}})
	if _, err := request(p, parse(t, `{"m":"`+value+`"}`)); err == nil || !strings.Contains(err.Message, "known-secret") {
		t.Errorf("got %v", err)
	}
	if got := p.Text("x " + value); got != "x [redacted:known-secret]" {
		t.Errorf("what is shown is masked, not blocked: got %q", got)
	}
}

// TestMarksAreNotInspected: a value that looks like the name of a rule does not
// make marks of marks.
func TestMarksAreNotInspected(t *testing.T) {
	p := knowing(t, "github-pat", "known-secret", "redacted:")
	v, _ := thought(p, parse(t, `{"m":"`+ghp+` github-pat known-secret"}`))
	again, _ := thought(p, parse(t, string(v.Payload)))
	if string(v.Payload) == "" || again.Payload != nil {
		t.Errorf("got %s, then %s", v.Payload, again.Payload)
	}
}

// TestSecretsPrintNothing checks all ways to print a secret.
func TestSecretsPrintNothing(t *testing.T) {
	secret := redact.NewSecret(value)
	type inside struct {
		Public  redact.Secret
		private redact.Secret
		list    []redact.Secret
		pointer *redact.Secret
		any     any
	}
	holder := inside{secret, secret, []redact.Secret{secret}, &secret, secret}
	p := knowing(t, value)
	var log strings.Builder
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("x", "secret", secret, "holder", holder, "pointer", &holder, "pipeline", Config{Secrets: []redact.Secret{secret}}, "any", []any{secret})
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%p", "%T"} {
		for _, v := range []any{secret, &secret, holder, &holder, []redact.Secret{secret}, map[string]redact.Secret{"a": secret}, p, *p, Config{Secrets: []redact.Secret{secret}}} {
			fmt.Fprintf(&log, verb+"\n", v)
		}
	}
	text, err := json.Marshal(map[string]any{"a": secret, "b": holder, "c": &secret})
	if err != nil {
		t.Fatal(err)
	}
	log.Write(text)
	fmt.Fprint(&log, secret, holder, secret.String(), redact.Secret{})
	said := log.String()
	for _, form := range []string{value, fmt.Sprintf("%x", value), strings.Trim(fmt.Sprintf("%d", []byte(value)), "[]"), base64.StdEncoding.EncodeToString([]byte(value)), "Battery"} {
		if strings.Contains(said, form) {
			t.Errorf("it is told as %q", form)
		}
	}
	if secret.Len() != len(value) || (redact.Secret{}).Len() != 0 {
		t.Error("its length is another one")
	}
}
