package derived

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// shrinkingLog drops entries like a journal with retention and a Fold.
type shrinkingLog struct {
	*countedLog
	bases map[string]journal.Base
}

func newShrinkingLog() *shrinkingLog { return &shrinkingLog{newLog(), make(map[string]journal.Base)} }

func (l *shrinkingLog) Base(space string) (journal.Base, error) { return l.bases[space], nil }

// drop drops the entries of a space below a Seq.
func (l *shrinkingLog) drop(t *testing.T, space string, before protocol.Seq) {
	t.Helper()
	base := l.bases[space]
	dropped := l.Range(context.Background(), space, journal.Query{After: max(base.Before, 1) - 1, Before: before})
	data, err := FoldTurns(t.Context(), space, base.Data, dropped)
	if err != nil {
		t.Fatal(err)
	}
	l.bases[space], l.floor = journal.Base{Data: data, Before: before}, before
}

// TestStore_Base: an index that is built after retention has the threads and numbers of
// one that has applied the whole log: a new one, one that stopped before the entries
// were dropped, and one whose folder was lost.
func TestStore_Base(t *testing.T) {
	log := newShrinkingLog()
	h := newHouse(t, log)
	var minutes atomic.Int64
	options := func(dir string) TurnOptions {
		return TurnOptions{Dir: dir, Bounds: log.Bounds, Base: log.Base, Clock: func() time.Time { return time.Unix(60*minutes.Load(), 0) }}
	}
	whole := NewTurnStore(options(t.TempDir()))
	defer whole.Close()
	late := t.TempDir()
	for step := range 4 {
		h.write("lab", 20*step, 20*step+20)
		everything(t, whole, h.space("lab"))
		if step == 0 {
			k := NewTurnStore(options(late))
			everything(t, k, h.space("lab"))
			k.Close()
		}
		if step > 1 {
			log.drop(t, "lab", h.space("lab").Head()-100)
		}
	}
	minutes.Add(1)
	want := everything(t, whole, h.space("lab"))
	if !strings.Contains(want, "LastTurn:5 ") || strings.Contains(want, "TurnNumber:1 ") {
		t.Fatalf("no thread is there in part: %s", want)
	}
	for _, dir := range []string{"", t.TempDir(), late, late} {
		k := NewTurnStore(options(dir))
		got := everything(t, k, h.space("lab"))
		k.Close()
		if got != want {
			t.Errorf("in %q: got\n%s\nwant\n%s", dir, got, want)
		}
	}
}

// TestStore_DropWhileBuilt: entries that are dropped after the base was read and before
// they are read are in the next base, with which the index is begun again.
func TestStore_DropWhileBuilt(t *testing.T) {
	log := newShrinkingLog()
	h := newHouse(t, log)
	for n := range 40 {
		h.turn("lab", n, map[bool]string{true: fmt.Sprint("m", n-1)}[n > 0])
	}
	var once sync.Once
	o := TurnOptions{Bounds: log.Bounds, Base: func(space string) (journal.Base, error) {
		base, err := log.Base(space)
		once.Do(func() { log.drop(t, "lab", h.space("lab").Head()-8) })
		return base, err
	}}
	k := NewTurnStore(o)
	defer k.Close()
	got, err := history(t.Context(), k, h.space("lab"), "alice", "q0", 0)
	if err != nil || len(got.Turns) == 0 || got.Turns[len(got.Turns)-1].TurnNumber != 40 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestStore_BaseOfNonsense: turns are numbered from the oldest entry if the base cannot be
// read, or is of a longer log.
func TestStore_BaseOfNonsense(t *testing.T) {
	for name, base := range map[string]journal.Base{
		"nonsense":        {Data: []byte("nonsense"), Before: 3},
		"of a longer log": {Data: []byte("nonsense"), Before: 1 << 40},
	} {
		t.Run(name, func(t *testing.T) {
			log := newShrinkingLog()
			h := newHouse(t, log)
			h.write("lab", 0, 3)
			log.bases["lab"] = base
			k := NewTurnStore(TurnOptions{Bounds: log.Bounds, Base: log.Base})
			defer k.Close()
			if got, want := everything(t, k, h.space("lab")), fold(t, log.countedLog, h.space("lab")); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestStore_BaseUnavailable: a question waits for the base, and is not answered without it.
func TestStore_BaseUnavailable(t *testing.T) {
	log := newShrinkingLog()
	h := newHouse(t, log)
	h.turn("lab", 0, "")
	for n := range 3 {
		h.turn("lab", n+1, fmt.Sprint("m", n))
	}
	log.drop(t, "lab", h.space("lab").Head()+1)
	h.turn("lab", 4, "m3")
	var failed atomic.Bool
	k := NewTurnStore(TurnOptions{Bounds: log.Bounds, Base: func(space string) (journal.Base, error) {
		if !failed.Swap(true) {
			return journal.Base{}, journal.Unavailable(errors.New("it is being opened again"))
		}
		return log.Base(space)
	}})
	defer k.Close()
	got, err := history(t.Context(), k, h.space("lab"), "alice", "q0", 0)
	if err != nil || len(got.Turns) != 1 || got.Turns[0].TurnNumber != 5 {
		t.Errorf("%+v, %v", got, err)
	}
}
