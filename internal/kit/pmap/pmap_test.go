package pmap

import (
	"cmp"
	"iter"
	"maps"
	"math/bits"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMap_AgreesWithBuiltin(t *testing.T) {
	type version struct {
		m    Map[int, int]
		want map[int]int
	}
	rapid.Check(t, func(t *rapid.T) {
		versions := []version{{want: map[int]int{}}}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			from := rapid.SampledFrom(versions).Draw(t, "from")
			next := version{m: from.m, want: maps.Clone(from.want)}
			k := rapid.IntRange(0, 20).Draw(t, "key")
			if rapid.IntRange(0, 2).Draw(t, "op") == 0 {
				next.m = next.m.Delete(k)
				delete(next.want, k)
			} else {
				next.m = next.m.Set(k, i)
				next.want[k] = i
			}
			versions = append(versions, next)
		}
		for _, v := range versions { // older versions are as they were
			if got := maps.Collect(v.m.All()); !maps.Equal(got, v.want) || v.m.Len() != len(v.want) {
				t.Fatalf("the map is %v of length %d, want %v", got, v.m.Len(), v.want)
			}
			var keys []int
			for k, x := range v.m.All() {
				keys = append(keys, k)
				if got, ok := v.m.Get(k); !ok || got != x {
					t.Fatalf("key %d: %d, %v", k, got, ok)
				}
			}
			if !slices.IsSorted(keys) {
				t.Fatalf("the keys are %v", keys)
			}
			for k := -1; k <= 21; k++ {
				i, _ := slices.BinarySearch(keys, k+1)
				var from []int
				for x := range v.m.From(k + 1) {
					from = append(from, x)
				}
				if !slices.Equal(from, keys[i:]) {
					t.Fatalf("the keys from %d on are %v, want %v", k+1, from, keys[i:])
				}
				got, _, ok := v.m.After(k)
				if ok != (i < len(keys)) || ok && got != keys[i] {
					t.Fatalf("the key after %d is %d, %v", k, got, ok)
				}
			}
			if _, ok := v.m.Get(99); ok {
				t.Fatal("a key that was never set is found")
			}
			v.m.root.check(t)
		}
	})
}

// check reports priorities that are out of order.
func (n *node[K, V]) check(t *rapid.T) {
	if n == nil {
		return
	}
	for _, c := range []*node[K, V]{n.left, n.right} {
		if c != nil && c.priority > n.priority {
			t.Fatal("a child has a higher priority")
		}
		c.check(t)
	}
}

func (n *node[K, V]) depth() int {
	if n == nil {
		return 0
	}
	return 1 + max(n.left.depth(), n.right.depth())
}

// Keys in ascending order are the worst case of an unbalanced tree.
func TestMap_StaysShallow(t *testing.T) {
	const n = 1 << 14
	var m Map[int, struct{}]
	for i := range n {
		m = m.Set(i, struct{}{})
	}
	if d := m.root.depth(); d > 5*bits.Len(n) {
		t.Errorf("%d keys are %d deep", n, d)
	}
	allocs := testing.AllocsPerRun(100, func() { m.Set(n/2, struct{}{}) })
	if allocs > float64(5*bits.Len(n)) {
		t.Errorf("setting a key of %d allocates %v times", n, allocs)
	}
}

func TestMap_BreaksOff(t *testing.T) {
	m := Map[string, int]{}.Set("b", 2).Set("a", 1).Set("c", 3)
	for _, list := range []iter.Seq2[string, int]{m.All(), m.From("a")} {
		for k := range list {
			if cmp.Compare(k, "b") >= 0 {
				break
			}
		}
	}
}

func TestTimeKey_Orders(t *testing.T) {
	keys := []string{
		TimeKey(time.Unix(-5, 0), "z"), TimeKey(time.Unix(0, 0), ""), TimeKey(time.Unix(0, 0), "a"),
		TimeKey(time.Unix(0, 1), ""), TimeKey(time.Unix(1<<33, 0), "a"),
	}
	if !slices.IsSorted(keys) {
		t.Errorf("the keys %q are out of order", keys)
	}
}

func TestOf_AgreesWithSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.IntRange(0, 50)).Draw(t, "keys")
		if rapid.Bool().Draw(t, "sorted") {
			slices.Sort(keys)
		}
		want := map[int]int{}
		var pairs []Pair[int, int]
		for _, k := range keys {
			want[k] = -k
			pairs = append(pairs, Pair[int, int]{k, -k})
		}
		m := Of(pairs)
		if got := maps.Collect(m.All()); !maps.Equal(got, want) || m.Len() != len(want) {
			t.Fatalf("the map is %v of length %d, want %v", got, m.Len(), want)
		}
		m.root.check(t)
		m = m.Set(25, 1).Delete(7)
		want[25] = 1
		delete(want, 7)
		if got := maps.Collect(m.All()); !maps.Equal(got, want) {
			t.Fatalf("the map is %v after changes, want %v", got, want)
		}
	})
}
