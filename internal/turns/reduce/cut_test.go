package reduce

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// finder is a masker that knows one form of secrets, and how long the longest
// text was that it has seen.
type finder struct{ longest int }

var aSecret = regexp.MustCompile(`key-[a-z ]{96}-end`)

const ofSecret = "abcdefghijk lmnopqrstuvw"

func (f *finder) Text(text string) string {
	f.longest = max(f.longest, len(text))
	return aSecret.ReplaceAllString(text, "[masked]")
}

func (f *finder) Parameters(protocol.Value) json.RawMessage { return nil }

// TestMaskedBeforeItIsCut: a secret at any position is masked completely, and
// little more than the kept text is masked.
func TestMaskedBeforeItIsCut(t *testing.T) {
	secret := "key-" + strings.Repeat(ofSecret, 4) + "-end"
	for name, filler := range map[string]string{"words": "word und Wörter ", "no space": "0123456789", "secrets": secret + " "} {
		f := new(finder)
		for _, n := range []int{maxName, maxThought} {
			for _, near := range []int{n, n + cutMargin, n + 2*cutMargin} {
				for at := near - len(secret) - 8; at < near+8; at += 3 {
					text := strings.Repeat(filler, max(at, 0)/len(filler)) + strings.Repeat("x", max(at, 0)%len(filler))
					text += secret + strings.Repeat(" tail", 10_000)
					got := excerptOf(text, n).Masked(n, f)
					if strings.Contains(got, "abc") || len(got) > n+len("…") || !strings.HasSuffix(got, "…") {
						t.Fatalf("%s, at %d of %d: %d bytes, %q", name, at, n, len(got), got[max(0, len(got)-200):])
					}
				}
			}
			if f.longest > n+2*cutMargin {
				t.Errorf("%d bytes were masked to keep %d", f.longest, n)
			}
		}
	}
}

// TestShortTextsAreMaskedAsAWhole: a text that is not cut keeps its length.
func TestShortTextsAreMaskedAsAWhole(t *testing.T) {
	for _, n := range []int{maxName, maxThought} {
		for _, size := range []int{0, 1, n - 1, n} {
			if got := excerptOf(strings.Repeat("x", size), n).Masked(n, NoMask{}); len(got) != size {
				t.Errorf("%d of %d bytes: %d are shown", size, n, len(got))
			}
		}
		for _, size := range []int{n + 1, n + cutMargin, n + 2*cutMargin, n + 2*cutMargin + 1, 10*n + 100_000} {
			if got := excerptOf(strings.Repeat("x", size), n).Masked(n, NoMask{}); len(got) != n+len("…") {
				t.Errorf("%d of %d bytes: %d are shown", n, size, len(got))
			}
		}
	}
}

// TestLongTextsAreNotMaskedAsAWhole: the cost of a long chat or thought depends
// on its kept part only.
func TestLongTextsAreNotMaskedAsAWhole(t *testing.T) {
	long := strings.Repeat("word ", 200_000)
	for kind, most := range map[protocol.Kind]int{protocol.KindChat: maxChat, protocol.KindReasoningThought: maxThought} {
		f := new(finder)
		payload, err := json.Marshal(map[string]string{"message": long, "tool_name": long})
		if err != nil {
			t.Fatal(err)
		}
		it := NewItem(&Entry{Envelope: &protocol.Envelope{Kind: kind, Payload: payload}})
		shown := (&Display{Mask: f}).of(it)
		if len(shown.text) < most-1 || f.longest == 0 || f.longest > most+2*cutMargin {
			t.Errorf("%s: %d bytes are kept, %d were masked at once", kind, len(shown.text), f.longest)
		}
	}
}
