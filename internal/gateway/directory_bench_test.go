package gateway

import (
	"fmt"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// BenchmarkDirectory_Apply merges a directory at its bounds with a file, and makes the
// tables of it: the cost of one change.
func BenchmarkDirectory_Apply(b *testing.B) {
	var d authority.Directory
	apply := func(kind protocol.Kind, format string, args ...any) {
		doc, err := protocol.ParseJSON(fmt.Appendf(nil, format, args...), protocol.MaxDepth)
		if err != nil {
			b.Fatal(err)
		}
		c, err := authority.ReadDirectoryChange(&protocol.Envelope{ID: newID(), From: "root", Kind: kind, TS: time.Now()}, doc.Root())
		if err == nil {
			d, err = d.Apply(c)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	for i := range authority.MaxSpaces {
		apply(protocol.KindAdminSpacePut, `{"space":"s%d"}`, i)
	}
	for i := range authority.MaxParticipants {
		apply(protocol.KindAdminParticipantPut, `{"space":"s%d","participant_id":"p%d","capabilities":["chat","reasoning/*","mcp.request"]}`, i%authority.MaxSpaces, i)
		for j := range authority.MaxTokens / authority.MaxParticipants {
			apply(protocol.KindAdminTokenIssue, `{"space":"s%d","participant_id":"p%d","token_sha256":"%062x%02x"}`, i%authority.MaxSpaces, i, i, j+1)
		}
	}
	file := config.Default()
	file.Spaces = []config.Space{{Name: "ops"}, {Name: "team-*"}}
	a := access.NewTokenAuthenticator(access.TokenTable{Find: func(string) (string, bool) { return "", false }}, access.TokenOptions{})
	b.ReportAllocs()
	for b.Loop() {
		cfg := effective(file, d)
		a.Replace(tokensOf(cfg))
		find := spacesOf(cfg, file, nil)
		for i := range 100 { // open spaces
			if _, ok := find(fmt.Sprint("s", i)); !ok {
				b.Fatal("not found")
			}
		}
		d.NextExpiry(time.Now())
	}
}
