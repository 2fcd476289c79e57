package ring

import (
	"reflect"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

func TestNote(t *testing.T) {
	hash := []byte(strings.Repeat("0f", 32))
	reason := &Reason{Policy: "3f2a", Rule: `{"kind":"mcp.request","to":"files"}`, Grant: "g1", Late: true}
	spelling := Spelling{Sum: "00", ID: "msg-1", Correlation: []protocol.ID{"msg-0"}}
	for name, c := range map[string]struct {
		spelling  Spelling
		tokenHash []byte
		reason    *Reason
	}{
		"nothing":             {},
		"a token":             {tokenHash: hash},
		"a spelling":          {spelling: spelling, tokenHash: hash},
		"a reason":            {reason: reason},
		"a reason with token": {reason: reason, tokenHash: hash},
		"both":                {spelling: spelling, reason: reason},
	} {
		t.Run(name, func(t *testing.T) {
			note := c.spelling.Note(c.tokenHash, c.reason)
			if !strings.HasPrefix(string(note), string(c.tokenHash)) {
				t.Errorf("the note %s does not begin with the hash", note)
			}
			if got := ReadSpelling(note); !reflect.DeepEqual(got, c.spelling) {
				t.Errorf("spelling %+v, want %+v, of %s", got, c.spelling, note)
			}
			if got := ReadReason(note); !reflect.DeepEqual(got, c.reason) {
				t.Errorf("reason %+v, want %+v, of %s", got, c.reason, note)
			}
		})
	}
}

// A spelling of before there were reasons.
func TestNote_Old(t *testing.T) {
	old := []byte(`{"sum":"00","id":"msg-1","targeted":true}`)
	if got := ReadSpelling(old); got.ID != "msg-1" || !got.Targeted || ReadReason(old) != nil {
		t.Errorf("%+v, %v", got, ReadReason(old))
	}
}

func TestReadSpelling_OfCallIsFree(t *testing.T) {
	note := (&Spelling{}).Note(nil, &Reason{Policy: "3f2a", Rule: `"mcp.request"`})
	if n := testing.AllocsPerRun(100, func() { ReadSpelling(note) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestContexts_HasEnded(t *testing.T) {
	c := NewContexts()
	apply := func(seq protocol.Seq, id protocol.ID, kind protocol.Kind, context protocol.ContextPath) {
		c.Apply(&Entry{Envelope: &protocol.Envelope{ID: id, Seq: seq, Kind: kind, Context: context, From: "bob"}})
	}
	apply(1, "a", protocol.KindReasoningStart, "")
	apply(2, "b", protocol.KindReasoningStart, "a")
	apply(3, "c", protocol.KindReasoningStart, "")
	apply(4, "", protocol.KindReasoningConclusion, "a")
	for path, want := range map[protocol.ContextPath]bool{"a": true, "a/b": true, "a/b/unknown": true, "c": false, "unknown": false, "": false} {
		t.Run(string(path), func(t *testing.T) {
			if c.HasEnded(path) != want {
				t.Errorf("ended: %t", !want)
			}
		})
	}
}
