package mcptools

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTimeLimit_DoesNotPassWhileHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		ctx, l := withTimeLimit(t.Context(), 30*time.Second, time.Hour)
		defer l.stop()
		time.Sleep(10 * time.Second)
		first, second := Hold(ctx), Hold(ctx)
		time.Sleep(time.Hour)
		first()
		time.Sleep(time.Hour)
		second()
		<-ctx.Done()
		if took := time.Since(begun); took != 2*time.Hour+30*time.Second || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("it ended after %s with %v; expected 30 s and the two hours", took, context.Cause(ctx))
		}
	})
}

func TestTimeLimit_Canceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, l := withTimeLimit(t.Context(), time.Second, time.Hour)
		defer Hold(ctx)()
		l.stop()
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), context.Canceled) {
			t.Errorf("it ended with %v", context.Cause(ctx))
		}
	})
	Hold(t.Context())() // no operation of a set
}
