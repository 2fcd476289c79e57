package capability

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// TestOracle compares many decisions with the oracle's and checks that both
// results occur.
func TestOracle(t *testing.T) {
	t.Parallel()
	sets, requests := 2_000, 50
	if testkit.IsSlow() {
		sets = 20_000
	}
	seeds := testkit.Rand(t)
	var allowed, denied, total int
	for i := range sets {
		g := newGenerator(seeds.Uint64())
		caps := make([]any, 1+g.r.IntN(4))
		compiled := make([]*Capability, len(caps))
		for j := range caps {
			caps[j] = g.capability(25)
			text := g.encode(caps[j])
			c, err := ParseJSON(text)
			if err != nil {
				t.Fatalf("set %d: %s: %v", i, text, err)
			}
			compiled[j] = c
		}
		set := NewSet(compiled...)
		for range requests {
			r := g.request()
			text := g.encode(r.payload)
			request, err := r.compile(text)
			if err != nil {
				t.Fatal(err)
			}
			want, got := oracleDecide(caps, r), set.Decide(request)
			if got.Allowed != want {
				t.Fatalf("set %d: capabilities %s\nrequest %s to %q in %q: %s\ndecided %v by %v, want %v",
					i, compiled, r.kind, r.to, r.context, text, got.Allowed, got.By, want)
			}
			total++
			switch {
			case got.Allowed:
				allowed++
			case got.By != nil:
				denied++
			}
		}
	}
	t.Logf("%d decisions: %d allowed, %d denied by a rule", total, allowed, denied)
	if allowed < total/5 || allowed > total*3/4 || denied < total/20 {
		t.Errorf("of %d decisions %d allowed and %d denied: the mix proves little", total, allowed, denied)
	}
}

// TestOracleSingle compares single capabilities, where no other capability can
// mask a wrong match.
func TestOracleSingle(t *testing.T) {
	t.Parallel()
	n := 30_000
	if testkit.IsSlow() {
		n = 300_000
	}
	seeds := testkit.Rand(t)
	matched := 0
	for i := range n {
		g := newGenerator(seeds.Uint64())
		c := g.capability(50)
		text := g.encode(c)
		compiled, err := ParseJSON(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		r := g.request()
		payload := g.encode(r.payload)
		request, err := r.compile(payload)
		if err != nil {
			t.Fatal(err)
		}
		want := oracleMatch(c, r)
		if got := compiled.Match(request); got != want {
			t.Fatalf("%d: %s\nrequest %s to %q in %q: %s\nmatch %v, want %v", i, text, r.kind, r.to, r.context, payload, got, want)
		}
		if want {
			matched++
		}
		explained := compiled.explain(request)
		if strings.HasSuffix(explained, "s it") != want || strings.Contains(explained, "no  for") {
			t.Fatalf("%d: %s\nexplained as %s, want selected %v", i, text, explained, want)
		}
	}
	if matched < n/10 || matched > n*9/10 {
		t.Errorf("%d of %d matched: the mix proves little", matched, n)
	}
}
