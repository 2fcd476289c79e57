package safety

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/testing/safetytest"
	"github.com/meup-protocol/meup/protocol"
)

// through passes a text through a stream in chunks of up to most characters, and
// returns all that came out.
func through(t testing.TB, p *Pipeline, r *rand.Rand, text string, most int) string {
	t.Helper()
	var s Stream
	var out strings.Builder
	for rest := text; rest != ""; {
		n := 0
		for range 1 + r.IntN(most) {
			_, size := utf8.DecodeRuneInString(rest[n:])
			n += size
		}
		out.WriteString(pass(t, p, &s, rest[:n]))
		if s.Held() > maxHeld || s.Size() > 4*maxHeld {
			t.Fatalf("the stream holds back %d bytes, of %d", s.Held(), s.Size())
		}
		rest = rest[n:]
	}
	rest, _, _ := p.StreamRest(&s)
	return out.String() + rest
}

// pass passes one chunk.
func pass(t testing.TB, p *Pipeline, s *Stream, chunk string) string {
	t.Helper()
	payload := parse(t, string(protocol.AppendString([]byte(`{"stream_id":"s","data":`), chunk))+"}")
	v, refused := p.StreamData(s, payload, protocol.Value{})
	switch {
	case refused != nil:
		t.Fatal(refused)
	case v.Payload == nil:
		return chunk
	}
	return parse(t, string(v.Payload)).Get("data").Text()
}

// sizes are the largest chunks, in characters.
var sizes = []int{1, 2, 7, 40}

// seenOf returns the longest part of a secret that a text has, up to most.
func seenOf(secret, text string, most int) int {
	n := 0
	for i := range secret {
		for i+n < len(secret) && n <= most && strings.Contains(text, secret[i:i+n+1]) {
			n++
		}
	}
	return n
}

// TestStream_MasksSplitSecrets: of no secret that is found in a text as a whole
// more than the first characters are seen when it comes in chunks.
func TestStream_MasksSplitSecrets(t *testing.T) {
	p := pipeline(t, Config{})
	r := rand.New(rand.NewPCG(5, 6))
	samples, faults := 0, map[string]int{}
	every := 4 // all take minutes
	if testing.Short() {
		every = 16
	}
	for s := range safetytest.Leaks(3, 1) {
		secret := s.Secret()
		if seenOf(secret, p.Text(s.Text), 12) >= 12 || s.Key != "" {
			continue // not found in the text as a whole
		}
		samples++
		if samples%every != 0 {
			continue
		}
		for _, most := range sizes {
			out := through(t, p, r, s.Text, most)
			if n := seenOf(secret[len(secret)/3:], out, 16); n > 8 {
				faults[s.Kind]++
				if faults[s.Kind] < 3 {
					t.Errorf("chunks of %d: %d characters of %q are seen:\n%q\n%q", most, n, secret, s.Text, out)
				}
			}
		}
	}
	t.Logf("%d samples, %v", samples, faults)
}

// TestStream_PassesCleanText: text without secrets comes out whole and in order.
func TestStream_PassesCleanText(t *testing.T) {
	p := pipeline(t, Config{})
	r := rand.New(rand.NewPCG(7, 8))
	faults := 0
	for s := range safetytest.Clean(4, 500) {
		if p.Text(s.Text) != s.Text {
			continue
		}
		for _, most := range sizes {
			if out := through(t, p, r, s.Text, most); out != s.Text {
				faults++
				t.Logf("%s, chunks of %d:\n%q\n%q", s.Kind, most, s.Text, out)
			}
		}
	}
	if faults > 6 {
		t.Errorf("%d texts were changed", faults)
	}
}

func TestStream_HoldsBackLittle(t *testing.T) {
	p := knowing(t, value)
	for chunk, want := range map[string]string{
		"hello": "hello", "I think that": "I think that", "part 1 of 2": "part 1 of 2", "see internal/space/ring.go": "see internal/space/ring.go",
		"思考は": "思考は", "the token": "the token", "100%": "100", "a word\n": "a word\n", "ghp_aB3": "ghp_", "corr": "cor",
		"The token limit is 20": "The token limit is 20", "naïve “words” — 😀": "naïve “words” — 😀",
		"Authorization: Bearer abc": "Authorization: Bearer",
	} {
		chunk, want = strings.ReplaceAll(chunk, `\n`, "\n"), strings.ReplaceAll(want, `\n`, "\n")
		t.Run(chunk, func(t *testing.T) {
			var s Stream
			if got := pass(t, p, &s, chunk); got != want {
				t.Errorf("%q is passed on", got)
			}
			if rest, _, _ := p.StreamRest(&s); want+rest != chunk {
				t.Errorf("the rest is %q", rest)
			}
		})
	}
}

