package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var (
	chaosTime = flag.Duration("chaos", 25*time.Second, "how long each run of faults lasts")
	chaosSeed = flag.Uint64("chaos.seed", 0, "of the faults; 0: a random one")
)

const chaosConfig = `
limits: {rate: 1000000, burst: 1000000, bytes_per_second: 1GiB}
spaces:
  lab:
    participants:
      admin: {token: admin-token-for-chaos, capabilities: ["*"]}
      reader: {token: reader-token-for-chaos, capabilities: ["*"]}
      victim: {token: victim-token-for-chaos, capabilities: ["chat"]}
      alice: {token: alice-token-for-chaos, capabilities: ["*"]}
      bob: {token: bob-token-for-chaos, capabilities: ["*"]}
      carol: {token: carol-token-for-chaos, capabilities: ["*"]}
`

// chaos is one run: clients at work while faults occur in a deployment.
type chaos struct {
	t      *testing.T
	w      *world
	random *rand.Rand
	count  map[string]int // faults by name
}

func newChaos(t *testing.T, addrs []string) *chaos {
	seed := *chaosSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-chaos.seed %d", seed)
	return &chaos{t: t, w: &world{record: newRecord(), addrs: addrs}, random: rand.New(rand.NewPCG(seed, 0)), count: map[string]int{}}
}

// fault disturbs a deployment. It returns when the fault is over.
type fault struct {
	name string
	do   func(ctx context.Context)
}

// pause waits for a random time up to d.
func (c *chaos) pause(ctx context.Context, d time.Duration) {
	wait(ctx, time.Duration(c.random.Int64N(int64(d))))
}

// run lets clients work while faults occur, waits until the deployment has
// recovered, and verifies the clients' observations.
func (c *chaos) run(faults []fault) {
	t := c.t
	working, stop := context.WithCancel(t.Context())
	reading, stopReading := context.WithCancel(t.Context())
	var workers, readers sync.WaitGroup
	t.Cleanup(func() {
		stop()
		stopReading()
		workers.Wait()
		readers.Wait()
	})
	for i, addr := range c.w.addrs {
		readers.Go(func() { c.w.follow(reading, fmt.Sprintf("reader-%d", i), addr) })
	}
	for i, who := range []string{"alice", "alice", "bob", "bob", "carol", "carol"} {
		workers.Go(func() { c.w.write(working, who, fmt.Sprintf("%s-%d", who, i), i%3 == 2) })
	}
	workers.Go(func() { c.w.usePrivileged(working, "victim") })
	workers.Go(func() { c.w.toggleGrant(working, "victim") })

	faulty, end := context.WithTimeout(t.Context(), *chaosTime)
	defer end()
	for faulty.Err() == nil {
		f := faults[c.random.IntN(len(faults))]
		c.count[f.name]++
		before := c.w.acked()
		f.do(faulty)
		c.pause(faulty, 1500*time.Millisecond)
		t.Logf("%8v %s: %d acknowledged", c.w.now().Round(time.Millisecond), f.name, c.w.acked()-before)
	}
	for _, addr := range c.w.addrs {
		eventually(t, "the gateway at "+addr+" is ready again", func() bool { return get(addr, "/readyz", "") == 200 })
	}
	before := c.w.acked()
	eventually(t, "envelopes are acknowledged again", func() bool { return c.w.acked() > before+20 })
	stop()
	workers.Wait()
	c.settle()
	stopReading()
	readers.Wait()
	c.verify()
}

// settle waits until all gateways have the same log and all readers have read
// it.
func (c *chaos) settle() {
	eventually(c.t, "all gateways have the same log, and the readers have read it", func() bool {
		var first []entry
		for i, addr := range c.w.addrs {
			h, err := readHistory(c.t.Context(), addr)
			if err != nil || len(h) == 0 {
				return false
			}
			if first == nil {
				first = h
			}
			if len(h) != len(first) || c.w.readUpTo(fmt.Sprintf("reader-%d", i)) < h[len(h)-1].Seq {
				return c.w.diverged() // waiting would be futile
			}
		}
		return true
	})
}

// diverged reports whether a violation was detected already.
func (w *world) diverged() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.faults) > 0
}

