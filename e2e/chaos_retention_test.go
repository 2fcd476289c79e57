package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// retained is how long the log keeps envelopes: much longer than a client retries,
// since an id may be used again when its envelope was dropped. Where each fault occurs
// once, the clients have stopped before anything is dropped.
func retained() time.Duration {
	if chaosLength() == 0 {
		return testkit.Patience
	}
	return min(max(chaosLength()/3, 3*time.Second), time.Minute)
}

func retainingConfig(age time.Duration) string {
	return fmt.Sprintf("retention: {age: %s}\n%s", age, chaosConfig)
}

// retain makes the checker accept that old entries are dropped.
func (c *chaos) retain() {
	for _, w := range c.worlds {
		w.retention = true
	}
}

// TestChaos_Retention runs one gateway whose log drops old entries while it is
// killed and stopped, and loses its index of turns. At the end all entries are dropped.
func TestChaos_Retention(t *testing.T) {
	t.Parallel()
	g := startGateway(t, drained(retainingConfig(retained())))
	c := newChaos(t, []string{g.addr}, "lab")
	c.retain()
	c.talk()
	turns := c.recovered
	c.recovered = func() {
		turns() // now no client waits for an acknowledgment
		before, err := readHistory(t.Context(), g.addr, "lab")
		c.check(err)
		g.configure(drained(retainingConfig(time.Millisecond)))
		g.kill()
		g.restart() // the first round of retention is at the start
		eventually(t, "all entries are dropped", func() bool {
			h, err := readHistory(t.Context(), g.addr, "lab")
			return err == nil && firstTrimmable(h) > before[len(before)-1].Seq
		})
		g.configure(drained(retainingConfig(testkit.Patience)))
		c.terminate(t.Context(), g) // what was dropped stays so when the gateway is killed
		c.loseTurns(t.Context(), g)
		turns()
	}
	c.run([]fault{
		{"kill", func(ctx context.Context) { c.kill(ctx, g) }},
		{"lose the index of turns", func(ctx context.Context) { c.loseTurns(ctx, g) }},
		{"terminate", func(ctx context.Context) { c.terminate(ctx, g) }},
	})
}

// TestChaos_RetentionBytes runs one gateway whose log drops its oldest entries when
// it is too large, while it is killed and stopped.
func TestChaos_RetentionBytes(t *testing.T) {
	t.Parallel()
	const limit = 4 << 20 // more than the clients send while they retry one envelope
	g := startGateway(t, drained(fmt.Sprintf("retention: {bytes: %d}\n%s", limit, chaosConfig)))
	c := newChaos(t, []string{g.addr}, "lab")
	c.retain()
	c.recovered = func() {
		w := c.worlds[0]
		s := w.sender("alice")
		defer s.close()
		fill := strings.Repeat("x", 64<<10)
		for i := range 2 * limit / len(fill) { // a slow machine has not reached the limit
			id := fmt.Sprintf("fill-%d", i)
			out, _, _ := w.deliver(t.Context(), s, false, false, id, fmt.Sprintf(`{"id":%q,"kind":"chat","payload":{"message":%q}}`, id, fill))
			w.add(out)
		}
		g.kill()
		g.start() // the first round of retention is at the start
		eventually(t, "the log is within its limit", func() bool {
			h, err := readHistory(t.Context(), g.addr, "lab")
			size := 0
			for _, e := range h {
				size += int(e.Payload.Message)
			}
			return err == nil && size <= limit
		})
	}
	c.run([]fault{
		{"kill", func(ctx context.Context) { c.kill(ctx, g) }},
		{"terminate", func(ctx context.Context) { c.terminate(ctx, g) }},
	})
}

// replicaFaults damage the replicas of gateways as operators and disks may.
func (c *chaos) replicaFaults(d *cluster) []fault {
	some := func() *gatewayProc { return d.gateways[c.random.IntN(3)] }
	replica := func(g *gatewayProc) string { return filepath.Join(g.data, "replica") }
	// killed ends a gateway, and sees to it that there is a replica: one that was started a
	// moment ago may have none yet.
	killed := func(g *gatewayProc) string {
		g.kill()
		c.check(os.MkdirAll(replica(g), 0o700))
		return replica(g)
	}
	saved := filepath.Join(c.t.TempDir(), "saved")
	return []fault{
		{"lose the index of turns", func(ctx context.Context) { c.loseTurns(ctx, some()) }},
		{"lose a replica", func(ctx context.Context) {
			g := some()
			c.check(os.RemoveAll(killed(g)))
			g.start()
		}},
		{"swap two replicas", func(ctx context.Context) {
			i := c.random.IntN(3)
			a, b := d.gateways[i], d.gateways[(i+1)%3]
			one, other := killed(a), killed(b)
			c.check(os.Rename(one, one+".swap"))
			c.check(os.Rename(other, one))
			c.check(os.Rename(one+".swap", other))
			a.start()
			b.start()
		}},
		{"replace a replica by an older copy of any", func(ctx context.Context) {
			g := some()
			dir := killed(g)
			if _, err := os.Stat(saved); err == nil {
				c.check(os.RemoveAll(dir))
				c.check(os.Rename(saved, dir))
			} else {
				c.check(os.CopyFS(saved, os.DirFS(dir)))
			}
			g.start()
		}},
		{"damage the end of a replica", func(ctx context.Context) {
			g := some()
			c.damageTail(killed(g))
			g.start()
		}},
	}
}

func (c *chaos) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// damageTail cuts off or overwrites the last bytes of the newest write-ahead log
// of a folder with a database.
func (c *chaos) damageTail(dir string) {
	c.t.Helper()
	var logs []string
	c.check(filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if filepath.Ext(path) == ".log" {
			logs = append(logs, path)
		}
		return err
	}))
	if len(logs) == 0 {
		return
	}
	newest := slices.Max(logs) // the names have numbers of six digits
	info, err := os.Stat(newest)
	c.check(err)
	n := min(info.Size(), 1+c.random.Int64N(64<<10))
	if c.random.IntN(2) == 0 {
		c.check(os.Truncate(newest, info.Size()-n))
		return
	}
	f, err := os.OpenFile(newest, os.O_WRONLY, 0)
	c.check(err)
	junk := make([]byte, n)
	for i := range junk {
		junk[i] = byte(c.random.Uint32())
	}
	_, err = f.WriteAt(junk, info.Size()-n)
	c.check(err)
	c.check(f.Close())
}
