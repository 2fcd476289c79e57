package mcpserver

import (
	"strings"
	"testing"
)

// Of a batch that is rejected, further messages are not read: they are not charged.
func TestAsksOf_LongBatch(t *testing.T) {
	batch := func(n int) []byte {
		return []byte("[" + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"},`, n) + `{"jsonrpc":"1.0"}]`)
	}
	if a, _ := asksOf(batch(maxBatch - 1)); a.batch != maxBatch || a.fault == nil {
		t.Errorf("a batch of %d with a fault in the last: %+v, want the fault", maxBatch, a)
	}
	if a, _ := asksOf(batch(maxBatch)); a.batch != maxBatch+1 || a.fault != nil {
		t.Errorf("a batch of %d with a fault in the last: %+v, want none: it is too long", maxBatch+1, a)
	}
}
