package derived

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/internal/journal/derivedb"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

func openDB(t rapid.TB, fs vfs.FS) *turnDB {
	t.Helper()
	db, err := openTurnDB(derivedb.Options{Dir: "turns", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func openSpace(t rapid.TB, db *turnDB, name, log string, reset bool) *turnSpace {
	t.Helper()
	s, err := db.Space(name, log, reset)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*turnSpace)
}

// model is the rows of a space: of a list by its key and the Seq.
type model map[string]string

func modelKey(list string, seq protocol.Seq) string {
	return string(binary.BigEndian.AppendUint64([]byte(list), uint64(seq)))
}

func (m model) list(list string, from, before protocol.Seq) (rows []string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if len(key) == len(list)+8 && strings.HasPrefix(key, list) {
			if seq := protocol.Seq(binary.BigEndian.Uint64([]byte(key[len(list):]))); seq >= from && seq < before {
				rows = append(rows, fmt.Sprint(seq, m[key]))
			}
		}
	}
	return rows
}

func texts(rows []turns.Row) (list []string) {
	for _, r := range rows {
		list = append(list, fmt.Sprint(r.Seq, string(r.Value)))
	}
	return list
}

// TestSpace_Model: rows are read as they were set, committed or not; after a restart as
// they were committed; after a crash as one of the commits left them.
func TestSpace_Model(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fs := vfs.NewCrashableMem()
		db := openDB(rt, fs)
		defer func() { _ = db.Close() }()
		s := openSpace(rt, db, "lab", "log", false)
		other := openSpace(rt, db, "la", "log", false)
		if err := errors.Join(other.Add([]byte("a"), 3, []byte("other")), other.Commit()); err != nil {
			rt.Fatal(err)
		}
		now, commits := model{}, []model{{}}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			list := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "list")
			seq := protocol.Seq(rapid.SampledFrom([]uint64{0, 1, 2, 3, 255, 256, 1 << 40}).Draw(rt, "seq"))
			value := rapid.SampledFrom([]string{"", "x", "y"}).Draw(rt, "value")
			key := "k" + list + value
			var err error
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0, 1:
				now[modelKey(list, seq)], err = value, s.Add([]byte(list), seq, []byte(value))
			case 2:
				delete(now, modelKey(list, seq))
				err = s.Remove([]byte(list), seq)
			case 3:
				now[key], err = value, s.Set([]byte(key), []byte(value))
			case 4:
				delete(now, key)
				err = s.Delete([]byte(key))
			case 5, 6:
				commits, err = append(commits, maps.Clone(now)), s.Commit()
			case 7:
				err = db.Close()
				if err == nil {
					now = maps.Clone(commits[len(commits)-1])
					db = openDB(rt, fs)
					s = openSpace(rt, db, "lab", "log", false)
				}
			case 8:
				percent := rapid.SampledFrom([]int{0, 50, 100}).Draw(rt, "of what was not synced")
				clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(uint64(percent), 1))})
				err = db.Close()
				fs, db = clone, openDB(rt, clone)
				s = openSpace(rt, db, "lab", "log", false)
				at := slices.IndexFunc(commits, func(m model) bool { return same(rt, s, m) })
				if at < 0 {
					rt.Fatal("after the crash there are rows of no commit")
				}
				now, commits = maps.Clone(commits[at]), commits[:at+1]
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
		if !same(rt, s, now) {
			rt.Fatalf("want %q", now)
		}
	})
}

// same reports whether a space has the rows of a model.
func same(t rapid.TB, s *turnSpace, m model) bool {
	for _, list := range []string{"a", "b"} {
		for _, seq := range []protocol.Seq{0, 2, 256, 1 << 50} {
			before, err := s.Before([]byte(list), seq, 3)
			from, err2 := s.From([]byte(list), seq, 3)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			wantBefore, wantFrom := m.list(list, 0, seq), m.list(list, seq, 1<<60)
			slices.Reverse(wantBefore)
			if !slices.Equal(texts(before), wantBefore[:min(3, len(wantBefore))]) || !slices.Equal(texts(from), wantFrom[:min(3, len(wantFrom))]) {
				return false
			}
		}
		for _, value := range []string{"", "x", "y"} {
			got, err := s.Get([]byte("k" + list + value))
			if err != nil {
				t.Fatal(err)
			}
			if want, known := m["k"+list+value]; (got != nil) != known || string(got) != want {
				return false
			}
		}
	}
	return true
}

// TestDB_Space: the rows of another log are dropped, and the ones of other spaces stay.
func TestDB_Space(t *testing.T) {
	db := openDB(t, vfs.NewMem())
	defer func() { _ = db.Close() }()
	for _, name := range []string{"a", "b"} {
		s := openSpace(t, db, name, "log", false)
		if err := errors.Join(s.Set([]byte("k"), []byte(name)), s.Commit()); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, space, log string
		reset            bool
		want             string
	}{
		{"as it was", "a", "log", false, "a"}, {"another log", "a", "log2", false, ""}, {"the log before", "a", "log", false, ""},
		{"another space", "b", "log", false, "b"}, {"reset", "b", "log", true, ""}, {"a new space", "c", "log", false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, err := openSpace(t, db, test.space, test.log, test.reset).Get([]byte("k")); err != nil || string(got) != test.want {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestDB_Closed: rows of a closed database answer with an error.
func TestDB_Closed(t *testing.T) {
	db := openDB(t, vfs.NewMem())
	s := openSpace(t, db, "lab", "log", false)
	if err := errors.Join(db.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	_, get := s.Get([]byte("k"))
	_, list := s.Before([]byte("k"), 3, 1)
	_, space := db.Space("lab", "log", false)
	for name, err := range map[string]error{"get": get, "list": list, "space": space, "set": s.Set([]byte("k"), nil), "commit": s.Commit()} {
		if !errors.Is(err, derivedb.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
