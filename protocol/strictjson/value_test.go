package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

// maxDepth is the depth that most tests allow.
const maxDepth = 64

func TestParse_Accepts(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `false`, `0`, `-0`, `-1.5e+300`, `1E5`, `1e-999`, `123456789012345678901234567890.000000001`,
		`""`, `"ü€😀"`, `"\"\\\/\b\f\n\r\t"`, `"\u0000"`, `"\uD83D\uDE00"`, `"\uFFFD"`, "\"\u2028\x7f\"",
		`[]`, `{}`, "\t\r\n [ 1 , 2 ] ", `{"a":{"a":[{"a":1},{"a":2}]},"A":3}`, `{"":1}`,
		nested(maxDepth),
		manyKeys(100, ""),
	} {
		if _, err := Parse([]byte(text), maxDepth); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// manyKeys is an object of n members, and one more with the key last.
func manyKeys(n int, last string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":%d,`, i, i)
	}
	return "{" + b.String() + `"` + last + `":0}`
}

func TestParse_Rejects(t *testing.T) {
	for text, want := range map[string]struct{ path, detail string }{
		``:                  {"", "the text ends"},
		` `:                 {"", "the text ends"},
		`{} {}`:             {"", "behind the end"},
		`{}x`:               {"", "behind the end"},
		"{}\x00":            {"", "behind the end"},
		`nul`:               {"", "not a JSON value"},
		`True`:              {"", "beginning"},
		`NaN`:               {"", "beginning"},
		`Infinity`:          {"", "beginning"},
		`-Infinity`:         {"", "digits"},
		`'a'`:               {"", "beginning"},
		"\ufeff{}":          {"", "beginning"},
		`01`:                {"", "behind the end"},
		`-`:                 {"", "digits"},
		`+1`:                {"", "beginning"},
		`.5`:                {"", "beginning"},
		`1.`:                {"", "behind the point"},
		`1e`:                {"", "exponent"},
		`1e+`:               {"", "exponent"},
		`0x10`:              {"", "behind the end"},
		`"`:                 {"", "ends inside"},
		`"\`:                {"", "ends inside"},
		`"\x"`:              {"", "unknown escape"},
		`"\u12g4"`:          {"", "hexadecimal"},
		`"\u12`:             {"", "hexadecimal"},
		"\"\n\"":            {"", "control character"},
		"\"\xff\"":          {"", "invalid UTF-8"},
		"\"\xed\xa0\x80\"":  {"", "invalid UTF-8"}, // a surrogate in UTF-8
		"\"\xc0\x80\"":      {"", "invalid UTF-8"}, // overlong
		`"\uD800"`:          {"", "lone surrogate"},
		`"\uD800x"`:         {"", "lone surrogate"},
		`"\uDE00\uD83D"`:    {"", "lone surrogate"},
		`"\uD83D\uD83D"`:    {"", "lone surrogate"},
		`"\uD83D\n\uDE00"`:  {"", "lone surrogate"},
		`"\uD83D\u"`:        {"", "lone surrogate"},
		`[1,]`:              {"/1", "beginning"},
		`[1 2]`:             {"/1", "comma"},
		`[`:                 {"/0", "the text ends"},
		`{"a":1,}`:          {"", "key must be a string"},
		`{a:1}`:             {"", "key must be a string"},
		`{"a"}`:             {"/a", "colon"},
		`{"a":}`:            {"/a", "beginning"},
		`{"a":1 "b":2}`:     {"", "comma"},
		`{"a":"b","c":tru}`: {"/c", "not a JSON value"},
		`{"a":"b",c}`:       {"", "key must be a string"},

		`{"a":1,"a":1}`:                         {"/a", "duplicate key"},
		`{"a":1,"\u0061":2}`:                    {"/a", "duplicate key"},
		`{"x":{"y/z":[0,{"~":{"b":1,"b":2}}]}}`: {"/x/y~1z/1/~0/b", "duplicate key"},
		manyKeys(100, "k3"):                     {"/k3", "duplicate key"},
		manyKeys(9, "k8"):                       {"/k8", "duplicate key"},
		manyKeys(8, `\u006b7`):                  {"/k7", "duplicate key"},
		nested(maxDepth + 1):                    {strings.Repeat("/0", maxDepth), "deeper than 64"},
	} {
		_, err := Parse([]byte(text), maxDepth)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s: got %v, want a *SyntaxError", text, err)
			continue
		}
		if syntax.Path != want.path || !strings.Contains(syntax.Detail, want.detail) {
			t.Errorf("%s: path %q, %q; want path %q, …%s…", text, syntax.Path, syntax.Detail, want.path, want.detail)
		}
	}
}

