package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestGate(t *testing.T) {
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errShutdown)
	for name, test := range map[string]struct {
		ctx  context.Context
		do   func(*gate) (mark int)
		want time.Duration // that the wait takes
		err  error
		shut bool // afterwards
	}{
		"a refusal, and nothing else is heard": {t.Context(), func(g *gate) int { return g.mark() }, recheck, nil, false},
		"a resume that comes later": {t.Context(), func(g *gate) int {
			g.close(0)
			time.AfterFunc(time.Second, g.open)
			return g.mark()
		}, time.Second, nil, false},
		"a resume that came before the refusal": {t.Context(), func(g *gate) int {
			mark := g.mark()
			g.close(0)
			g.open()
			return mark
		}, 0, nil, false},
		"another pause behind that": {t.Context(), func(g *gate) int {
			mark := g.mark()
			g.open()
			g.close(0)
			return mark
		}, 0, nil, true},
		"a pause that ends by itself":  {t.Context(), func(g *gate) int { g.close(2 * time.Second); return g.mark() }, 2 * time.Second, nil, false},
		"a pause that ended by itself": {t.Context(), func(g *gate) int { g.close(time.Second); time.Sleep(time.Minute); return g.mark() }, 0, nil, false},
		"nobody waits any more":        {ended, func(g *gate) int { return g.mark() }, 0, errShutdown, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g gate
				mark := test.do(&g)
				begun := time.Now()
				if err := g.wait(test.ctx, mark); !errors.Is(err, test.err) {
					t.Errorf("ended with %v", err)
				}
				if took := time.Since(begun); took != test.want || g.closed() != test.shut {
					t.Errorf("it took %s, and is shut: %t", took, g.closed())
				}
			})
		})
	}
}

func TestAPauseThatHasEndedIsNone(t *testing.T) {
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
		g.close(time.Second)
		g.close(0) // the last word holds
		time.Sleep(time.Hour)
		if !g.closed() {
			t.Error("a pause without an end has ended")
		}
	})
}
