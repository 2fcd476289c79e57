package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseForeign(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":[1.0,9007199254740993,1e400,-0]}`:     `{"a":[1.0,9007199254740993,1e400,-0]}`,
		`["\ud83d\ude00","\uD83D\uDE00"]`:           `["\ud83d\ude00","\uD83D\uDE00"]`,
		`"\ud83d"`:                                  `"\ufffd"`,
		`"\ud83dx"`:                                 `"\ufffdx"`,
		`"\uDE00\uD83D"`:                            `"\ufffd\ufffd"`,
		`"\uD83D\uD83D\uDE00"`:                      `"\ufffd\uD83D\uDE00"`,
		`"\uD83D\n\uDE00"`:                          `"\ufffd\n\ufffd"`,
		`"\\ud83d \u005c\ud83d"`:                    `"\\ud83d \u005c\ufffd"`,
		`{"\ud83d":1}`:                              `{"\ufffd":1}`,
		"[\"\xff\", \"a\xed\xa0\x80b\"]":            "[\"\ufffd\", \"a\ufffdb\"]",
		`{"a":1,"a":1.0}`:                           `{"a":1.0}`,
		`{"a":1,"b":2,"a":3,"\u0061":4,"c":5}`:      `{"b":2,"\u0061":4,"c":5}`,
		`{ "a" : {"x":1,"x":2} , "a" : [] }`:        `{ "a" : [] }`,
		`[{"a":{"x":1,"x":[{"y":1,"y":2}]},"b":0}]`: `[{"a":{"x":[{"y":2}]},"b":0}]`,
		`{"\ud800":1,"\udc00":2}`:                   `{"\ufffd":2}`,
		manyKeys(100, "k3"):                         strings.Replace(manyKeys(100, "k3"), `"k3":3,`, "", 1),
	} {
		doc, err := ParseForeign([]byte(text), maxDepth)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := string(doc.Root().Raw()); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestParseForeign_Rejects(t *testing.T) {
	for text, want := range map[string]string{
		``: "the text ends", `{"a":1,"a":}`: "beginning", `["\ud83d"`: "comma", `"\ud83`: "hexadecimal", `"\`: "the text ends",
		`{} {}`: "behind the end", `[01]`: "comma", nested(maxDepth + 1): "deeper than 64",
	} {
		_, err := ParseForeign([]byte(text), maxDepth)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(syntax.Detail, want) {
			t.Errorf("%s: got %v, want a *SyntaxError with …%s…", text, err, want)
		}
	}
}

func TestParseForeign_KeepsItsInput(t *testing.T) {
	const text = `{"a":"\ud800","a":"\udc00"}`
	src := []byte(text)
	if _, err := ParseForeign(src, maxDepth); err != nil {
		t.Fatal(err)
	}
	if string(src) != text {
		t.Errorf("the input is %s now, want %s", src, text)
	}
}

func TestParseForeign_LikeStandard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genJSON(t, 6)
		for range rapid.IntRange(0, 3).Draw(t, "mutations") {
			text = mutate(t, text)
		}
		foreignAsStandard(t, []byte(text))
	})
}

// FuzzParseForeign compares the reader of foreign JSON with encoding/json.
func FuzzParseForeign(f *testing.F) {
	f.Add([]byte(`{"a":"\ud83d\ude00","a":["\ud83d",{"b":1.0,"b":{"c":1,"c":2}}]}`))
	f.Add([]byte("{\"\xff\":1,\"\\udead\":2}"))
	f.Fuzz(func(t *testing.T, text []byte) { foreignAsStandard(t, text) })
}

// foreignAsStandard compares ParseForeign with encoding/json, which keeps the last
// one of duplicate keys and replaces lone surrogates. The result is strict JSON.
func foreignAsStandard(t tb, text []byte) {
	t.Helper()
	doc, err := ParseForeign(text, maxDepth)
	valid := bytes.ToValidUTF8(text, []byte("\ufffd"))
	if err != nil {
		if json.Valid(valid) && !strings.Contains(err.Error(), "nested deeper") {
			t.Fatalf("%q is refused: %v", text, err)
		}
		return
	}
	if !json.Valid(valid) {
		t.Fatalf("%q is accepted and is not JSON", text)
	}
	if got, want := doc.Root().Any(), decodeAny(t, valid); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: got %#v, want %#v", text, got, want)
	}
	if _, err := Parse(doc.Root().Raw(), maxDepth); err != nil {
		t.Fatalf("%q became %s, which is not strict: %v", text, doc.Root().Raw(), err)
	}
}
