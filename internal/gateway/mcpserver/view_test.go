package mcpserver

import (
	"context"
	"testing"
	"testing/synctest"
)

// Requests that wait for a view leave the slots to the one that changes it. More
// wait here than there are slots.
func TestView_LockLeavesSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{slots: NewSlotPool(2, 1)}
		v := &view{busy: make(chan struct{}, 1)}
		changed := make(chan error, 5)
		change := func(during func()) {
			c := &caller{server: s, ended: t.Context(), SlotShare: s.slots.Share(t.Context())}
			defer c.Finish()
			err := c.Resume(t.Context())
			if err == nil {
				err = v.lock(t.Context(), c)
			}
			if err == nil {
				err = c.Await(t.Context(), func(context.Context) error { during(); return nil })
				v.unlock()
			}
			changed <- err
		}
		change(func() {
			for range cap(changed) - 1 {
				go change(func() {})
			}
			synctest.Wait() // for the others, which wait for the view
		})
		for range cap(changed) {
			if err := <-changed; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait() // for the last ones to give back their slots
		if s.slots.Running() != 0 || len(v.busy) != 0 {
			t.Errorf("%d slots and %d views are taken", s.slots.Running(), len(v.busy))
		}
	})
}

// A request that ends while it waits gives the view back.
func TestView_LockEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{slots: NewSlotPool(1, 1)}
		v := &view{busy: make(chan struct{}, 1)}
		v.busy <- struct{}{}
		ctx, cancel := context.WithCancel(t.Context())
		c := &caller{server: s, ended: ctx, SlotShare: s.slots.Share(ctx)}
		if err := c.Resume(ctx); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() { failed <- v.lock(ctx, c) }()
		synctest.Wait()
		other := s.slots.Share(t.Context())
		if err := other.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		v.unlock()
		synctest.Wait() // it waits for a slot
		cancel()
		if err := <-failed; err == nil {
			t.Error("it changes the view")
		}
		if len(v.busy) != 0 {
			t.Error("the view is taken")
		}
	})
}
