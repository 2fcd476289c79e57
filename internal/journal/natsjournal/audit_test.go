package natsjournal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// audited makes the auditor compare often.
func audited(o *Options) { o.auditEvery = 20 * time.Millisecond }

// verifyOften lets a verification that a busy machine has made fail be repeated at once.
const verifyOften = 100 * time.Millisecond

// sameDigest waits until all journals have the same digest of a space's stream
// at the same position, and returns it.
func sameDigest(t *testing.T, space string, journals ...*Journal) mark {
	t.Helper()
	head := func(j *Journal) (m mark) {
		if log, list := j.streams[j.names.Bucket(space)].local.Marks.Latest(); log != "" {
			m = list[len(list)-1]
		}
		return m
	}
	var want mark
	testkit.Eventually(t, "the digests are the same", func() bool {
		want = head(journals[0])
		return want.Seq > 0 && !slices.ContainsFunc(journals, func(j *Journal) bool { return head(j) != want })
	})
	return want
}

// The digests agree despite retries, duplicates, stale drafts, decisions, trims
// and a gateway that starts from a purged stream, so no copy is verified.
func TestAudit_CopiesAgree(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	a, b := openTest(t, n.url(), audited), openTest(t, n.url(), audited)
	journals := []*Journal{a, b}
	for round := range 3 {
		var wg sync.WaitGroup
		for w := range 4 {
			j := journals[w%2]
			wg.Go(func() {
				for i := range 60 {
					id := fmt.Sprintf("%d-%d", round, i)
					settles := chat(fmt.Sprintf("s-%s-%d", id, w), "alice")
					settles.Settles = protocol.ID("p-" + id)
					stale := chat(fmt.Sprintf("stale-%s-%d", id, w), "bob")
					stale.CheckedAtStateSeq = 0
					j.Append(t.Context(), "lab", []journal.Draft{
						chat("m-"+id, []string{"alice", "bob"}[i%2]), settles, chat(fmt.Sprintf("y-%s-%d", id, w), "bob"),
						grant(fmt.Sprintf("g-%s-%d", id, w), 1<<52), stale,
					})
				}
			})
		}
		wg.Wait()
		newest := boundsOf(t, a, "lab").newest
		persistControl(t, a, "trim", "lab", newest, encodeTrim(newest))
	}
	sameDigest(t, "lab", journals...)
	testkit.Eventually(t, "the stream is purged", func() bool { return messages(t, a, "lab", false) < 20 })
	c := openTest(t, n.url(), audited) // reads the remaining messages
	mustAppend(t, c, "lab", chat("last", "alice"))
	journals = append(journals, c)
	sameDigest(t, "lab", journals...)
	for i, j := range journals {
		before := j.auditor.compared.Load()
		testkit.Eventually(t, "it is compared", func() bool { return j.auditor.compared.Load() > before+4 })
		if v := j.auditor.verifications.Load(); v > 0 {
			t.Errorf("gateway %d verified its copy %d times", i, v)
		}
	}
}

// applyInstead applies a message to a closed replica in place of the last
// message of a space's stream.
func applyInstead(t *testing.T, tool *Journal, dir, space string, m appliedMessage) {
	t.Helper()
	s := tool.streams[tool.names.Bucket(space)]
	r, err := openReplica(dir, testLog(t))
	if err != nil {
		t.Fatal(err)
	}
	local := r.NewStream(s.name, testLog(t), noSink{})
	if err := local.Load(); err != nil {
		t.Fatal(err)
	}
	var last *jetstream.RawStreamMsg
	testkit.Eventually(t, "the servers tell of the message after the copy", func() bool { // one may be behind
		handle, err := s.open(t.Context())
		if err == nil {
			last, err = handle.GetMsg(t.Context(), handle.CachedInfo().State.LastSeq)
		}
		return err == nil && last.Sequence == local.Pos.Seq+1
	})
	m.Seq, m.Time = last.Sequence, last.Time.UnixNano()
	if err := errors.Join(local.Apply([]appliedMessage{m}), r.Close()); err != nil {
		t.Fatal(err)
	}
}

type noSink struct{}

