package mcptools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
)

func TestFit(t *testing.T) {
	small := mcptools.Result{JSON: json.RawMessage(`{"content":[{"type":"text","text":"hi"}],"n":9007199254740993}`), Text: "hi"}
	if got := mcptools.Fit(small, 1000); string(got) != string(small.JSON) {
		t.Errorf("a small one became %s", got)
	}
	long := strings.Repeat("ab\n<é>", 100_000)
	raw, err := json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": long}}})
	if err != nil {
		t.Fatal(err)
	}
	got := mcptools.Fit(mcptools.Result{JSON: raw, Text: long, IsError: true}, 50_000)
	if len(got) > 50_000 || len(got) < 49_900 || !strings.Contains(string(got), `"meup/truncated"`) || !strings.Contains(string(got), `"isError":true`) {
		t.Errorf("%d bytes: %.100s … %s", len(got), got, got[len(got)-200:])
	}
	deep := mcptools.Result{JSON: json.RawMessage(strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)), Text: "deep"}
	if got := mcptools.Fit(deep, 1000); !strings.Contains(string(got), `"text":"deep"`) {
		t.Errorf("a deep one became %s", got)
	}
}

// For every text the result is valid JSON, fits, and is the longest that fits.
func TestFitFills(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.String().Draw(rt, "text")
		limit := rapid.IntRange(300, 600).Draw(rt, "limit")
		raw, err := json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}, "pad": strings.Repeat("x", 600)})
		if err != nil {
			rt.Fatal(err)
		}
		got := mcptools.Fit(mcptools.Result{JSON: raw, Text: text}, limit)
		if len(got) > limit || !json.Valid(got) {
			rt.Fatalf("%d bytes of %d: %s", len(got), limit, got)
		}
	})
}

// Each item of a result is kept that fits; the others are named.
func TestFit_ItemByItem(t *testing.T) {
	image := `{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("A", 1_200_000) + `"}`
	const audio, caption = `{"type":"audio","mimeType":"audio/wav","data":"AAAA"}`, `{"type":"text","text":"a cat"}`
	const label = `{"type":"text","text":"[image image/png: 1200049 bytes left out]"}`
	deep := strings.Repeat("[", 60) + strings.Repeat("]", 60)
	for name, test := range map[string]struct{ result, want string }{
		"lone surrogates": {
			`{"content":[{"type":"text","text":"half \ud83d"},{"type":"image","data":""}],"structuredContent":{"n":1.0,"n":9007199254740993}}`,
			`{"content":[{"type":"text","text":"half \ufffd"},{"type":"image","data":""}],"structuredContent":{"n":9007199254740993}}`,
		},
		"an unknown type": {`{"content":[{"type":"video","data":"AAAA"}]}`, `{"content":[{"type":"video","data":"AAAA"}]}`},
		"a large image": {
			`{"content":[` + image + `,` + audio + `,` + caption + `],"structuredContent":{"n":1.0},"isError":true,"_meta":{"x":1}}`,
			`{"content":[` + label + `,` + audio + `,` + caption + `],"isError":true,"structuredContent":{"n":1.0},"_meta":{"x":1,"meup/truncated":{"bytes":1200209,"text_bytes":5,"text_kept":5,"omitted":1}}}`,
		},
		"deep structured content": {
			`{"content":[` + audio + `],"structuredContent":` + deep + `}`,
			`{"content":[` + audio + `],"isError":false,"_meta":{"meup/truncated":{"bytes":208,"text_bytes":0,"text_kept":0,"omitted":1}}}`,
		},
		"a deep item": {
			`{"content":[{"type":"video","of":` + deep + `},` + caption + `]}`,
			`{"content":[{"type":"text","text":"[video: 142 bytes left out]"},` + caption + `],"isError":false,"_meta":{"meup/truncated":{"bytes":187,"text_bytes":5,"text_kept":5,"omitted":1}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(mcptools.Fit(mcptools.ResultOf(json.RawMessage(test.result)), 1<<20)); got != test.want {
				t.Errorf("got  %.1000s\nwant %s", got, test.want)
			}
		})
	}
}

// However many items a result has, it fits.
func TestFit_ManyItems(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var items []any
		for range rapid.IntRange(1, 40).Draw(rt, "items") {
			kind := rapid.SampledFrom([]string{"text", "image", "video"}).Draw(rt, "type")
			items = append(items, map[string]string{"type": kind, "text": rapid.String().Draw(rt, "text"), "data": strings.Repeat("A", rapid.IntRange(0, 500).Draw(rt, "data"))})
		}
		raw, err := json.Marshal(map[string]any{"content": items})
		if err != nil {
			rt.Fatal(err)
		}
		limit := rapid.IntRange(200, 2000).Draw(rt, "limit")
		if got := mcptools.Fit(mcptools.ResultOf(raw), limit); len(got) > limit || !json.Valid(got) {
			rt.Fatalf("%d bytes, want at most %d of valid JSON: %s", len(got), limit, got)
		}
	})
}

// A result of 4 MiB is read once, and the items that fit are not read again.
func BenchmarkFit(b *testing.B) {
	result := `{"content":[{"type":"text","text":"` + strings.Repeat(`a line of a file\n`, 4<<20/17) + `"}]}`
	for name, limit := range map[string]int{"whole": 8 << 20, "cut": 256 << 10} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(result)))
			for b.Loop() {
				mcptools.Fit(mcptools.ResultOf(json.RawMessage(result)), limit)
			}
		})
	}
}
