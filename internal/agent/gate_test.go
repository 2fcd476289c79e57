package agent

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

func TestGate(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(*gate) (mark int)
		gone error         // why the wait ends
		want time.Duration // of the wait
		shut bool          // afterwards
	}{
		"a refusal, and nothing else is heard": {(*gate).generation, nil, recheck, false},
		"a resume that comes later": {func(g *gate) int {
			g.close(0)
			time.AfterFunc(time.Second, g.open)
			return g.generation()
		}, nil, time.Second, false},
		"a resume that came before the refusal": {func(g *gate) int {
			mark := g.generation()
			g.close(0)
			g.open()
			return mark
		}, nil, 0, false},
		"another pause behind that": {func(g *gate) int {
			mark := g.generation()
			g.open()
			g.close(0)
			return mark
		}, nil, 0, true},
		"a pause that ends by itself": {func(g *gate) int { g.close(2 * time.Second); return g.generation() }, nil, 2 * time.Second, false},
		"nobody waits any more":       {(*gate).generation, errShutdown, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if test.gone != nil {
					cancel(test.gone)
				}
				var g gate
				mark := test.do(&g)
				begun := time.Now()
				if err := g.wait(ctx, mark); !errors.Is(err, test.gone) {
					t.Errorf("ended with %v", err)
				}
				if took := time.Since(begun); took != test.want || g.closed() != test.shut {
					t.Errorf("it took %s, and is shut: %t", took, g.closed())
				}
			})
		})
	}
}

func TestPause_Expired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		g.close(time.Second)
		if !g.closed() {
			t.Error("open in the pause")
		}
		time.Sleep(time.Second)
		if g.closed() {
			t.Error("shut behind it")
		}
		begun := time.Now()
		if err := g.wait(t.Context(), g.generation()); err != nil || time.Since(begun) != 0 {
			t.Errorf("waited %s behind it, %v", time.Since(begun), err)
		}
		g.close(time.Second)
		g.close(0) // the last call wins
		time.Sleep(time.Hour)
		if !g.closed() {
			t.Error("a pause without an end has ended")
		}
	})
}

// TestOwn_Bounded: beyond maxSentIDs ids the oldest are evicted, not the
// pending ones.
func TestOwn_Bounded(t *testing.T) {
	var o sentIDs
	id := func(n int) protocol.ID { return protocol.ID(fmt.Sprint(n)) }
	const n = maxSentIDs + 10
	for i := range n {
		o.add(id(i))
	}
	if len(o.ids) != maxSentIDs || len(o.order) != maxSentIDs {
		t.Errorf("%d ids in %d places", len(o.ids), len(o.order))
	}
	for i, want := range map[int]bool{0: false, 9: false, 10: true, n - 1: true} {
		if o.remove(id(i)) != want {
			t.Errorf("%d is own: %v", i, !want)
		}
	}
	if o.remove(id(n - 1)) {
		t.Error("own twice")
	}
}
