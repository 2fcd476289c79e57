package search

import (
	"testing"
)

// FuzzPostings: no bytes make a list yield documents outside of its bucket.
func FuzzPostings(f *testing.F) {
	var p postings
	for _, doc := range []uint32{3, 4, 500, bucketSize - 1} {
		p.add(doc, 7)
	}
	f.Add(p.append(nil), p.append(nil))
	f.Add([]byte{5, 3}, []byte{0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, data := range [][]byte{a, b} {
			if p, err := parsePostings(data); err == nil {
				_ = p.each(func(doc uint32, weight uint64) { // damaged lists end with an error
					if doc >= bucketSize || weight >= uint64(len(levels)) {
						t.Fatalf("document %d, weight %d", doc, weight)
					}
				})
			}
		}
		m := new(merging)
		if m.MergeNewer(a) == nil && m.MergeOlder(b) == nil {
			_, _, _ = m.Finish(true) // must not panic
		}
	})
}