// A key longer than the text that a stream holds back is not released, and the text
// after it is.
func TestStream_LongerThanItHolds(t *testing.T) {
	p := pipeline(t, Config{})
	r := rand.New(rand.NewPCG(9, 1))
	var key strings.Builder
	key.WriteString("-----BEGIN PRIVATE KEY-----\n")
	for range 1000 {
		key.WriteString(random(r, "b64", 64) + "\n")
	}
	lines := key.String()
	image := random(r, "b64", 100_000)
	for name, test := range map[string]struct{ text, want string }{
		"key":     {"It is:\n" + lines + "-----END PRIVATE KEY-----\nThat, was it.", "That, was it."},
		"data":    {"data:image/png;base64," + image + ", and so on", "data:image/png;base64," + image + ", and so on"},
		"no key":  {"-----BEGIN PRIVATE KEY----- " + strings.Repeat("is a header. ", 5000), "-----BEGIN PRIVATE KEY----- " + strings.Repeat("is a header. ", 5000)},
		"a value": {"token=" + image + "\nand more", "and more"},
	} {
		t.Run(name, func(t *testing.T) {
			out := through(t, p, r, test.text, 60)
			if !strings.HasSuffix(out, test.want) {
				t.Errorf("the end is %.100q", out[max(0, len(out)-100):])
			}
			if test.want != test.text && seenOf(lines[64:2000], out, 16) > 8 {
				t.Error("the key is seen")
			}
			if name == "a value" && len(out) > 200 {
				t.Errorf("%d characters are seen", len(out))
			}
		})
	}
}

// FuzzStream checks that a secret is removed in all encodings and chunkings, and
// that the rest of the text is not.
func FuzzStream(f *testing.F) {
	for dress := range uint8(9) {
		f.Add("a ", " b", dress, uint8(3), uint64(1), uint8(0))
		f.Add("x\n", "\ny", dress, uint8(5), uint64(2), uint8(3))
	}
	f.Add(strings.Repeat("A", 61)+"\n", "\n"+strings.Repeat("B", 70), uint8(2), uint8(1), uint64(3), uint8(9))
	p := knowing(f, value)
	f.Fuzz(func(t *testing.T, before, after string, dress, at uint8, seed uint64, most uint8) {
		if !utf8.ValidString(before) || !utf8.ValidString(after) || len(before)+len(after) > 4096 {
			return
		}
		if strings.ContainsAny(before, `\%&`) || strings.ContainsFunc(before, func(r rune) bool { return r == 0x1b || r >= 0x80 && r < 0xa0 }) {
			return // it would take a part of the secret with it
		}
		r := rand.New(rand.NewPCG(seed, 1))
		secret := dressed(value, dress, at)
		out := through(t, p, r, before+secret+after, 1+int(most))
		if left := undressed(out); strings.Contains(left, value) || strings.Contains(out, secret) {
			t.Fatalf("%q is left of %q", out, before+secret+after)
		}
		if !utf8.ValidString(out) {
			t.Fatalf("%q is not text", out)
		}
		if clean := before + after; p.Text(clean) == clean && messageOf(t, p, must(json.Marshal(clean))) == clean {
			if out := through(t, p, r, clean, 1+int(most)); out != clean {
				t.Fatalf("%q becomes %q", clean, out)
			}
		}
	})
}

// TestStream_EverySplit: of no secret more than the first characters are seen, wherever
// its text is split.
func TestStream_EverySplit(t *testing.T) {
	p := pipeline(t, Config{})
	r := rand.New(rand.NewPCG(7, 8))
	for f := range safetytest.Secrets() {
		if f.Name != "" {
			continue // its characters are those of another format
		}
		before, secret, marked := strings.Cut("It has "+safetytest.Write(r, f.Format), "«")
		secret, after, _ := strings.Cut(secret, "»")
		if !marked {
			before, secret = "It has ", strings.TrimPrefix(before, "It has ")
		}
		text := before + secret + after + " in it."
		for at := range text {
			var stream Stream
			got := pass(t, p, &stream, text[:at]) + pass(t, p, &stream, text[at:])
			rest, _, _ := p.StreamRest(&stream)
			if n := seenOf(secret[len(secret)/3:], got+rest, 16); n > 8 {
				t.Errorf("%s: %q | %q\nbecomes %q: %d characters are seen, want at most 8", f.Rule, text[:at], text[at:], got+rest, n)
				break
			}
		}
	}
}