func (noSink) Applied(uint64, []appliedBlock, bool) {}
func (noSink) Trimmed(string, uint64)               {}

// skipped is a message that is not applied.
var skipped = appliedMessage{Err: errInvalidBlock}

// A copy that lacks a message, or has an entry that no message has, is detected
// and replaced; the other gateway keeps its own.
func TestAudit_WrongCopyIsReplaced(t *testing.T) {
	t.Parallel()
	other := chat("b", "mallory")
	for name, instead := range map[string]appliedMessage{
		"skipped message": skipped,
		"other entry":     {Space: "lab", Block: block{Calls: [][]*journal.Draft{{&other}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := openAccount(t)
			dir := t.TempDir()
			keep := func(o *Options) { audited(o); o.ReplicaDir, o.verifyAgain = dir, verifyOften }
			a, b := openTest(t, n.url(), audited), openTest(t, n.url(), keep)
			mustAppend(t, a, "lab", chat("a", "alice"))
			mustAppend(t, a, "x", chat("a", "alice")) // of the other stream
			waitForAgreement(t, "lab", 1, []*Journal{a, b})
			closeTest(t, b)
			mustAppend(t, a, "lab", chat("b", "alice"))
			applyInstead(t, a, dir, "lab", instead)
			b = openTest(t, n.url(), keep)
			r := record(b)
			var replaced, other atomic.Int64
			count := func(affected func(string) bool) {
				if affected("lab") {
					replaced.Add(1)
				}
				if affected("x") {
					other.Add(1)
				}
			}
			f := journal.Replaced(count)
			b.replaced.Store(&f)
			mustAppend(t, b, "lab", chat("c", "alice"))
			sent := 0
			testkit.Eventually(t, "the copy is replaced", func() bool {
				sent++ // the other stream's readers and senders continue meanwhile
				persistAppend(t, []*Journal{a, b}[sent%2], "x", chat(fmt.Sprintf("x-%d", sent), "alice"))
				return replaced.Load() == 1
			})
			mustAppend(t, b, "lab", chat("d", "alice"))
			waitForAgreement(t, "lab", 4, []*Journal{a, b})
			want := waitForAgreement(t, "x", 1+sent, []*Journal{a, b})
			testkit.Eventually(t, "all of the other stream is delivered", func() bool { return len(r.got("x")) >= sent })
			if got := r.got("x"); !slices.Equal(got, want[1:]) || other.Load() > 0 {
				t.Errorf("delivered %d of %d, or in another order; %d notifications", len(got), sent, other.Load())
			}
			sameDigest(t, "lab", a, b)
			compared, verified := b.auditor.compared.Load(), b.auditor.verifications.Load()
			testkit.Eventually(t, "copies are compared again", func() bool { return b.auditor.compared.Load() > compared })
			if v := b.auditor.verifications.Load(); v != verified {
				t.Errorf("the new copy was verified %d times", v-verified)
			}
			if v := a.auditor.verifications.Load(); v > 1 { // its copy is right: a verification, if any, finds nothing
				t.Errorf("%d verifications of the right copy", v)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "second")); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// Three gateways use three servers: the copy of one differs, and a server stops
// during its verification. The other two keep their copies, the wrong one is
// replaced, and finally all agree.
func TestAudit_ServerStopsWhileVerifying(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t)
	dir := t.TempDir()
	three := func(o *Options) {
		audited(o)
		o.Replicas, o.verifyAgain = 3, verifyOften
	}
	keep := func(o *Options) { three(o); o.ReplicaDir = dir }
	a, b, c := openTest(t, urls(nodes), three), openTest(t, urls(nodes), three), openTest(t, urls(nodes), keep)
	mustAppend(t, a, "lab", chat("a", "alice"))
	mustAppend(t, a, "x", chat("a", "alice")) // of the other stream
	waitForAgreement(t, "lab", 1, []*Journal{a, b, c})
	closeTest(t, c)
	mustAppend(t, a, "lab", chat("b", "alice"))
	applyInstead(t, a, dir, "lab", skipped)
	c = openTest(t, urls(nodes), keep)
	mustAppend(t, b, "lab", chat("c", "alice"))
	testkit.Eventually(t, "the copy is verified", func() bool { return c.auditor.verifications.Load() > 0 })

	leader := streamLeader(t, a, nodes, "lab")
	leader.stop()
	l := &load{unknown: make(map[string]bool), timeout: testkit.Patience}
	for i := range 20 {
		l.append(t, []*Journal{a, b, c}[i%3], "lab", fmt.Sprintf("during-%d", i))
	}
	leader.start()
	n := 0
	testkit.Eventually(t, "the copies are the same", func() bool {
		listA, errA := readSpace(a, "lab")
		listB, errB := readSpace(b, "lab")
		listC, errC := readSpace(c, "lab")
		if errors.Join(errA, errB, errC) != nil {
			return false // a copy is being replaced
		}
		n = len(listA)
		return n >= 3+len(l.acked) && slices.Equal(listA, listB) && slices.Equal(listA, listC)
	})
	waitForAgreement(t, "lab", n, []*Journal{a, b, c})
	sameDigest(t, "lab", a, b, c)
	for i, j := range []*Journal{a, b, c} {
		compared := j.auditor.compared.Load()
		testkit.Eventually(t, "copies are compared again", func() bool { return j.auditor.compared.Load() > compared })
		aside, err := filepath.Glob(filepath.Join(j.replica.Dir(), "db.replaced-*"))
		if want := i / 2; err != nil || len(aside) != want { // c keeps the copy that was wrong
			t.Errorf("gateway %d kept copies aside: %q %v, want %d", i, aside, err, want)
		}
	}
}

// streamLeader returns the server that leads the stream of a space.
func streamLeader(t *testing.T, j *Journal, nodes []*natsServer, space string) *natsServer {
	t.Helper()
	leader := -1
	testkit.Eventually(t, "the stream has a leader", func() bool {
		handle, err := j.js.Stream(t.Context(), j.names.Stream(j.names.Bucket(space)))
		if err == nil {
			leader = slices.IndexFunc(nodes, func(n *natsServer) bool { return n.opts.ServerName == handle.CachedInfo().Cluster.Leader })
		}
		return leader >= 0
	})
	return nodes[leader]
}

// TestAudit_KilledWhileVerifying kills a gateway while it makes a second copy:
// the next one detects the difference again and replaces the copy, and nothing
// remains of the interrupted verification.
func TestAudit_KilledWhileVerifying(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	dir := t.TempDir()
	keep := func(o *Options) { audited(o); o.ReplicaDir, o.verifyAgain = dir, verifyOften }
	a, b := openTest(t, n.url(), audited), openTest(t, n.url(), keep)
	mustAppend(t, a, "lab", chat("a", "alice"))
	waitForAgreement(t, "lab", 1, []*Journal{a, b})
	closeTest(t, b)
	mustAppend(t, a, "lab", chat("b", "alice"))
	applyInstead(t, a, dir, "lab", skipped)
	b = openTest(t, n.url(), keep)
	mustAppend(t, a, "lab", chat("c", "alice"))
	second := filepath.Join(dir, "second")
	for range 3 {
		testkit.Eventually(t, "a second copy is made", func() bool {
			found, _ := filepath.Glob(filepath.Join(second, "db", "MANIFEST-*"))
			return len(found) > 0 || b.auditor.verifications.Load() > 0
		})
		killed := filepath.Join(t.TempDir(), "replica")
		copyKilled(t, dir, killed)
		closeTest(t, b)
		dir = killed
		b = openTest(t, n.url(), keep)
	}
	mustAppend(t, a, "lab", chat("d", "alice"))
	testkit.Eventually(t, "the copy is replaced", func() bool { list, err := readSpace(b, "lab"); return err == nil && len(list) == 4 })
	waitForAgreement(t, "lab", 4, []*Journal{a, b})
	sameDigest(t, "lab", a, b)
	testkit.Eventually(t, "the second copy is gone", func() bool {
		left, _ := filepath.Glob(filepath.Join(dir, "second"))
		return len(left) == 0
	})
}

// copyKilled copies the folder of a replica in use, which is the state that a
// killed gateway leaves. Files that are created or removed meanwhile may be
// missing.
func copyKilled(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // the file was removed
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // the file was removed
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}
