package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestWithParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var parent atomic.Int64
		parent.Store(100)
		ctx, stop := withParent(t.Context(), func() int { return int(parent.Load()) }, time.Second)
		defer stop()
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Error("it ends while the parent runs")
		}
		parent.Store(1)
		time.Sleep(time.Second)
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), errParentEnded) {
			t.Error(context.Cause(ctx))
		}
	})
}
