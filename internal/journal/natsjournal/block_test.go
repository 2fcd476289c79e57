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
		out, scratch = AppendDraft(out, scratch, &drafts[i])
	}
	return EncodeSection(len(drafts), out)
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
		b, err := DecodeBlock(EncodeDrafts(sections, limit))
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
	if b, err := DecodeBlock(EncodeBase(base)); err != nil || string(b.Base.Data) != "folded" || b.Base.Before != 12 {
		t.Errorf("base: %+v, %v", b, err)
	}
	if b, err := DecodeBlock(EncodeTrim(12)); err != nil || b.Trim != 12 {
		t.Errorf("trim: %+v, %v", b, err)
	}
	hold := Hold{Seq: 12, By: "host:/data"}
	if b, err := DecodeBlock(EncodeHold(hold)); err != nil || b.Hold != hold {
		t.Errorf("hold: %+v, %v", b, err)
	}
}

func TestDecode_Invalid(t *testing.T) {
	good := EncodeDrafts([][]byte{section(blockChat("a", "alice"))}, 1<<20)
	newer := slices.Clone(good)
	newer[1]++
	newerEntry := slices.Clone(good)
	version := journal.AppendEntry(nil, new(journal.Entry))[0]
	newerEntry[bytes.IndexByte(good[HeaderSize+9:], version)+HeaderSize+9] = journal.MaxVersion + 1
	many := append([]byte{magic, version, typeDrafts}, 0x81, 0x08) // 1025 drafts
	for name, test := range map[string]struct {
		data []byte
		want error
	}{
		"empty":           {nil, ErrInvalidBlock},
		"text":            {[]byte("hello"), ErrInvalidBlock},
		"newer":           {newer, ErrNewerBlock},
		"no drafts":       {good[:HeaderSize], ErrInvalidBlock},
		"cut":             {good[:len(good)-3], ErrInvalidBlock},
		"too many":        {many, ErrInvalidBlock},
		"trim of all":     {EncodeTrim(0), ErrInvalidBlock},
		"base of all":     {EncodeBase(journal.Base{}), ErrInvalidBlock},
		"hold of nothing": {EncodeHold(Hold{}), ErrInvalidBlock},
		"not packed":      {[]byte{magic, version, typePacked, 1, 2, 3}, ErrInvalidBlock},
		"unknown type":    {[]byte{magic, version, 99}, ErrInvalidBlock},
		"more of a trim":  {append(EncodeTrim(5), 1), ErrInvalidBlock},
	} {
		if _, err := DecodeBlock(test.data); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(EncodeDrafts([][]byte{section(blockChat("a", "alice"), blockGrant("b", 7))}, 1<<20))
	f.Add(EncodeDrafts([][]byte{section(blockChat("a", "alice"))}, 0))
	f.Add(EncodeTrim(12))
	f.Add(EncodeBase(journal.Base{Data: []byte("folded"), Before: 12}))
	f.Add(EncodeEpoch("e", true))
	f.Add(EncodeHold(Hold{Seq: 12, By: "host:/data"}))
	f.Add([]byte{magic, version, typeDrafts, 1, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := DecodeBlock(data)
		if err != nil {
			if !errors.Is(err, ErrInvalidBlock) && !errors.Is(err, ErrNewerBlock) {
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
		if kinds != 1 || total > MaxDrafts {
			t.Errorf("%d drafts, trim %d, base %d, epoch %q and hold %+v", total, b.Trim, b.Base.Before, b.Epoch, b.Hold)
		}
	})
}
