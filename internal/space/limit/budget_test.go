package limit_test

import (
	"testing"

	"github.com/meup-protocol/meup/internal/space/limit"
)

func TestBudget_BoundsHoldersAndTotal(t *testing.T) {
	b := limit.NewBudget(100, 40)
	a, ok := b.Take("a", 30)
	if !ok {
		t.Fatal("an empty budget grants nothing")
	}
	if _, ok := b.Take("a", 11); ok {
		t.Error("a holds more than its share")
	}
	a2, ok := b.Take("a", 10)
	if !ok || a2.Grow(1) {
		t.Errorf("a does not get its whole share and no more: %t", ok)
	}
	c, ok := b.Take("c", 40)
	d, ok2 := b.Take("d", 20)
	if !ok || !ok2 || d.Grow(1) {
		t.Error("the total is not 100")
	}
	if used, holders := b.Used(); used != 100 || holders != 3 {
		t.Errorf("%d bytes by %d", used, holders)
	}
	for _, h := range []*limit.Hold{&a, &a2, &c, &d} {
		h.Release()
		h.Release()
	}
	if used, holders := b.Used(); used != 0 || holders != 0 {
		t.Errorf("%d bytes by %d are left", used, holders)
	}
}

func TestBudget_LargeOneAlone(t *testing.T) {
	b := limit.NewBudget(100, 40)
	large, ok := b.Take("a", 500)
	if !ok {
		t.Fatal("what exceeds the budget is never granted")
	}
	if _, ok := b.Take("b", 1); ok {
		t.Error("something is granted beside it")
	}
	large.Release()
	small, ok := b.Take("a", 1)
	if !ok || !small.Grow(60) {
		t.Error("who holds one part alone cannot grow")
	}
}
