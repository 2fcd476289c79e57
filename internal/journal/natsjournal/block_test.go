package natsjournal

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// section encodes drafts as the section of one Append.
func section(drafts ...journal.Draft) []byte {
	var out, scratch []byte
	for i := range drafts {
		out, scratch = appendDraft(out, scratch, &drafts[i])
	}
	return encodeSection(len(drafts), out)
}

func blockChat(id, from string) journal.Draft {
	return journal.Draft{CheckedAtStateSeq: 1 << 52, Envelope: protocol.Envelope{
		ID: protocol.ID(id), From: protocol.ParticipantID(from), Kind: protocol.KindChat, Payload: []byte(`{"message":"hello"}`),
	}}
}

func blockGrant(id string, basis protocol.Seq) journal.Draft {
	d := blockChat(id, "admin")
	d.State, d.CheckedAtStateSeq = true, basis
	return d
}

func TestDecode(t *testing.T) {
	hidden := blockChat("c", "bob")
	hidden.Hidden, hidden.Private, hidden.Audience = true, []byte("note"), []protocol.ParticipantID{"alice"}
	sections := [][]byte{section(blockChat("a", "alice"), blockGrant("b", 7)), section(hidden)}
	for _, limit := range []int{1 << 20, 0} { // plain, and packed
		b, err := decodeBlock(encodeDrafts(sections, limit))
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Calls) != 2 || len(b.Calls[0]) != 2 || len(b.Calls[1]) != 1 {
			t.Fatalf("calls: %+v", b.Calls)
		}
		if d := b.Calls[0][1]; d.CheckedAtStateSeq != 7 || !d.State || d.Envelope.ID != "b" {
			t.Errorf("second draft: %+v", d)
		}
		if e := b.Calls[1][0]; !e.Hidden || string(e.Private) != "note" || len(e.Audience) != 1 {
			t.Errorf("third draft: %+v", e)
		}
	}
	base := journal.Base{Data: []byte("folded"), Before: 12}
	if b, err := decodeBlock(encodeBase(base)); err != nil || string(b.Base.Data) != "folded" || b.Base.Before != 12 {
		t.Errorf("base: %+v, %v", b, err)
	}
	if b, err := decodeBlock(encodeTrim(12)); err != nil || b.Trim != 12 {
		t.Errorf("trim: %+v, %v", b, err)
	}
	hold := hold{Seq: 12, By: "host:/data"}
	if b, err := decodeBlock(encodeHold(hold)); err != nil || b.Hold != hold {
		t.Errorf("hold: %+v, %v", b, err)
	}
}

func TestDecode_Invalid(t *testing.T) {
	good := encodeDrafts([][]byte{section(blockChat("a", "alice"))}, 1<<20)
	newer := slices.Clone(good)
	newer[1]++
	newerEntry := slices.Clone(good)
	version := journal.AppendEntry(nil, new(journal.Entry))[0]
	newerEntry[bytes.IndexByte(good[headerSize+9:], version)+headerSize+9] = journal.MaxVersion + 1
	many := append([]byte{magic, version, typeDrafts}, 0x81, 0x08) // 1025 drafts
	for name, test := range map[string]struct {
		data []byte
		want error
	}{
		"empty":           {nil, errInvalidBlock},
		"text":            {[]byte("hello"), errInvalidBlock},
		"newer":           {newer, errNewerBlock},
		"no drafts":       {good[:headerSize], errInvalidBlock},
		"cut":             {good[:len(good)-3], errInvalidBlock},
		"too many":        {many, errInvalidBlock},
		"trim of all":     {encodeTrim(0), errInvalidBlock},
		"base of all":     {encodeBase(journal.Base{}), errInvalidBlock},
		"hold of nothing": {encodeHold(hold{}), errInvalidBlock},
		"not packed":      {[]byte{magic, version, typePacked, 1, 2, 3}, errInvalidBlock},
		"unknown type":    {[]byte{magic, version, 99}, errInvalidBlock},
		"more of a trim":  {append(encodeTrim(5), 1), errInvalidBlock},
	} {
		if _, err := decodeBlock(test.data); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encodeDrafts([][]byte{section(blockChat("a", "alice"), blockGrant("b", 7))}, 1<<20))
	f.Add(encodeDrafts([][]byte{section(blockChat("a", "alice"))}, 0))
	f.Add(encodeTrim(12))
	f.Add(encodeBase(journal.Base{Data: []byte("folded"), Before: 12}))
	f.Add(encodeEpoch("e", true))
	f.Add(encodeHold(hold{Seq: 12, By: "host:/data"}))
	f.Add([]byte{magic, version, typeDrafts, 1, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := decodeBlock(data)
		if err != nil {
			if !errors.Is(err, errInvalidBlock) && !errors.Is(err, errNewerBlock) {
				t.Errorf("unexpected error %v", err)
			}
			return
		}
		total := 0
		for _, call := range b.Calls {
			total += len(call)
		}
		kinds := 0
		for _, is := range []bool{total > 0, b.Trim > 0, b.Base.Before > 0, b.Epoch != "", b.Hold.Seq > 0} {
			if is {
				kinds++
			}
		}
		if kinds != 1 || total > maxDrafts {
			t.Errorf("%d drafts, trim %d, base %d, epoch %q and hold %+v", total, b.Trim, b.Base.Before, b.Epoch, b.Hold)
		}
	})
}
