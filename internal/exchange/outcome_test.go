package exchange

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/meup-protocol/meup/protocol"
)

func readJSON(t testing.TB, payload []byte) Result {
	t.Helper()
	doc, err := protocol.ParseJSON(payload, protocol.MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	return ReadResult(doc.Root())
}

func TestRead_Cases(t *testing.T) {
	raw, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name    string          `json:"name"`
		Payload json.RawMessage `json:"payload"`
		Want    string          `json:"want"`
		Failed  bool            `json:"failed"`
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			if r := readJSON(t, c.Payload); r.String() != c.Want || r.Failed != c.Failed {
				t.Errorf("%q, failed %t; want %q", r, r.Failed, c.Want)
			}
		})
	}
}

func TestShown(t *testing.T) {
	for payload, want := range map[string]string{
		`{"result":{"content":[{"type":"text","text":"It is “done”.\n"}]}}`:                        "“It is 'done'.”",
		`{"result":{"content":[{"type":"text","text":"` + strings.Repeat("é", maxLine) + `"}]}}`:   "“" + strings.Repeat("é", maxLine) + "”",
		`{"result":{"content":[{"type":"text","text":"` + strings.Repeat("é", maxLine+1) + `"}]}}`: "121 characters",
		`{"result":{"content":[{"type":"text","text":" "}]}}`:                                      "1 character",
		`{"result":{"content":[{"type":"text","text":"a\nb"}]}}`:                                   "2 lines",
		`{"result":{"content":[{"type":"text","text":"5 characters"}],"isError":true}}`:            "error: 5 characters",
		`{"result":{"content":[{"type":"text","text":"Found 3 files"}]}}`:                          "3 files found",
		`{"result":{}}`: "",
	} {
		t.Run(want, func(t *testing.T) {
			doc, err := protocol.ParseJSON([]byte(payload), protocol.MaxDepth)
			if err != nil {
				t.Fatal(err)
			}
			if got := ShownResult(doc.Root()); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestRead_LongTexts(t *testing.T) {
	long := `{"error":{"message":"` + strings.Repeat("x", 1000) + `"}}`
	if got, want := readJSON(t, []byte(long)).String(), "error: "+strings.Repeat("x", maxError)+"…"; got != want {
		t.Errorf("%q", got)
	}
	items, err := json.Marshal("[" + strings.Repeat("1,", maxDocument/2) + "1]")
	if err != nil {
		t.Fatal(err)
	}
	r := readJSON(t, []byte(`{"result":{"content":[{"type":"text","text":`+string(items)+`}]}}`))
	if want := "262,147 characters"; r.String() != want {
		t.Errorf("a text above the bound was parsed: %q, want %q", r, want)
	}
}

// FuzzRead checks that a result of any form gives one short line.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"result":{"content":[{"type":"text","text":"Found 3 documents"}]}}`))
	f.Add([]byte(`{"result":{"structuredContent":{"entries":[1]},"isError":true}}`))
	f.Add([]byte(`{"error":{"message":"a\nb"}}`))
	f.Add([]byte(`{"result":{"structuredContent":{"x\ns":[]}}}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		doc, err := protocol.ParseJSON(payload, protocol.MaxDepth)
		if err != nil {
			return
		}
		r := ReadResult(doc.Root())
		s := r.String()
		if utf8.RuneCountInString(s) > maxError+20 || strings.Contains(s, "\n") || !r.Failed && !utf8.ValidString(s) {
			t.Errorf("%q", s)
		}
	})
}
