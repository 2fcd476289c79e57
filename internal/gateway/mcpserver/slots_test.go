package mcpserver_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/meup-protocol/meup/internal/gateway/mcpserver"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// A request that waits leaves its slot to others, and takes one to go on.
func TestShare_Await(t *testing.T) {
	p := mcpserver.NewSlotPool(1, 1)
	first, second := p.Share(t.Context()), p.Share(t.Context())
	if err := first.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := first.Await(t.Context(), func(ctx context.Context) error {
		if err := second.Resume(ctx); err != nil {
			t.Error(err)
		}
		if err := second.Await(ctx, func(context.Context) error { return nil }); !errors.Is(err, mcpserver.ErrManyWaiting) {
			t.Errorf("two wait: %v", err)
		}
		second.Finish()
		return nil
	})
	if err != nil || p.Running() != 1 {
		t.Errorf("%v, %d run", err, p.Running())
	}
	first.Finish()
	if err := first.Resume(t.Context()); err == nil || p.Running() != 0 {
		t.Errorf("it goes on after its end; %d run", p.Running())
	}
}

// A request that ends while it waits for a slot takes none.
func TestShare_Ends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := mcpserver.NewSlotPool(1, 1)
		ctx, cancel := context.WithCancel(t.Context())
		first, second := p.Share(t.Context()), p.Share(ctx)
		if err := first.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() { failed <- second.Resume(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		second.Finish()
		first.Finish()
		if p.Running() != 0 {
			t.Errorf("%d run", p.Running())
		}
	})
}