func (c *chaos) verify() {
	histories := map[string][]entry{}
	for _, addr := range c.w.addrs {
		h, err := readHistory(c.t.Context(), addr)
		if err != nil {
			c.t.Fatal(err)
		}
		histories[addr] = h
	}
	violations := c.w.verify(histories)
	c.t.Logf("%d acknowledged, %d in the log, faults %v", c.w.acked(), len(histories[c.w.addrs[0]]), c.count)
	for i, v := range violations {
		if i == 20 {
			c.t.Errorf("and %d more violations", len(violations)-i)
			break
		}
		c.t.Error(v)
	}
}

// kill ends a gateway as a power failure would and starts it again.
func (c *chaos) kill(ctx context.Context, g *gatewayProc) {
	g.kill()
	c.pause(ctx, time.Second)
	g.start()
}

// terminate shuts a gateway down cleanly and starts it again. A gateway that
// cannot open its log is about to end by itself, with another exit code, and
// one that has logged nothing cannot receive signals yet.
func (c *chaos) terminate(ctx context.Context, g *gatewayProc) {
	eventually(c.t, "the gateway runs", func() bool { return g.log.String() != "" })
	g.signal(syscall.SIGTERM)
	if code := g.wait(15 * time.Second); code != 0 && !strings.Contains(g.log.String(), "meup-gateway: open the log: ") {
		c.w.violation("exit code %d after SIGTERM", code)
	}
	c.pause(ctx, time.Second)
	g.start()
}

// revive restarts a gateway that has ended because its disk was full.
func (c *chaos) revive(g *gatewayProc) {
	eventually(c.t, "the gateway is ready or has ended", func() bool {
		select {
		case <-g.done:
			return true
		default:
			return get(g.addr, "/readyz", "") == http.StatusOK
		}
	})
	g.startAgain()
}

// TestChaos_EmbeddedLog runs one gateway on its own disk. The gateway is killed
// and terminated, and the disk becomes full, also intermittently.
func TestChaos_EmbeddedLog(t *testing.T) {
	dir := t.TempDir()
	mounted := exec.Command("mount", "-t", "tmpfs", "-o", "size=256m", "tmpfs", dir).Run() == nil
	if mounted {
		t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	}
	g := startGateway(t, chaosConfig, "--data", filepath.Join(dir, "data"))
	c := newChaos(t, []string{g.addr})
	ballast := filepath.Join(dir, "ballast")
	fill := func() { _ = os.WriteFile(ballast, make([]byte, 256<<20), 0o600) } // fails when the disk is full
	free := func() { _ = os.Remove(ballast) }
	faults := []fault{
		{"kill", func(ctx context.Context) { c.kill(ctx, g) }},
		{"terminate", func(ctx context.Context) { c.terminate(ctx, g) }},
	}
	if mounted {
		faults = append(faults,
			fault{"full disk", func(ctx context.Context) { fill(); c.pause(ctx, 2*time.Second); free(); c.revive(g) }},
			fault{"flickering disk", func(ctx context.Context) {
				for range 10 {
					fill()
					c.pause(ctx, 100*time.Millisecond)
					free()
					c.pause(ctx, 100*time.Millisecond)
				}
				c.revive(g)
			}},
			fault{"kill on a full disk", func(ctx context.Context) {
				fill()
				g.kill()
				g.start()
				c.pause(ctx, time.Second)
				free()
				c.revive(g)
			}},
		)
	} else {
		t.Log("a small file system cannot be mounted here; the disk is not filled")
	}
	c.run(faults)
}

// natsProc is a NATS server of a cluster whose routes and clients use proxies.
type natsProc struct {
	*process
	t      *testing.T
	conf   string
	port   string
	routes []*proxy // to the other servers
}

func (n *natsProc) start() { n.process = start(n.t, []string{natsEnv + "=" + n.conf}, os.Args[0]) }

