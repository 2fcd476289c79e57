package httpapi

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// split returns the elements of a body that is an array; nil for elements
// longer than most.
func split(body io.Reader, most int64) ([]string, error) {
	in := bufio.NewReaderSize(body, 16)
	if list, err := isArray(in); err != nil || !list {
		return nil, errors.New("not an array")
	}
	a := arrayReader{in: in, most: most}
	var elements []string
	for {
		e, size, err := a.next()
		if errors.Is(err, io.EOF) {
			return elements, nil
		}
		if err != nil {
			return elements, err
		}
		if e == nil {
			e = []byte("too long")
		} else if int64(len(e)) != size {
			return nil, errors.New("the size is wrong")
		}
		elements = append(elements, string(e))
	}
}

func TestArrayReader_Elements(t *testing.T) {
	const most = 20
	for _, c := range []struct {
		body string
		want []string // nil: not an array
	}{
		{`[]`, []string{}},
		{" \t[ \r\n] \n", []string{}},
		{`[1]`, []string{"1"}},
		{`[ {"a":[1,{"b":"]"}]} , "x,]\"[" , -1.5e3,null]`, []string{`{"a":[1,{"b":"]"}]}`, `"x,]\"["`, "-1.5e3", "null"}},
		{`["\\",{"\\\"":1}]`, []string{`"\\"`, `{"\\\"":1}`}},
		{`[{"a":"` + strings.Repeat("x", 20) + `"},2]`, []string{"too long", "2"}},
		{`[` + strings.Repeat("1", 20) + `]`, []string{strings.Repeat("1", 20)}},
		{`[` + strings.Repeat("1", 21) + `]`, []string{"too long"}},
		{`[1,]`, nil},
		{`[,1]`, nil},
		{`[1 2]`, nil},
		{`[1`, nil},
		{`[`, nil},
		{`["`, nil},
		{`["\`, nil},
		{`[{]`, nil},
		{`[}]`, nil},
		{`[1]]`, nil},
		{`[1] x`, nil},
	} {
		t.Run(c.body, func(t *testing.T) {
			for _, body := range []io.Reader{strings.NewReader(c.body), iotest.OneByteReader(strings.NewReader(c.body)), iotest.DataErrReader(strings.NewReader(c.body))} {
				got, err := split(body, most)
				if (err == nil) != (c.want != nil) || err == nil && !slices.Equal(got, c.want) {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
}

func TestArrayReader_BodyFails(t *testing.T) {
	failed := errors.New("cut")
	if _, err := split(io.MultiReader(strings.NewReader(`[1,`), iotest.ErrReader(failed)), 10); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}

// FuzzArrayReader checks the elements against encoding/json.
func FuzzArrayReader(f *testing.F) {
	for _, seed := range []string{`[1,"a",{"b":[]}]`, ` [ ] `, `[[[]],"\"]"]`, `[1,,2]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var want []json.RawMessage
		if json.Unmarshal([]byte(body), &want) != nil || want == nil {
			return
		}
		got, err := split(strings.NewReader(body), 1<<20)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%q: %q, %v", body, got, err)
		}
		for i := range want {
			if got[i] != string(want[i]) {
				t.Errorf("%q: element %d is %q", body, i, got[i])
			}
		}
	})
}
