//go:build !race

package safety

import (
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// The race detector makes pools forget at random, so this runs without it.

func TestCleanPayloadAllocatesNothing(t *testing.T) {
	p := pipeline(t, Config{})
	payload := parse(t, `{"message":"a \"token\" or key:\n nothing secret","tool_name":"x","steps":["one",{"token_count":"7"}]}`)
	n := testing.AllocsPerRun(200, func() {
		if v, _ := p.Payload(protocol.KindReasoningThought, payload); v.Payload != nil {
			t.Fatal("not clean")
		}
	})
	if n >= 1 {
		t.Fatalf("%v allocations", n)
	}
}
