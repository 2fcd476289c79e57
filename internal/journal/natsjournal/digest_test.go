package natsjournal

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestMarks_Compare(t *testing.T) {
	var m marks
	if log, list := m.Latest(); log != "" || list != nil {
		t.Errorf("no marks: %q %v", log, list)
	}
	if _, _, ok := m.Compare("", []mark{{}}); ok {
		t.Error("marks without a log are compared")
	}
	for i := range uint64(maxMarks + 2) {
		seq := (i + 1) * markEvery
		m.record("a", []mark{{seq, digest{lo: seq}}}, mark{seq + 1, digest{lo: seq + 1}})
	}
	last := uint64(maxMarks+2) * markEvery
	if log, list := m.Latest(); log != "a" || !slices.Equal(list, []mark{{last, digest{lo: last}}, {last + 1, digest{lo: last + 1}}}) {
		t.Errorf("latest: %q %v", log, list)
	}
	for name, test := range map[string]struct {
		log  string
		seqs []uint64
		want uint64
	}{
		"head":         {"a", []uint64{last + 1}, last + 1},
		"last in both": {"a", []uint64{last - markEvery, last, last + 2}, last},
		"oldest kept":  {"a", []uint64{3 * markEvery}, 3 * markEvery},
		"dropped":      {"a", []uint64{2 * markEvery}, 0},
		"other log":    {"b", []uint64{last}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var list []mark
			for _, seq := range test.seqs {
				list = append(list, mark{Seq: seq})
			}
			theirs, mine, ok := m.Compare(test.log, list)
			if theirs.Seq != test.want || mine.lo != test.want || ok != (test.want > 0) {
				t.Errorf("compared %d with %d, %t", theirs.Seq, mine.lo, ok)
			}
		})
	}
	m.record("b", nil, mark{Seq: 7})
	if log, list := m.Latest(); log != "b" || !slices.Equal(list, []mark{{Seq: 7}}) {
		t.Errorf("of another log: %q %v", log, list)
	}
}

func TestMark_JSON(t *testing.T) {
	want := mark{7, digest{1, 1 << 63}}
	data, err := json.Marshal(want)
	var got mark
	if err != nil || json.Unmarshal(data, &got) != nil || got != want {
		t.Errorf("%s: %+v, %v", data, got, err)
	}
	for _, bad := range []string{`{"digest":"00"}`, `{"digest":"zz"}`} {
		if json.Unmarshal([]byte(bad), &got) == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func FuzzDecodePosition(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(position{Created: 1_700_000_000_000_000_000, Seq: 300, Time: -1, Digest: digest{1, 2}}.encode())
	f.Add(append(position{}.encode(), 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decodePosition(data)
		if err != nil {
			return
		}
		if again, err := decodePosition(p.encode()); err != nil || again != p {
			t.Errorf("%+v became %+v, %v", p, again, err)
		}
	})
}
