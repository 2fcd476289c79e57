package redact

import (
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/safetytest"
)

// keywordsOf returns the keywords of all rules, each once.
func keywordsOf(d *Set) []string {
	var keys []string
	for _, r := range d.rules {
		keys = append(keys, r.keywords...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// fillTo repeats a unit up to a length.
func fillTo(size int, unit string) string { return strings.Repeat(unit, size/len(unit)+1)[:size] }

// hostile returns texts that are written to make inspection expensive.
func hostile(t testing.TB, d *Set, size int) map[string]string {
	t.Helper()
	r := rand.New(rand.NewPCG(31, 32))
	names := ""
	for _, k := range keywordsOf(d) {
		names += k + " key = "
	}
	percent, entities, wide, escapes := "", "", "", ""
	for _, c := range names[:4000] {
		if c < 0x80 && c > ' ' {
			percent += "%" + hex.EncodeToString([]byte{byte(c)})
			entities += "&#" + "x" + hex.EncodeToString([]byte{byte(c)}) + ";"
			wide += string(c - '!' + 0xff01)
			escapes += `\u00` + hex.EncodeToString([]byte{byte(c)})
		}
	}
	words := ""
	for range 2000 {
		words += []string{"twitter", " key", " token", " is", " =", " secret", ":", " ", "x", "discord", "plaid"}[r.IntN(11)]
	}
	texts := map[string]string{
		"keywords":          fillTo(size, strings.Join(keywordsOf(d), " ")),
		"names":             fillTo(size, names),
		"twitter":           fillTo(size, "twitter "),
		"twitter key":       fillTo(size, "twitter key token "),
		"random names":      fillTo(size, words),
		"names, all hidden": fillTo(size, names+"\\u0061\u200b\x1b[0m"),
		"percent":           fillTo(size, percent),
		"entities":          fillTo(size, entities),
		"fullwidth":         strings.ToValidUTF8(fillTo(size, wide), ""),
		"escapes":           fillTo(size, escapes),
		"base64":            base64.StdEncoding.EncodeToString([]byte(fillTo(size*3/4, names))),
		"base64, wrapped":   fillTo(size, wrapAt(base64.StdEncoding.EncodeToString([]byte(fillTo(9000, names))), 8)+"\n\n"),
		"hex":               hex.EncodeToString([]byte(fillTo(size/2, names))),
		"hidden everywhere": fillTo(size, "t\u200bo\u200bk\x1b[0me\u200bn\u200b=\u200b"),
		"secrets":           fillTo(size, ghp+" "),
		"secrets in lines":  fillTo(size, ghp+"\n"),
		"jwt headers":       fillTo(size, "eyJhbGci"),
		"jwt, far":          fillTo(size, "eyJ"+strings.Repeat("a", 60)),
		"pem":               fillTo(size, "-----BEGIN RSA PRIVATE KEY-----"),
		"pem, open":         fillTo(size, "-----BEGIN RSA PRIVATE KEY-----\n"+strings.Repeat("x", 40)+"\n"),
		"kubernetes":        fillTo(size, "kind: Secret\n  a: b\ndata:\n  a: "),
		"curl":              fillTo(size, "curl -u -h --header "),
		"passwords":         fillTo(size, "password = password "),
		"refused":           fillTo(size, "twitter_discord_token = next_page_token_example1 "),
		"one token":         fillTo(size, "sk-"+strings.Repeat("A", size)),
		"one long line":     fillTo(size, "a.b-c_d"),
		"short lines":       fillTo(size, "abcd\n"),
		"glpat":             fillTo(size, "glpat-"),
		"urls":              fillTo(size, "https://"),
		"cookies":           fillTo(size, "cookie="),
		"markers":           fillTo(size, "[redacted:jwt] token=[redacted:"),
		"osc":               fillTo(size, "\x1b]token=\x1b[1;"),
	}
	return texts
}

func wrapAt(text string, width int) string {
	var b strings.Builder
	for len(text) > width {
		b.WriteString(text[:width] + "\n")
		text = text[width:]
	}
	return b.String() + text
}

// TestWorkIsBounded compares the work for hostile texts, in bytes read, with their
// length. A text that exceeds the budget is masked as a whole.
func TestWorkIsBounded(t *testing.T) {
	d := detector(t)
	const size = 32 << 10
	// The last step over the budget is an expression over one window, or the
	// readings of the text.
	const bound = workPerByte + 16
	const overshoot = expressionCost*4*maxWindow + workAtLeast
	for name, text := range hostile(t, d, size) {
		t.Run(name, func(t *testing.T) {
			b := NewBudget(len(text))
			found := d.Find(nil, nil, []byte(text), &b)
			if most := bound*len(text) + overshoot; b.Spent() > most {
				t.Errorf("%d bytes of work for a text of %d, want at most %d", b.Spent(), len(text), most)
			}
			if exceeds := b.Spent() > workPerByte*len(text)+workAtLeast; exceeds != (len(found) == 1 && found[0] == Finding{RuleLimit, 0, len(text)}) {
				t.Errorf("the budget is exceeded: %v, and it finds %v", exceeds, found[:min(3, len(found))])
			}
			t.Logf("%.1f bytes of work for each byte", float64(b.Spent())/float64(len(text)))
		})
	}
}

// TestWorkOfOrdinaryTexts checks that ordinary texts use less than a third of the
// budget.
func TestWorkOfOrdinaryTexts(t *testing.T) {
	d := detector(t)
	check := func(s safetytest.Sample) {
		b := NewBudget(len(s.Text))
		d.Find(nil, []byte(s.Key), []byte(s.Text), &b)
		if 3*b.Spent() > workPerByte*len(s.Text)+workAtLeast {
			t.Errorf("%d bytes of work for %d: %q", b.Spent(), len(s.Text), s.Text)
		}
	}
	for s := range safetytest.Clean(3, cleanTexts) {
		check(s)
	}
	for s := range safetytest.Leaks(3, 1) {
		check(s)
	}
	for _, format := range cleanFormats {
		text := strings.Repeat(write(t, rand.New(rand.NewPCG(1, 2)), format)+"\n", 50)
		check(safetytest.Sample{Text: text})
	}
}
