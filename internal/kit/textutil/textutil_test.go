package textutil

import (
	"math"
	"testing"
	"time"
	"unicode/utf8"
)

func TestShorten(t *testing.T) {
	for name, c := range map[string]struct {
		s     string
		limit int
		want  string
	}{
		"empty":              {"", 0, ""},
		"fits":               {"four", 4, "four"},
		"too long":           {"fours", 4, "four…"},
		"nothing fits":       {"x", 0, "…"},
		"inside a character": {"aé€", 4, "aé…"},
		"first character":    {"€€", 2, "…"},
		"invalid bytes":      {"\xff\xfe\xfd", 2, "\xff\xfe…"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Shorten(c.s, c.limit); got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestShortenChars(t *testing.T) {
	for name, c := range map[string]struct {
		s     string
		limit int
		want  string
	}{
		"empty":         {"", 0, ""},
		"fits":          {"日本語", 3, "日本語"},
		"too long":      {"日本語", 2, "日本…"},
		"nothing fits":  {"語", 0, "…"},
		"short in both": {"é", 2, "é"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ShortenChars(c.s, c.limit); got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func FuzzTruncate(f *testing.F) {
	f.Add("aé€𝄞", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 0 {
			return
		}
		got := Truncate(s, limit)
		if len(got) > limit || s[:len(got)] != got || utf8.ValidString(s) && (!utf8.ValidString(got) || len(got)+4 <= min(limit, len(s))) {
			t.Errorf("%q, %d: %q", s, limit, got)
		}
	})
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 steps", 1: "1 step", 2: "2 steps", 999: "999 steps", 1000: "1,000 steps", 1234567: "1,234,567 steps",
		-1000: "-1,000 steps", -100: "-100 steps", math.MinInt64: "-9,223,372,036,854,775,808 steps",
	} {
		t.Run(want, func(t *testing.T) {
			if got := Count(n, "step"); got != want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0ms", 0: "0ms", time.Microsecond: "1ms", 38 * time.Millisecond: "38ms", 999 * time.Millisecond: "999ms",
		999*time.Millisecond + 1: "1s", time.Second: "1s", 8001 * time.Millisecond: "9s", 72 * time.Second: "1m 12s",
	} {
		t.Run(d.String(), func(t *testing.T) {
			if got := Took(d); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

func TestClosest(t *testing.T) {
	names := []string{"planner", "Guide", "ben"}
	for word, want := range map[string]string{
		"plannr": "planner", "PLANNER": "planner", "giude": "Guide", "guide": "Guide", "bne": "ben", "nobody": "", "b": "",
	} {
		t.Run(word, func(t *testing.T) {
			if got := Closest(word, names); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
