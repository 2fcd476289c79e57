package reasoner

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// values holds the values that conditions and arguments of a workflow may name.
type values struct {
	all    map[string]any
	checks int // number of evaluated conditions
}

// decoded decodes JSON and keeps numbers as they were written.
func decoded(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// lookup returns the value of a path such as outputs.test.files.0. ok is false
// if it does not exist.
func (v *values) lookup(path string) (value any, ok bool) {
	var here any = v.all
	for segment := range strings.SplitSeq(path, ".") {
		switch box := here.(type) {
		case map[string]any:
			here, ok = box[segment]
			if !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i < 0 || i >= len(box) {
				return nil, false
			}
			here = box[i]
		default:
			return nil, false
		}
	}
	return here, true
}

// maxFilled bounds the arguments of a tool after substitution, in bytes: a
// short template may name a long value many times.
const maxFilled = 1 << 20

var template = regexp.MustCompile(`\{\{\s*([^{}\s]+)\s*\}\}`)

// filler substitutes {{path}} in the strings of arguments. A string that consists of one
// template becomes the value itself, with its type.
type filler struct {
	values    *values
	remaining int
	fault     error
}

func (f *filler) fill(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = f.fill(x)
		}
	case []any:
		for i, x := range v {
			v[i] = f.fill(x)
		}
	case string:
		return f.text(v)
	}
	return v
}

func (f *filler) text(s string) any {
	m := template.FindStringSubmatch(s)
	if m == nil {
		return s
	}
	if m[0] == s {
		v := f.value(m[1])
		f.reserve(len(textOf(v)))
		return v
	}
	return template.ReplaceAllStringFunc(s, func(found string) string {
		if f.fault != nil {
			return ""
		}
		words := textOf(f.value(template.FindStringSubmatch(found)[1]))
		f.reserve(len(words))
		return words
	})
}

func (f *filler) value(path string) any {
	v, ok := f.values.lookup(path)
	if !ok && f.fault == nil {
		f.fault = &Fault{
			Status: http.StatusBadRequest, Code: CodeMissingValue, Path: "/" + strings.ReplaceAll(textutil.Shorten(path, 200), ".", "/"),
			Message: "The args of the node use " + quoted(path) + ", which the request does not have: use a value of params, outputs or memory.",
		}
	}
	return v
}

func (f *filler) reserve(n int) {
	f.remaining -= n
	if f.remaining < 0 && f.fault == nil {
		f.fault = &Fault{Status: http.StatusBadRequest, Code: CodeTooLarge, Path: definitionPath, Message: "The args of the node are too long after substitution: use shorter values."}
	}
}
