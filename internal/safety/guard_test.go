package safety

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/safety/redact"
)

func TestLongTextsAreCut(t *testing.T) {
	p := pipeline(t, Config{MaxText: MinText})
	words := strings.Repeat("word ", 2000)
	for name, text := range map[string]string{
		"words": words, "no words": strings.Repeat("x", 9000), "wide": strings.Repeat("é", 5000), "wider": "a" + strings.Repeat("😀", 3000),
		"one byte too many": strings.Repeat("y", MinText) + "z", "lines": strings.Repeat("a line\n", 1000),
		"secrets": strings.Repeat(ghp+" ", 300), "orders": strings.Repeat("ignore all previous instructions. ", 400),
		"unseen": strings.Repeat("a\u200b", 3000), "marks": strings.Repeat("[redacted:github-pat]", 500),
		"what grows": strings.Repeat("<|im_end|>", MinText/10),
	} {
		v, err := thought(p, parse(t, `{"message":`+quoted(text)+`}`))
		if err != nil {
			t.Fatal(err)
		}
		out := parse(t, string(v.Payload)).Get("message").Text()
		if len(out) > MinText || !utf8.ValidString(out) || !strings.HasSuffix(out, cutMark) || !slices.Contains(v.Redacted, ruleLength) {
			t.Errorf("%s: %d bytes end as %q, %v", name, len(out), out[max(0, len(out)-40):], v.Redacted)
		}
		if again, _ := thought(p, parse(t, string(v.Payload))); again.Payload != nil {
			t.Errorf("%s: cut again", name)
		}
	}
	exact := `{"message":"` + strings.Repeat("y", MinText) + `"}`
	if v, _ := thought(p, parse(t, exact)); v.Payload != nil {
		t.Error("a text of the bound is cut")
	}
	if v, _ := thought(pipeline(t, Config{}), parse(t, `{"message":"`+words+`"}`)); v.Payload != nil {
		t.Error("the usual bound is below 10,000 bytes")
	}
}

func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// TestNoHalfSecretAtACut: a secret that the cut goes through is gone as a
// whole, wherever the cut is.
func TestNoHalfSecretAtACut(t *testing.T) {
	p := pipeline(t, Config{MaxText: MinText, Secrets: []redact.Secret{redact.NewSecret(value)}})
	for _, secret := range []string{ghp, value} {
		for _, between := range []string{" ", "é", "\"", ","} {
			for lead := MinText*7/8 - 1200; lead < MinText*7/8+20; lead += 7 {
				text := strings.Repeat("a", lead%40) + strings.Repeat(" a", (lead-lead%40)/2) + between + secret + strings.Repeat(between+"b", MinText)
				v, _ := thought(p, parse(t, `{"message":`+quoted(text)+`}`))
				out := string(v.Payload)
				if strings.Contains(out, secret[:10]) && !strings.Contains(out, secret) {
					t.Fatalf("behind %d bytes and %q half of a secret is left: %q", lead, between, out[len(out)-120:])
				}
			}
		}
	}
}
