package turns

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/internal/turns/reduce"
	"github.com/meup-protocol/meup/protocol"
)

// crashRows are rows of which a crash leaves the committed ones.
type crashRows struct {
	*MemoryRows
	committed *MemoryRows
}

func newCrashRows() *crashRows { return &crashRows{newMemoryRows(), newMemoryRows()} }

func (c *crashRows) Commit() error {
	c.committed = c.Copy()
	return nil
}

func (c *crashRows) crash() *crashRows { return &crashRows{c.committed.Copy(), c.committed} }

func open(t rapid.TB, o Options) *Tracker {
	t.Helper()
	o.Space = "lab"
	p, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOpen_SameAsFold: a tracker that is saved, lost and opened again at any points of
// the log gives the answers of a fold over the whole log, independently of what it has
// in memory, and the events of turns within maxRevive: larger ones have none after they
// left the memory.
func TestOpen_SameAsFold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := drawLog(rt)
		fold := NewTracker(Options{Space: "lab", Reader: log})
		events := apply(fold, log.entries)

		rows := newCrashRows()
		o := Options{Reader: log, Rows: rows}
		if rapid.Bool().Draw(rt, "tiny") {
			o.IndexBytes, o.CacheBytes, o.IDs = 1, 1, 1
		}
		p := open(rt, o)
		var kept []Event // with the last Save
		var since []Event
		for i := 0; i < len(log.entries); i++ {
			since = append(since, apply(p, log.entries[i:i+1])...)
			switch rapid.SampledFrom([]string{"", "", "", "save", "save", "ask", "crash"}).Draw(rt, "then") {
			case "save":
				if err := p.Save([]byte("x")); err != nil {
					rt.Fatal(err)
				}
				kept, since = append(kept, since...), nil
			case "ask":
				everything(t, p, Viewer{})
			case "crash":
				rows = rows.crash()
				o.Rows = rows
				p, since = open(rt, o), nil
				i = positionOf(log, p.Head())
			}
			checkBounds(rt, p)
		}
		for _, v := range []Viewer{{}, as("alice"), as("files")} {
			if got, want := everything(t, p, v), everything(t, fold, v); got != want {
				rt.Fatalf("got\n%s\nwant\n%s", got, want)
			}
			if got, want := told(t, p, revivable(append(kept, since...)), v), told(t, fold, revivable(events), v); o.CacheBytes == 0 && got != want {
				rt.Fatalf("events\n%s\nwant\n%s", got, want)
			}
		}
		for _, e := range log.entries {
			got, ok := p.TurnOf(e.Envelope.ID)
			if want, known := fold.TurnOf(e.Envelope.ID); got != want || ok != known {
				rt.Fatalf("%s is in %v, %t, want %v, %t", e.Envelope.ID, got, ok, want, known)
			}
		}
	})
}

// revivable returns the events of turns that Apply reads from the log for an entry.
func revivable(events []Event) []Event {
	return slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return e.bytes > maxRevive })
}

// positionOf returns the place of the entry with a Seq; -1 if there is none.
func positionOf(log *memoryLog, seq protocol.Seq) int {
	for i, e := range log.entries {
		if e.Envelope.Seq == seq {
			return i
		}
	}
	return -1
}

// TestTrim_SameAsWithout: Trim drops only turns that cannot be shown without the trimmed
// entries, and the next chat gets the same number.
func TestTrim_SameAsWithout(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := drawLog(rt)
		oldest := log.entries[rapid.IntRange(0, len(log.entries)-1).Draw(rt, "oldest")].Envelope.Seq
		reader := broken{log, nil, oldest}
		whole := NewTracker(Options{Space: "lab", Reader: reader, CacheBytes: 1})
		apply(whole, log.entries)

		rows := newCrashRows()
		p := open(rt, Options{Reader: reader, Rows: rows, CacheBytes: 1})
		apply(p, log.entries)
		ids := make(map[protocol.ID]bool)
		list, _ := p.Threads(MaxPage, 0, Viewer{})
		for _, th := range list {
			ids[th.ThreadID] = true
		}
		if err := errors.Join(p.Trim(oldest), p.Save(nil)); err != nil {
			rt.Fatal(err)
		}
		checkBounds(rt, p)
		p = open(rt, Options{Reader: reader, Rows: rows.crash(), CacheBytes: 1})
		for id := range ids {
			got, err := p.History(t.Context(), id, MaxPage, 0, Viewer{})
			want, _ := whole.History(t.Context(), id, MaxPage, 0, Viewer{})
			if errors.Is(err, ErrUnknown) && len(want.Turns) == 0 {
				continue
			}
			if err != nil || marshal(t, got) != marshal(t, want) {
				rt.Fatalf("%v, got\n%s\nwant\n%s", err, marshal(t, got), marshal(t, want))
			}
		}
		for key, row := range p.index.rows.(*crashRows).Rows {
			if key[0] == keyThread && strings.Contains(string(row), "secret-") {
				if protocol.Seq(binary.BigEndian.Uint64([]byte(key[1:]))) < oldest {
					rt.Fatalf("a trimmed title is kept: %q", row)
				}
			}
		}
	})
}

