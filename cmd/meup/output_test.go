package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"testing"
	"time"
	"unicode"

	"github.com/meup-protocol/meup/protocol"
)

func TestPrinter_HostileText(t *testing.T) {
	const hostile = "a\u009b31mb\u202egpj.exe\u2066c\x7fd\u0085e"
	e := &protocol.Envelope{ID: "q1", Seq: 1, From: "alice", Kind: protocol.KindChat, Payload: json.RawMessage(`{"message":"` + hostile + `"}`)}
	for name, asJSON := range map[string]bool{"json": true, "text": false} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := &printer{out: bufio.NewWriter(&out), json: asJSON, zone: time.UTC}
			if err := p.print(e); err != nil {
				t.Fatal(err)
			}
			if err := p.out.Flush(); err != nil {
				t.Fatal(err)
			}
			for _, r := range out.String() {
				if r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
					t.Errorf("%+q in %+q", r, out.String())
				}
			}
			if !asJSON {
				return
			}
			var got struct{ Payload struct{ Message string } }
			if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Payload.Message != hostile {
				t.Errorf("%+q, %v", got.Payload.Message, err)
			}
		})
	}
}
