package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// samples returns entries that use every part of the encoding.
func samples() map[string]*journal.Entry {
	return map[string]*journal.Entry{
		"zero": {Envelope: protocol.Envelope{TS: time.Time{}}},
		"full": {
			Envelope: protocol.Envelope{
				ID: "0193a5c2-7b1e-7000-8000-0123456789ab", From: "planner", Kind: "reasoning.thought",
				TS:          time.Date(2026, 11, 20, 12, 0, 0, 123456000, time.UTC),
				To:          []protocol.ParticipantID{"alice", "bob|x"},
				Correlation: protocol.Correlation{IDs: []protocol.ID{"one", "two"}, Array: true},
				Context:     "msg-1/msg-2",
				Payload:     json.RawMessage(`{"n":1.50,"a":{},"a2":[1e400]}`),
				Extra:       []byte(`"x":1`),
				Seq:         1 << 62,
			},
			Audience: []protocol.ParticipantID{"carol"},
			State:    true, Hidden: true, Private: []byte{0, 1, 255},
		},
		"settling": {
			Envelope: protocol.Envelope{ID: "r-1", From: "alice", Kind: "mcp.reject", TS: time.Unix(1, 0).UTC(), Seq: 7},
			Settles:  "p-1",
		},
		"empty instead of nil": {
			Envelope: protocol.Envelope{
				TS: time.Unix(-1, 0).UTC(), To: []protocol.ParticipantID{}, Seq: 1,
				Correlation: protocol.Correlation{IDs: []protocol.ID{}}, Payload: json.RawMessage{}, Extra: []byte{},
			},
			Audience: []protocol.ParticipantID{}, Private: []byte{},
		},
		"long": {
			Envelope: protocol.Envelope{
				ID: protocol.ID(strings.Repeat("i", 128)), Seq: 300, TS: time.Unix(1, 0).UTC(),
				Payload: json.RawMessage(strings.Repeat(" ", 1<<20)),
			},
		},
	}
}

func TestCodecRoundTrip(t *testing.T) {
	for name, e := range samples() {
		data := journal.AppendEntry([]byte("before"), e)
		got, err := journal.DecodeEntry(data[len("before"):])
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, e)
		}
	}
}

// The decoder's input is a buffer that the store reuses.
func TestDecodeEntry_SharesNothing(t *testing.T) {
	e := samples()["full"]
	data := journal.AppendEntry(nil, e)
	got, err := journal.DecodeEntry(data)
	if err != nil {
		t.Fatal(err)
	}
	clear(data)
	// The slices of the entry must not share capacity with each other either.
	_ = append(got.Envelope.Payload, "xxxxxxxx"...)
	_ = append(got.Envelope.Extra, "xxxxxxxx"...)
	if !reflect.DeepEqual(got, e) {
		t.Errorf("the entry became %+v", got)
	}
}

func TestDecodeEntry_Damaged(t *testing.T) {
	for name, e := range samples() {
		data := journal.AppendEntry(nil, e)
		for n := range min(len(data), 400) {
			if _, err := journal.DecodeEntry(data[:n]); !errors.Is(err, journal.ErrDamaged) {
				t.Errorf("%s cut off at %d: %v", name, n, err)
			}
		}
		if _, err := journal.DecodeEntry(append(data, 0)); !errors.Is(err, journal.ErrDamaged) {
			t.Errorf("%s with a byte behind it: %v", name, err)
		}
		data[0] += journal.MaxVersion
		if _, err := journal.DecodeEntry(data); !errors.Is(err, journal.ErrDamaged) {
			t.Errorf("%s in another version: %v", name, err)
		}
	}
}

func FuzzDecodeEntry(f *testing.F) {
	for name, e := range samples() {
		if name != "long" {
			f.Add(journal.AppendEntry(nil, e))
		}
	}
	f.Add([]byte{1, 0, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255})
	f.Add([]byte{1, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 127, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := journal.DecodeEntry(data)
		if err != nil {
			if !errors.Is(err, journal.ErrDamaged) {
				t.Fatalf("error is %v", err)
			}
			return
		}
		again := journal.AppendEntry(nil, e)
		e2, err := journal.DecodeEntry(again)
		if err != nil || !bytes.Equal(again, journal.AppendEntry(nil, e2)) {
			t.Fatalf("%+v does not come back: %v", e, err)
		}
	})
}

// benchEntry is an envelope of about 400 bytes.
func benchEntry() *journal.Entry {
	e := samples()["full"]
	e.Envelope.Payload = json.RawMessage(`{"message":"` + strings.Repeat("x", 240) + `"}`)
	return e
}

func BenchmarkAppendEntry(b *testing.B) {
	e := benchEntry()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = journal.AppendEntry(buf[:0], e)
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkDecodeEntry(b *testing.B) {
	data := journal.AppendEntry(nil, benchEntry())
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := journal.DecodeEntry(data); err != nil {
			b.Fatal(err)
		}
	}
}