// TestTrim_NumbersGoOn: a thread whose turns are all trimmed goes on with its number.
func TestTrim_NumbersGoOn(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 3, 1)
	rows := newCrashRows()
	p := open(t, Options{Reader: log, Rows: rows})
	apply(p, log.entries)
	oldest := protocol.Seq(len(log.entries) + 1)
	if err := errors.Join(p.Trim(oldest), p.Save(nil)); err != nil {
		t.Fatal(err)
	}
	p = open(t, Options{Reader: broken{log, nil, oldest}, Rows: rows.crash()})
	if list, _ := p.Threads(0, 0, Viewer{}); len(list) != 0 {
		t.Errorf("listed without a turn: %+v", list)
	}
	if _, err := p.History(t.Context(), "a-q0", 0, 0, Viewer{}); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	p.Apply(t.Context(), log.add(protocol.Envelope{ID: "on", From: "alice", Kind: protocol.KindChat, Correlation: protocol.CorrelateTo("a-w2"), Payload: []byte(`{"message":"and?"}`)}))
	h, err := p.History(t.Context(), "a-q0", 0, 0, Viewer{})
	if err != nil || len(h.Turns) != 1 || h.Turns[0].TurnNumber != 4 {
		t.Fatalf("%+v, %v", h, err)
	}
	if list, _ := p.Threads(0, 0, Viewer{}); len(list) != 1 || list[0].ThreadID != "a-q0" || list[0].LastTurn != 4 || list[0].Title != "" {
		t.Errorf("%+v", list)
	}
	checkBounds(t, p)
}

// TestTracker_RowsFail: after an error of the rows there are errors and no answers.
func TestTracker_RowsFail(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 2, 1)
	rows := &failingRows{crashRows: newCrashRows()}
	p := open(t, Options{Reader: log, Rows: rows, IndexBytes: 1})
	applySaved(t, p, log.entries, 3)
	rows.err = errors.New("no disk")
	_, history := p.History(t.Context(), "a-q0", 0, 0, Viewer{})
	_, turn := p.Turn(t.Context(), "a-q0", 1, Viewer{})
	_, job := p.Job(t.Context(), "a-q0", Viewer{})
	_, session := p.Session(t.Context(), SessionID("lab", "a-q0"), 0, 0, Viewer{})
	for name, err := range map[string]error{"history": history, "turn": turn, "job": job, "session": session, "save": p.Save(nil), "state": p.Err(), "trim": p.Trim(3)} {
		if !errors.Is(err, rows.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := Open(Options{Rows: rows}); !errors.Is(err, rows.err) {
		t.Errorf("open: %v", err)
	}
}

type failingRows struct {
	*crashRows
	err error
}

func (f *failingRows) Get(key []byte) ([]byte, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.crashRows.Get(key)
}

// TestOpen_Damaged: a row that cannot be decoded is an error.
func TestOpen_Damaged(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 2, 1)
	rows := newCrashRows()
	p := open(t, Options{Reader: log, Rows: rows})
	applySaved(t, p, log.entries, 3)
	for _, class := range []byte{keyThread, keyTurn, keyState} {
		t.Run(string(class), func(t *testing.T) {
			damaged := rows.crash()
			for key, row := range damaged.Rows {
				if key[0] == class {
					damaged.Rows[key] = row[:len(row)/3]
				}
			}
			p, _, err := Open(Options{Space: "lab", Reader: log, Rows: damaged})
			if err == nil {
				_, err = p.History(t.Context(), "a-q0", 0, 0, Viewer{})
			}
			if !errors.Is(err, ErrDamaged) {
				t.Error(err)
			}
		})
	}
}

// FuzzRow decodes arbitrary rows: it never panics, and an accepted row is encoded to one
// with the same content.
func FuzzRow(f *testing.F) {
	log := new(memoryLog)
	workday(log, "a", 2, 1)
	log.add(protocol.Envelope{ID: "x", From: "bob", To: []protocol.ParticipantID{"alice"}, Kind: protocol.KindChat})
	rows := newCrashRows()
	applySaved(f, open(f, Options{Reader: log, Rows: rows}), log.entries, 1)
	for _, row := range rows.Rows {
		f.Add(row)
	}
	f.Fuzz(func(t *testing.T, row []byte) {
		if th, err := readThread(row, 7); err == nil {
			again, err := readThread(th.append(nil), 7)
			if err != nil || string(again.append(nil)) != string(th.append(nil)) {
				t.Errorf("%+v, %v, want %+v", again, err, th)
			}
		}
		if tu, err := readTurn(row, ref{1, 2}); err == nil {
			again, err := readTurn(tu.append(nil), ref{1, 2})
			if err != nil || string(again.append(nil)) != string(tu.append(nil)) || len(tu.seqs()) != tu.items {
				t.Errorf("%+v, %v, want %+v", again, err, tu)
			}
		}
		reduce.ReadExcerpt(row)
	})
}