// startCluster starts three NATS servers.
func startCluster(t *testing.T) []*natsProc {
	t.Helper()
	dir := t.TempDir()
	const size = 3
	servers := make([]*natsProc, size)
	routePorts := make([]string, size)
	for i := range servers {
		routePorts[i] = freePort(t)
		servers[i] = &natsProc{t: t, conf: filepath.Join(dir, fmt.Sprintf("%d.conf", i)), port: freePort(t)}
	}
	for i, n := range servers {
		var routes []string
		for j := range servers {
			if j != i {
				p := newProxy(t, "127.0.0.1:"+routePorts[j])
				n.routes = append(n.routes, p)
				routes = append(routes, "nats://"+p.addr())
			}
		}
		conf := fmt.Sprintf(`
server_name: n%d
listen: 127.0.0.1:%s
jetstream: {store_dir: %q, sync_interval: always}
cluster: {name: chaos, listen: 127.0.0.1:%s, no_advertise: true, routes: [%s]}
`, i, n.port, filepath.Join(dir, fmt.Sprint(i)), routePorts[i], strings.Join(routes, ", "))
		if err := os.WriteFile(n.conf, []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		n.start()
	}
	return servers
}

// TestChaos_Cluster runs three gateways on three NATS servers. Gateways and
// servers are killed, alone and so many that there is no quorum; gateways lose
// their connections or are cut off; followers lag.
func TestChaos_Cluster(t *testing.T) {
	servers := startCluster(t)
	gateways := make([]*gatewayProc, 3)
	links := make([][]*proxy, 3) // by gateway and server
	var addrs []string
	for i := range gateways {
		var urls []string
		for _, n := range servers {
			p := newProxy(t, "127.0.0.1:"+n.port)
			links[i] = append(links[i], p)
			urls = append(urls, "nats://"+p.addr())
		}
		gateways[i] = prepareGateway(t, chaosConfig, "--nats", strings.Join(urls, ","))
		gateways[i].start()
		addrs = append(addrs, gateways[i].addr)
	}
	for _, addr := range addrs {
		within(t, 2*time.Minute, "the gateways are ready", func() bool { return get(addr, "/readyz", "") == 200 })
	}
	c := newChaos(t, addrs)
	someGateway := func() *gatewayProc { return gateways[c.random.IntN(3)] }
	each := func(list []*proxy, do func(*proxy)) {
		for _, p := range list {
			do(p)
		}
	}
	c.run([]fault{
		{"kill a gateway", func(ctx context.Context) { c.kill(ctx, someGateway()) }},
		{"terminate a gateway", func(ctx context.Context) { c.terminate(ctx, someGateway()) }},
		{"kill a server", func(ctx context.Context) {
			n := servers[c.random.IntN(3)]
			n.kill()
			c.pause(ctx, 3*time.Second)
			n.start()
		}},
		{"lose the quorum", func(ctx context.Context) {
			i := c.random.IntN(3)
			down := slices.Delete(slices.Clone(servers), i, i+1)
			for _, n := range down {
				n.kill()
			}
			c.pause(ctx, 3*time.Second)
			for _, n := range down {
				n.start()
			}
		}},
		{"cut connections", func(ctx context.Context) {
			list := links[c.random.IntN(3)]
			for range 8 {
				each(list, (*proxy).cut)
				c.pause(ctx, 300*time.Millisecond)
			}
		}},
		{"cut off a gateway", func(ctx context.Context) {
			list := links[c.random.IntN(3)]
			each(list, (*proxy).hold)
			c.pause(ctx, 4*time.Second)
			each(list, (*proxy).release)
		}},
		{"a server lags, and a gateway's connections are cut", func(ctx context.Context) {
			i := c.random.IntN(3)
			lagging := slices.Clone(servers[i].routes)
			for j, n := range servers {
				if j == i {
					continue
				}
				k := i // the proxies of n exclude n itself
				if i > j {
					k--
				}
				lagging = append(lagging, n.routes[k])
			}
			each(lagging, func(p *proxy) { p.lag(1100 * time.Millisecond) })
			list := links[c.random.IntN(3)]
			for range 8 {
				each(list, (*proxy).cut)
				c.pause(ctx, time.Second)
			}
			each(lagging, func(p *proxy) { p.lag(0) })
		}},
		{"cut off a server", func(ctx context.Context) {
			list := servers[c.random.IntN(3)].routes
			each(list, (*proxy).hold)
			c.pause(ctx, 4*time.Second)
			each(list, (*proxy).release)
		}},
	})
}
