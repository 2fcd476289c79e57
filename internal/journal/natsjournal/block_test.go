package natsjournal

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// section encodes drafts as the section of one Append.
func section(drafts ...journal.Draft) []byte {
	out := []byte{byte(len(drafts))}
	var scratch []byte
	for i := range drafts {
		out, scratch = appendDraft(out, scratch, &drafts[i])
	}
	return out
}

func TestBlockRoundTrip(t *testing.T) {
	hidden := chat("c", "bob")
	hidden.Hidden, hidden.Private, hidden.Audience = true, []byte("note"), []protocol.ParticipantID{"alice"}
	sections := [][]byte{section(chat("a", "alice"), grant("b", 7)), section(hidden)}
	for _, limit := range []int{1 << 20, 0} { // plain, and packed
		b, err := decodeBlock(encodeDrafts(sections, limit))
		if err != nil {
			t.Fatal(err)
		}
		if len(b.calls) != 2 || len(b.calls[0]) != 2 || len(b.calls[1]) != 1 {
			t.Fatalf("calls: %+v", b.calls)
		}
		if d := b.calls[0][1]; d.CheckedAtStateSeq != 7 || !d.State || d.Envelope.ID != "b" {
			t.Errorf("second draft: %+v", d)
		}
		if e := b.calls[1][0]; !e.Hidden || string(e.Private) != "note" || len(e.Audience) != 1 {
			t.Errorf("third draft: %+v", e)
		}
	}
	if b, err := decodeBlock(encodeTrim(12)); err != nil || b.trim != 12 {
		t.Errorf("trim: %+v, %v", b, err)
	}
}

func TestDecodeBlock_Invalid(t *testing.T) {
	good := encodeDrafts([][]byte{section(chat("a", "alice"))}, 1<<20)
	newer := slices.Clone(good)
	newer[1]++
	newerEntry := slices.Clone(good)
	version := journal.AppendEntry(nil, new(journal.Entry))[0]
	newerEntry[bytes.IndexByte(good[blockHeader+9:], version)+blockHeader+9] = journal.MaxVersion + 1
	many := append([]byte{blockMagic, blockVersion, typeDrafts}, 0x81, 0x08) // 1025 drafts
	for name, test := range map[string]struct {
		data []byte
		want error
	}{
		"empty":          {nil, errGarbage},
		"text":           {[]byte("hello"), errGarbage},
		"newer":          {newer, errNewer},
		"no drafts":      {good[:blockHeader], errGarbage},
		"cut":            {good[:len(good)-3], errGarbage},
		"too many":       {many, errGarbage},
		"trim of all":    {encodeTrim(0), errGarbage},
		"not packed":     {[]byte{blockMagic, blockVersion, typePacked, 1, 2, 3}, errGarbage},
		"unknown type":   {[]byte{blockMagic, blockVersion, 99}, errGarbage},
		"more of a trim": {append(encodeTrim(5), 1), errGarbage},
	} {
		if _, err := decodeBlock(test.data); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

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
	t.Parallel()
	n := startNATS(t)
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

func FuzzDecodeBlock(f *testing.F) {
	f.Add(encodeDrafts([][]byte{section(chat("a", "alice"), grant("b", 7))}, 1<<20))
	f.Add(encodeDrafts([][]byte{section(chat("a", "alice"))}, 0))
	f.Add(encodeTrim(12))
	f.Add(encodeEpoch("e", true))
	f.Add([]byte{blockMagic, blockVersion, typeDrafts, 1, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := decodeBlock(data)
		if err != nil {
			if !errors.Is(err, errGarbage) && !errors.Is(err, errNewer) {
				t.Errorf("unexpected error %v", err)
			}
			return
		}
		total := 0
		for _, call := range b.calls {
			total += len(call)
		}
		kinds := 0
		for _, is := range []bool{total > 0, b.trim > 0, b.epoch != ""} {
			if is {
				kinds++
			}
		}
		if kinds != 1 || total > seqsPerBlock {
			t.Errorf("%d drafts, trim %d and epoch %q", total, b.trim, b.epoch)
		}
	})
}
