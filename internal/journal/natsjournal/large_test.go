package natsjournal

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// worstJSON returns a text of n bytes that compresses as badly as JSON can:
// random characters of one and two bytes, in the mixture with the highest
// entropy.
func worstJSON(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString(`{"message":"`)
	for b.Len() < n-4 {
		if r.IntN(100) < 69 {
			if c := rune(0x20 + r.IntN(0x5f)); c != '"' && c != '\\' {
				b.WriteRune(c)
			}
		} else {
			b.WriteRune(rune(0x80 + r.IntN(0x780)))
		}
	}
	b.WriteString(`"}`)
	return b.String()
}

// The largest message that a gateway accepts passes through a NATS with the
// same limit, regardless of its content; a larger one is rejected with
// ErrTooLarge.
func TestLargeDrafts(t *testing.T) {
	testkit.OneGoroutine(t)
	t.Parallel()
	n := openAccount(t)
	j := openTest(t, n.url(), nil)
	payloads := map[string]string{
		"plain":  `{"message":"` + strings.Repeat("x", 900<<10) + `"}`,
		"packed": `{"message":"` + strings.Repeat("x", 3<<20) + `"}`,
		"worst":  worstJSON(1 << 20),
	}
	var drafts []journal.Draft
	for _, id := range []string{"plain", "packed", "worst"} {
		d := chat(id, "alice")
		d.Envelope.Payload = []byte(payloads[id])
		drafts = append(drafts, d)
	}
	mustAppend(t, j, "lab", drafts...)
	for id, payload := range payloads {
		e, err := j.Lookup(t.Context(), "lab", protocol.ID(id))
		if err != nil || string(e.Envelope.Payload) != payload {
			t.Errorf("%s came out different: %v", id, err)
		}
	}
	huge := chat("huge", "alice")
	huge.Envelope.Payload = []byte(worstJSON(3 << 20))
	r := j.Append(t.Context(), "lab", []journal.Draft{chat("before", "alice"), huge, chat("after", "alice")})
	if r[0].Err != nil || !errors.Is(r[1].Err, journal.ErrTooLarge) || r[2].Err != nil {
		t.Errorf("too large: %+v", r)
	}
}
