package contextwindow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPreview(t *testing.T) {
	a := strings.Repeat
	for name, c := range map[string]struct{ in, want string }{
		"text":               {a("x", 1534), a("x", 300) + "… [1,234 more characters]"},
		"short text":         {"nothing to do", "nothing to do"},
		"text of wide runes": {a("日", 301), a("日", 300) + "… [1 more character]"},
		"no JSON":            {"{" + a("x", 400), "{" + a("x", 299) + "… [101 more characters]"},
		"two JSON values":    {`{"a":1} {"b":"` + a("y", 400) + `"}`, `{"a":1} {"b":"` + a("y", 286) + "… [116 more characters]"},

		"strings":              {`{"s":"` + a("x", 1534) + `"}`, `{"s":"` + a("x", 300) + `… [1,234 more characters]"}`},
		"a string alone":       {`"` + a("x", 302) + `"`, `"` + a("x", 300) + `… [2 more characters]"`},
		"string of 300":        {`["` + a("é", 300) + `"]`, `["` + a("é", 300) + `"]`},
		"escapes are one":      {`["` + a(`\n`, 301) + `"]`, `["` + a(`\n`, 300) + `… [1 more character]"]`},
		"code units":           {`["` + a(`\u00e9`, 301) + `"]`, `["` + a(`\u00e9`, 300) + `… [1 more character]"]`},
		"surrogate pairs":      {`["` + a(`\ud83d\ude00`, 302) + `"]`, `["` + a(`\ud83d\ude00`, 300) + `… [2 more characters]"]`},
		"half surrogates":      {`["` + a(`\ud83d`, 302) + `"]`, `["` + a(`\ud83d`, 300) + `… [2 more characters]"]`},
		"quotes, slashes":      {`["\\", "\"]", "a\\\"b"]`, `["\\","\"]","a\\\"b"]`},
		"long keys":            {`{"` + a("k", 310) + `":1}`, `{"` + a("k", 300) + `… [10 more characters]":1}`},
		"lists":                {`[1,2,3,` + a("0,", 16) + `20]`, `[1,2,3,"[17 more items]"]`},
		"list of three":        {`[1, 2, 3]`, `[1,2,3]`},
		"nested":               {`{"hits":[{"l":[1,2,3,4]},[[],[{}],"x",null,[5]]]}`, `{"hits":[{"l":[1,2,3,"[1 more item]"]},[[],[{}],"x","[2 more items]"]]}`},
		"order, numbers":       {`{"z":1.10,"a":12345678901234567890,"m":-0.0e-10,"z":true}`, `{"z":1.10,"a":12345678901234567890,"m":-0.0e-10,"z":true}`},
		"spaces":               {" \n{ \"a\" : [ 1 ,\t2 ] , \"b\" : { } }\r\n", `{"a":[1,2],"b":{}}`},
		"a number without end": {`[` + a("7", 1000) + `]`, `["[number of 1,000 characters]"]`},
		"depth": {
			a(`{"a":`, 9) + `[1,{"b":[2,3]}]` + a("}", 9),
			a(`{"a":`, 8) + `"[object with 1 key]"` + a("}", 8),
		},
		"depth, a list":    {a("[", 8) + `["],",[["\"[["],{"a":1}]]` + a("]", 8), a("[", 8) + `"[list of 2 items]"` + a("]", 8)},
		"depth, empty":     {a(`{"a":`, 8) + `{}` + a("}", 8), a(`{"a":`, 8) + `{}` + a("}", 8)},
		"depth, empty too": {a(`{"a":`, 8) + `[ ]` + a("}", 8), a(`{"a":`, 8) + `[]` + a("}", 8)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := previewText(c.in); got != c.want {
				t.Errorf("preview of %.500s\nis   %s\nnot  %s", c.in, got, c.want)
			}
		})
	}
}

func TestPreview_ManyKeys(t *testing.T) {
	var in, want strings.Builder
	in.WriteByte('{')
	want.WriteByte('{')
	for i := range 120 {
		if i > 0 {
			in.WriteByte(',')
		}
		fmt.Fprintf(&in, `"k%d":{"n":[%d]}`, i, i)
		if i < maxKeys {
			fmt.Fprintf(&want, `"k%d":{"n":[%d]},`, i, i)
		}
	}
	in.WriteByte('}')
	want.WriteString(`"…":"[70 more keys]"}`)
	if got := previewText(in.String()); got != want.String() {
		t.Errorf("got %s\nnot %s", got, want.String())
	}
}

// A preview is bounded, regardless of the width and depth of its JSON.
func TestPreview_Bounded(t *testing.T) {
	text := `"` + strings.Repeat("x", 290) + `"`
	for range 6 {
		var members []string
		for k := range 20 {
			members = append(members, fmt.Sprintf(`"key %d":%s`, k, text))
		}
		text = "{" + strings.Join(members[:min(20, 2_000_000/len(text)+1)], ",") + "}"
	}
	short, isCut := previewOf(text)
	if !json.Valid([]byte(short)) || !isCut || len(short) > maxPreview+1000 {
		t.Errorf("%d bytes become %d: %s", len(text), len(short), short)
	}
	if !strings.Contains(short, `"…":"[`) {
		t.Errorf("nothing says that keys are missing: %s", short)
	}
}

// maxPreviewBytes bounds all previews: the excess is at most one key and one
// string of escaped surrogates, and the ends of eight containers.
const maxPreviewBytes = maxPreview + 2*(12*maxString+50) + maxDepth*50

func FuzzPreview(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,2,3,4,{"b":null}],"c":"\ud83d\ude00"}`, `[[[[[[[[[[1]]]]]]]]]]`, `"x"`, ``, ` `, `{`, "\xff", `["\u12`, strings.Repeat(`{"a":[`, 20) + strings.Repeat(`]}`, 20),
		`["` + strings.Repeat(`\ud83d\ude00`, 310) + `"]`, `{"` + strings.Repeat("é", 400) + `":"` + strings.Repeat("\\\\", 500) + `"}`, strings.Repeat("日本", 1000), "{}{}", "[1e5,-0,true]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		short, isCut := previewOf(text)
		if !utf8.ValidString(short) {
			t.Errorf("%q is not valid UTF-8", short)
		}
		if len(short) > maxPreviewBytes {
			t.Errorf("%d bytes", len(short))
		}
		if text != "" && strings.ContainsAny(text[:1], "{[\"") && json.Valid([]byte(text)) && !json.Valid([]byte(short)) {
			t.Errorf("%q became %q", text, short)
		}
		if json.Valid([]byte(text)) && !isCut {
			sameJSON(t, text, short)
		}
	})
}

// sameJSON compares two values, ignoring spaces.
func sameJSON(t *testing.T, a, b string) {
	var x, y bytes.Buffer
	if json.Compact(&x, []byte(a)) != nil || json.Compact(&y, []byte(b)) != nil || x.String() != y.String() {
		t.Errorf("%q became %q", a, b)
	}
}

func previewText(in string) string { text, _ := previewOf(in); return text }
