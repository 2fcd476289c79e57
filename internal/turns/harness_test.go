package turns

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// memoryLog is a log like a space's: each entry has the senders of the envelopes
// that it correlates to.
type memoryLog struct {
	entries []Entry
	byID    map[protocol.ID]int
	reads   int
}

var began = time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC)

func (l *memoryLog) add(env protocol.Envelope) Entry {
	if l.byID == nil {
		l.byID = make(map[protocol.ID]int)
	}
	if env.Seq == 0 {
		env.Seq = 1
		if n := len(l.entries); n > 0 {
			env.Seq = l.entries[n-1].Envelope.Seq + 1
		}
	}
	if env.TS.IsZero() {
		env.TS = began.Add(time.Duration(env.Seq) * time.Second)
	}
	if env.ID == "" {
		env.ID = protocol.ID("e" + env.Seq.String())
	}
	if env.Payload == nil {
		env.Payload = json.RawMessage("{}")
	}
	e := Entry{Envelope: &env}
	for _, id := range env.Correlation.IDs {
		if i, ok := l.byID[id]; ok {
			e.Audience = append(e.Audience, l.entries[i].Envelope.From)
			e.Audience = append(e.Audience, l.entries[i].Audience...)
		}
	}
	slices.Sort(e.Audience)
	e.Audience = slices.Compact(e.Audience)
	l.byID[env.ID] = len(l.entries)
	l.entries = append(l.entries, e)
	return e
}

// Range implements Reader. It yields copies, like a log on disk.
func (l *memoryLog) Range(ctx context.Context, first, last protocol.Seq) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		l.reads++
		i, _ := slices.BinarySearchFunc(l.entries, first, func(e Entry, s protocol.Seq) int { return cmp.Compare(e.Envelope.Seq, s) })
		for ; i < len(l.entries) && l.entries[i].Envelope.Seq <= last; i++ {
			env := *l.entries[i].Envelope
			if !yield(Entry{Envelope: &env, Audience: l.entries[i].Audience}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Entry{}, err)
		}
	}
}

// as is the viewer that a participant is.
func as(who protocol.ParticipantID) Viewer {
	return Viewer{Allows: func(e *Entry) bool {
		env := e.Envelope
		return len(env.To) == 0 || env.From == who || env.AddressedTo(who) || slices.Contains(e.Audience, who)
	}}
}

// forget drops all contents of turns from memory, as if they had not been used
// for long.
func (t *Tracker) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.cache.used.Len() > 0 {
		t.cache.evict()
	}
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