func TestSyntaxErrorHasItsPlace(t *testing.T) {
	_, err := Parse([]byte(`{"a": nope}`), maxDepth)
	if got, want := fmt.Sprint(err), "not a JSON value at byte 6"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestValue(t *testing.T) {
	v := parse(t, `{"s":"a\nb","n":-12,"f":2.5,"e":1e3,"big":123456789012345678901234567890,"t":true,"x":null,"l":[1,"2",{}],"o":{"k":"v"}}`)
	if v.Len() != 9 || v.Get("l").Len() != 3 || v.Get("s").Len() != 0 {
		t.Errorf("lengths %d, %d, %d", v.Len(), v.Get("l").Len(), v.Get("s").Len())
	}
	if got := v.Get("s").Text(); got != "a\nb" {
		t.Errorf("text %q", got)
	}
	if _, ok := v.Get("s").Plain(); ok {
		t.Error("an escaped string is not plain")
	}
	if b, ok := v.Get("o").Get("k").Plain(); !ok || string(b) != "v" {
		t.Errorf("plain %q, %v", b, ok)
	}
	if n, ok := v.Get("n").Int(); !ok || n != -12 {
		t.Errorf("int %d, %v", n, ok)
	}
	for _, key := range []string{"f", "e", "big", "s", "none"} {
		if n, ok := v.Get(key).Int(); ok {
			t.Errorf("%s is an integer %d", key, n)
		}
	}
	if f, ok := v.Get("big").Float(); !ok || math.Abs(f-1.2345678901234568e29) > 1e15 {
		t.Errorf("float %g, %v", f, ok)
	}
	if _, ok := parse(t, `1e999`).Float(); ok {
		t.Error("1e999 is a float64")
	}
	if _, ok := v.Get("s").Float(); ok {
		t.Error("a string is a number")
	}
	if !v.Get("t").Bool() || v.Get("x").Bool() || v.Get("none").Bool() {
		t.Error("booleans")
	}
	if got := string(v.Get("o").Raw()); got != `{"k":"v"}` {
		t.Errorf("raw %s", got)
	}
	if got := v.Get("s").Offset(); got != 5 {
		t.Errorf("offset %d", got)
	}
}

func TestTypes(t *testing.T) {
	for text, want := range map[string]string{
		`null`: "null", `true`: "boolean", `1`: "number", `""`: "string", `{}`: "object", `[]`: "array",
	} {
		if got := parse(t, text).Type().String(); got != want {
			t.Errorf("%s is a %s, want %s", text, got, want)
		}
	}
}

func TestAbsentValue(t *testing.T) {
	var v Value
	for range v.Members {
		t.Error("members")
	}
	for range v.Elements {
		t.Error("elements")
	}
	if v.Exists() || v.Type() != TypeNone || v.Type().String() != "nothing" || v.Raw() != nil || v.Text() != "" ||
		v.Len() != 0 || v.Offset() != 0 || v.Any() != nil || v.EqualText("") || v.Get("a").Exists() {
		t.Error("the zero Value is not empty")
	}
}

func TestIterationStops(t *testing.T) {
	n := 0
	for range parse(t, `[1,2,3]`).Elements {
		n++
		break
	}
	for range parse(t, `{"a":1,"b":2}`).Members {
		n++
		break
	}
	if n != 2 {
		t.Errorf("%d rounds", n)
	}
}

// sameAsStandard compares Parse with encoding/json: the library accepts
// every accepted text with the same values, and rejects every rejected text
// unless objection names the reason.
func sameAsStandard(t tb, text []byte, maxDepth int) {
	t.Helper()
	doc, err := Parse(text, maxDepth)
	valid := json.Valid(text)
	if err != nil {
		if valid && objection(text, maxDepth) == "" {
			t.Fatalf("%q is refused: %v", text, err)
		}
		return
	}
	if !valid {
		t.Fatalf("%q is accepted and is not JSON", text)
	}
	if why := objection(text, maxDepth); why != "" {
		t.Fatalf("%q is accepted: %s", text, why)
	}
	if got, want := doc.Root().Any(), decodeAny(t, text); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: got %#v, want %#v", text, got, want)
	}
}

func TestParse_LikeStandard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genJSON(t, 6)
		for range rapid.IntRange(0, 3).Draw(t, "mutations") {
			text = mutate(t, text)
		}
		sameAsStandard(t, []byte(text), rapid.IntRange(1, 8).Draw(t, "max depth"))
	})
}

// genJSON generates a JSON text with optional white space and escapes.
func genJSON(t *rapid.T, depth int) string {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "type") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "literal")
	case 1:
		return rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?`).Draw(t, "number")
	case 2, 3:
		return genString(t)
	case 4:
		return genList(t, "{", "}", func() string { return genString(t) + genSpace(t) + ":" + genSpace(t) + genJSON(t, depth-1) })
	}
	return genList(t, "[", "]", func() string { return genJSON(t, depth-1) })
}

func genList(t *rapid.T, opening, closing string, item func() string) string {
	list := make([]string, rapid.IntRange(0, 12).Draw(t, "length")/3)
	for i := range list {
		list[i] = genSpace(t) + item() + genSpace(t)
	}
	return opening + genSpace(t) + strings.Join(list, ",") + closing
}

func genString(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "b", "Z", " ", "é", "€", "😀", `\n`, `\"`, `\\`, `\/`, `\u0061`, `\u00e9`, `\uD83D\uDE00`, `\ud83d\ude00`,
		`\ud800`, `\udc00`, "\x7f", "\u2028", "\xff",
	}), 0, 4).Draw(t, "string")
	return `"` + strings.Join(parts, "") + `"`
}

func genSpace(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\n", "\t\r"}).Draw(t, "space")
}

// mutate replaces, removes or duplicates a piece of the text.
func mutate(t *rapid.T, text string) string {
	if text == "" {
		return text
	}
	i := rapid.IntRange(0, len(text)-1).Draw(t, "from")
	j := min(len(text), i+rapid.IntRange(0, 4).Draw(t, "length"))
	with := rapid.SampledFrom([]string{"", text[i:j] + text[i:j], `"`, `\`, "{", "]", ",", ":", "0", "-", "\x00", "\x80", "e"}).Draw(t, "with")
	return text[:i] + with + text[j:]
}

func TestAppendText(t *testing.T) {
	doc, err := Parse([]byte(`["plain", "a\nb\u00e9\ud83d\ude00\\\/", "", 1, null]`), maxDepth)
	if err != nil {
		t.Fatal(err)
	}
	buf := []byte("> ")
	for v := range doc.Root().Elements {
		buf = append(v.AppendText(buf), '|')
	}
	if got, want := string(Value{}.AppendText(buf)), "> plain|a\nb\u00e9\U0001f600\\/||||"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
