package textutil

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestHalves(t *testing.T) {
	for name, test := range map[string]struct{ in, want []string }{
		"an emoji in two events": {
			[]string{`{"type":"x","delta":{"text":"a\ud83d"}}`, `{"type":"x","delta":{"text":""}}`, `{"type":"x","delta":{"text":"\ude00b"}}`},
			[]string{`{"type":"x","delta":{"text":"a"}}`, `{"type":"x","delta":{"text":""}}`, `{"type":"x","delta":{"text":"\ud83d\ude00b"}}`},
		},
		"in three":                 {[]string{`{"t" : "\uD83D"}`, `{"t":"\uDE00\uD83D"}`, `{"t":"\uDE01"}`}, []string{`{"t" : ""}`, `{"t":"\uD83D\uDE00"}`, `{"t":"\uD83D\uDE01"}`}},
		"of another text":          {[]string{`{"a":"\ud83d","b":"\ud83d"}`, `{"b":"\ude01"}`, `{"a":"\ude00"}`}, []string{`{"a":"","b":""}`, `{"b":"\ud83d\ude01"}`, `{"a":"\ud83d\ude00"}`}},
		"the other half is absent": {[]string{`{"t":"\ud83d"}`, `{"t":"x"}`, `{"t":"\ude00"}`}, []string{`{"t":""}`, `{"t":"\ufffdx"}`, `{"t":"\ude00"}`}},
		"no half":                  {[]string{`{"t":"\\ud83d"}`, `{"t":"\ud83d\ude00"}`, `{"t":"\u0041"}`}, []string{`{"t":"\\ud83d"}`, `{"t":"\ud83d\ude00"}`, `{"t":"\u0041"}`}},
		"no JSON":                  {[]string{`[DONE] \ud83d`, `"\ud83d"`}, []string{`[DONE] \ud83d`, `"\ud83d"`}},
	} {
		t.Run(name, func(t *testing.T) {
			var h Halves
			var got []string
			for _, data := range test.in {
				got = append(got, string(h.Join([]byte(data))))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// Wherever a text of escapes is split between two of them, it arrives whole.
func TestHalves_AnySplit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		escapes := rapid.SliceOf(rapid.SampledFrom([]string{`\ud83d\ude00`, `\n`, `\\`, `\"`, `x`, `\u00e9`})).Draw(rt, "text")
		whole := strings.Join(escapes, "")
		units := strings.Split(strings.ReplaceAll(strings.Join(escapes, "|"), `\ud83d\ude00`, `\ud83d|\ude00`), "|")
		var h Halves
		var got strings.Builder
		for len(units) > 0 {
			n := rapid.IntRange(1, len(units)).Draw(rt, "units")
			var event struct{ Delta string }
			if err := json.Unmarshal(h.Join([]byte(`{"delta":"`+strings.Join(units[:n], "")+`"}`)), &event); err != nil {
				rt.Fatal(err)
			}
			got.WriteString(event.Delta)
			units = units[n:]
		}
		var want string
		if err := json.Unmarshal([]byte(`"`+whole+`"`), &want); err != nil || got.String() != want {
			rt.Fatalf("got %q, want %q, %v", got.String(), want, err)
		}
	})
}

func FuzzHalves(f *testing.F) {
	f.Add(`{"t":"\ud83d"}`, `{"t":"\ude00"}`)
	f.Add(`{"t":"\\`, `{"t" : "\u"}`)
	f.Add("{\"t\":\"\\ud\x1800\"}", `{"t":"\udC00"}`)
	f.Add(`{"t":"\ud00\\"}`, `{"t":"x"}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		var h Halves
		for _, data := range []string{first, second} {
			if got := h.Join([]byte(data)); json.Valid([]byte(data)) && !json.Valid(got) {
				t.Errorf("%q became %q", data, got)
			}
		}
	})
}
