package natsjournal

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// recorder is a sink that records its entries.
type recorder struct {
	mu     sync.Mutex
	spaces map[string][]string
}

func record(j *Journal) *recorder {
	r := &recorder{spaces: make(map[string][]string)}
	j.Follow(func(space string, entries []*journal.Entry) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, e := range entries {
			r.spaces[space] = append(r.spaces[space], fmt.Sprintf("%d %s", e.Envelope.Seq, e.Envelope.ID))
		}
	}, nil)
	return r
}

func (r *recorder) got(space string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spaces[space])
}

// waitForAgreement waits until the journals and the recorders have the same entries of a
// space, and returns them.
func waitForAgreement(t *testing.T, space string, n int, journals []*Journal, recorders ...*recorder) []string {
	t.Helper()
	var want []string
	testkit.Eventually(t, fmt.Sprintf("%s has %d entries everywhere", space, n), func() bool {
		want = content(t, journals[0], space)
		same := len(want) == n
		for _, j := range journals[1:] {
			same = same && slices.Equal(content(t, j, space), want)
		}
		for _, r := range recorders {
			same = same && len(r.got(space)) >= n
		}
		return same
	})
	for i, r := range recorders {
		if !slices.Equal(r.got(space), want) {
			t.Errorf("sink %d got another order, or something twice", i)
		}
	}
	return want
}

func TestGateways_SameOrder(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	a, b := openTest(t, n.url(), nil), openTest(t, n.url(), nil)
	ra, rb := record(a), record(b)
	var wg sync.WaitGroup
	for w := range 6 {
		j := []*Journal{a, b}[w%2]
		wg.Go(func() {
			for i := range 30 {
				for _, r := range j.Append(t.Context(), "lab", []journal.Draft{
					chat(fmt.Sprintf("m-%d-%d", w, i), "alice"), chat(fmt.Sprintf("n-%d-%d", w, i), "alice"),
				}) {
					if r.Err != nil {
						t.Error(r.Err)
					}
				}
			}
		})
	}
	wg.Wait()
	waitForAgreement(t, "lab", 360, []*Journal{a, b}, ra, rb)
}

// Two senders append the same id concurrently through two gateways: one wins,
// and all gateways agree on it.
func TestDuplicatesAcrossGateways(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	journals := []*Journal{openTest(t, n.url(), nil), openTest(t, n.url(), nil)}
	const rounds = 40
	for i := range rounds {
		id := fmt.Sprintf("m-%d", i)
		var results [4]journal.Result
		var wg sync.WaitGroup
		for k := range results {
			wg.Go(func() {
				sender := []string{"alice", "bob"}[k%2]
				results[k] = journals[k/2].Append(t.Context(), "lab", []journal.Draft{chat(id, sender)})[0]
			})
		}
		wg.Wait()
		admitted, retries, refused := 0, 0, 0
		var seq protocol.Seq
		for _, r := range results {
			switch {
			case errors.Is(r.Err, journal.ErrDuplicateID):
				refused++
				continue
			case r.Err != nil:
				t.Fatal(r.Err)
			case r.Retry:
				retries++
			default:
				admitted++
			}
			if seq != 0 && r.Seq != seq {
				t.Errorf("%s stands at %d and at %d", id, seq, r.Seq)
			}
			seq = r.Seq
		}
		if admitted != 1 || retries != 1 || refused != 2 {
			t.Fatalf("%s: %+v", id, results)
		}
	}
	waitForAgreement(t, "lab", rounds, journals)
}

func TestStaleAcrossGateways(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	a, b := openTest(t, n.url(), nil), openTest(t, n.url(), nil)
	first := mustAppend(t, a, "lab", grant("g-1", 0))[0]
	old := chat("m-1", "bob")
	old.CheckedAtStateSeq = first - 1
	if r := b.Append(t.Context(), "lab", []journal.Draft{old, chat("m-2", "bob")}); !errors.Is(r[0].Err, journal.ErrStale) || !errors.Is(r[1].Err, journal.ErrStale) {
		t.Errorf("checked before the grant: %+v", r)
	}
	old.CheckedAtStateSeq = first
	mustAppend(t, b, "lab", old)

	// Of two grants checked against the same state, through two gateways, one is
	// admitted.
	for i := range 20 {
		_, basis, err := a.Bounds(t.Context(), "lab")
		if err != nil {
			t.Fatal(err)
		}
		var errs [2]error
		var wg sync.WaitGroup
		for k, j := range []*Journal{a, b} {
			wg.Go(func() {
				errs[k] = j.Append(t.Context(), "lab", []journal.Draft{grant(fmt.Sprintf("g-%d-%d", i, k), basis)})[0].Err
			})
		}
		wg.Wait()
		if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs[:]...), journal.ErrStale) {
			t.Fatalf("round %d: %v", i, errs)
		}
		waitForAgreement(t, "lab", i+3, []*Journal{a, b})
	}
}

// One call needs many blocks, with state entries in between.
func TestLongCall(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	a, b := openTest(t, n.url(), nil), openTest(t, n.url(), nil)
	var drafts []journal.Draft
	for i := range 2*maxDrafts + 100 {
		drafts = append(drafts, chat(fmt.Sprintf("m-%d", i), "alice"))
	}
	drafts[maxDrafts+7] = grant("g", 1<<52)
	seqs := mustAppend(t, a, "lab", drafts...)
	if !slices.IsSorted(seqs) {
		t.Error("the order of the call is lost")
	}
	waitForAgreement(t, "lab", len(drafts), []*Journal{a, b})
}
