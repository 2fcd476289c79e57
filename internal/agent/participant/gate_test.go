package participant

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errGone = errors.New("no longer needed")

func TestGate(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(*Gate) (mark int)
		gone error         // why the wait ends
		want time.Duration // of the wait
		shut bool          // afterwards
	}{
		"a refusal, and nothing else is heard": {(*Gate).Generation, nil, recheck, false},
		"a resume that comes later": {func(g *Gate) int {
			g.Close(0)
			time.AfterFunc(time.Second, g.Open)
			return g.Generation()
		}, nil, time.Second, false},
		"a resume that came before the refusal": {func(g *Gate) int {
			mark := g.Generation()
			g.Close(0)
			g.Open()
			return mark
		}, nil, 0, false},
		"another pause behind that": {func(g *Gate) int {
			mark := g.Generation()
			g.Open()
			g.Close(0)
			return mark
		}, nil, 0, true},
		"a pause that ends by itself": {func(g *Gate) int { g.Close(2 * time.Second); return g.Generation() }, nil, 2 * time.Second, false},
		"nobody waits any more":       {(*Gate).Generation, errGone, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if test.gone != nil {
					cancel(test.gone)
				}
				var g Gate
				mark := test.do(&g)
				begun := time.Now()
				if err := g.WaitRefused(ctx, mark); !errors.Is(err, test.gone) {
					t.Errorf("ended with %v", err)
				}
				if took := time.Since(begun); took != test.want || g.Closed() != test.shut {
					t.Errorf("it took %s, and is shut: %t", took, g.Closed())
				}
			})
		})
	}
}

// A pause that ends before the one who waits for it runs is noticed, too.
func TestWaitClosed_ShortPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		noticed := make(chan error, 1)
		go func() { noticed <- g.WaitClosed(t.Context()) }()
		synctest.Wait()
		g.Open() // without a pause
		synctest.Wait()
		if len(noticed) > 0 {
			t.Fatal("a pause is reported that was none")
		}
		g.Close(0)
		g.Open()
		synctest.Wait()
		if len(noticed) == 0 {
			t.Fatal("the pause is not reported")
		}
	})
}

func TestPause_Expired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		g.Close(time.Second)
		if !g.Closed() {
			t.Error("open in the pause")
		}
		time.Sleep(time.Second)
		if g.Closed() {
			t.Error("shut behind it")
		}
		begun := time.Now()
		if err := g.WaitRefused(t.Context(), g.Generation()); err != nil || time.Since(begun) != 0 {
			t.Errorf("waited %s behind it, %v", time.Since(begun), err)
		}
		g.Close(time.Second)
		g.Close(0) // the last call wins
		time.Sleep(time.Hour)
		if !g.Closed() {
			t.Error("a pause without an end has ended")
		}
	})
}

// WaitClosed returns with the pause, or with its context.
func TestGate_WaitClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.WaitClosed(ctx) }()
		synctest.Wait()
		g.Open()
		synctest.Wait()
		if len(done) > 0 {
			t.Error("it is open")
		}
		g.Close(time.Minute)
		if err := <-done; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		go func() { done <- g.WaitClosed(ctx) }()
		synctest.Wait()
		cancel(errGone)
		if err := <-done; !errors.Is(err, errGone) {
			t.Errorf("%v", err)
		}
	})
}
