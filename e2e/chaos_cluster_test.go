package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// natsProc is a NATS server of a cluster whose routes and clients use proxies.
type natsProc struct {
	*process
	t      *testing.T
	conf   string
	port   string
	routes []*proxy // to the other servers
}

func (n *natsProc) start() { n.process = start(n.t, []string{natsEnv + "=" + n.conf}, os.Args[0]) }

// startCluster starts three NATS servers with their data in a folder.
func startCluster(t *testing.T, store string) []*natsProc {
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
		// A route to itself, which the server drops, makes it expect three servers: the
		// first two do not form a cluster without the third.
		routes := []string{"nats://127.0.0.1:" + routePorts[i]}
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
cluster: {name: chaos, listen: 127.0.0.1:%s, advertise: "127.0.0.1:1", no_advertise: true, routes: [%s]}
`, i, n.port, filepath.Join(store, fmt.Sprint(i)), routePorts[i], strings.Join(routes, ", "))
		if err := os.WriteFile(n.conf, []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		n.start()
	}
	return servers
}

// cluster is three gateways on three NATS servers.
type cluster struct {
	servers  []*natsProc
	gateways []*gatewayProc
	links    [][]*proxy // by gateway and server
}

func (d *cluster) addrs() []string {
	var addrs []string
	for _, g := range d.gateways {
		addrs = append(addrs, g.addr)
	}
	return addrs
}

func (d *cluster) killServers() {
	for _, n := range d.servers {
		n.kill()
	}
}

func (d *cluster) startServers() {
	for _, n := range d.servers {
		n.start()
	}
}

func startGateways(t *testing.T, configuration string) *cluster {
	t.Helper()
	return startGatewaysOn(t, configuration, t.TempDir(), t.TempDir())
}

// startGatewaysOn starts a cluster with the data of servers and gateways in two
// folders. prepare is called for each gateway before its start.
func startGatewaysOn(t *testing.T, configuration, serverData, gatewayData string, prepare ...func(*gatewayProc)) *cluster {
	t.Helper()
	d := &cluster{servers: startCluster(t, serverData)}
	for i := range 3 {
		var urls []string
		var links []*proxy
		for _, n := range d.servers {
			p := newProxy(t, "127.0.0.1:"+n.port)
			links = append(links, p)
			urls = append(urls, "nats://"+p.addr())
		}
		g := prepareGateway(t, configuration, "--nats", strings.Join(urls, ","))
		g.setData(filepath.Join(gatewayData, fmt.Sprint(i)))
		for _, do := range prepare {
			do(g)
		}
		g.start()
		d.gateways, d.links = append(d.gateways, g), append(d.links, links)
	}
	for _, addr := range d.addrs() {
		eventually(t, "the gateways are ready", func() bool { return get(addr, "/readyz", "") == 200 })
	}
	return d
}

// TestChaos_Cluster runs three gateways on three NATS servers. Gateways and
// servers are killed, alone and so many that there is no quorum; gateways lose
// their connections or are cut off; followers lag.
func TestChaos_Cluster(t *testing.T) {
	t.Parallel()
	onlyLong(t)
	d := startGateways(t, chaosConfig)
	c := newChaos(t, d.addrs(), "lab")
	c.run(append(c.processFaults(d), c.networkFaults(d)...))
}

// TestChaos_ClusterSpaces is the same for twelve spaces, which are in different
// streams.
func TestChaos_ClusterSpaces(t *testing.T) {
	t.Parallel()
	onlyLong(t)
	d := startGateways(t, chaosConfig)
	var spaces []string
	for i := range 12 {
		spaces = append(spaces, fmt.Sprintf("lab-%d", i))
	}
	c := newChaos(t, d.addrs(), spaces...)
	c.writers = 2
	c.run(append(c.processFaults(d), c.networkFaults(d)...))
}

// TestChaos_ClusterRetention is the same while retention drops old entries and
// purges their messages, and the gateways' replicas are lost, damaged, swapped and
// replaced by older copies.
func TestChaos_ClusterRetention(t *testing.T) {
	t.Parallel()
	onlyLong(t)
	d := startGateways(t, retainingConfig(retained()))
	c := newChaos(t, d.addrs(), "lab")
	c.retain()
	c.talk()
	c.run(slices.Concat(c.processFaults(d), c.networkFaults(d), c.replicaFaults(d)))
}

// TestChaos_ClusterFullDisk is the same while the disks of servers and gateways, which
// are small, become full. A server that has stopped its store is started again when
// there is room, as an operator would.
func TestChaos_ClusterFullDisk(t *testing.T) {
	t.Parallel()
	onlyLong(t)
	servers, gateways := smallDisks(t, 3), smallDisks(t, 3)
	d := startGatewaysOn(t, chaosConfig, filepath.Dir(servers[0].dir), filepath.Dir(gateways[0].dir))
	c := newChaos(t, d.addrs(), "lab")
	restart := func(i int) {
		servers[i].free()
		d.servers[i].kill()
		d.servers[i].start()
	}
	c.run(append(c.processFaults(d),
		fault{"full disk of a server", func(ctx context.Context) {
			i := c.random.IntN(3)
			servers[i].fill()
			c.pause(ctx, 3*time.Second)
			restart(i)
		}},
		fault{"full disks of all servers", func(ctx context.Context) {
			for _, s := range servers {
				s.fill()
			}
			c.pause(ctx, 3*time.Second)
			for i := range servers {
				restart(i)
			}
		}},
		fault{"full disk of a gateway", func(ctx context.Context) {
			i := c.random.IntN(3)
			gateways[i].fill()
			c.pause(ctx, 3*time.Second)
			gateways[i].free()
			c.revive(d.gateways[i])
		}},
		fault{"kill a gateway on a full disk", func(ctx context.Context) {
			i := c.random.IntN(3)
			gateways[i].fill()
			d.gateways[i].kill()
			d.gateways[i].start()
			c.pause(ctx, time.Second)
			gateways[i].free()
			c.revive(d.gateways[i])
		}},
	))
}

// smallDisk is a file system that can be filled.
type smallDisk struct{ dir string }

// smallDiskBytes is the size of a smallDisk, more than the data of a run of some
// seconds, or of minutes, with three write-ahead logs of 18 MB, which the embedded log has
// for a moment, and 9 MB of each index. To fill it takes a second for 256 MiB.
func smallDiskBytes() int {
	if chaosLength() < time.Minute {
		return 128 << 20
	}
	return 256 << 20
}

// smallDisks mounts file systems in the folders 0, 1 … of a new folder. The test is
// skipped where that is not possible.
func smallDisks(t *testing.T, n int) (disks []smallDisk) {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		d := smallDisk{filepath.Join(dir, fmt.Sprint(i))}
		if err := os.Mkdir(d.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", smallDiskBytes()), "tmpfs", d.dir).CombinedOutput(); err != nil {
			t.Skipf("a small file system cannot be mounted here: %v: %s", err, out)
		}
		t.Cleanup(func() { _ = exec.Command("umount", "-l", d.dir).Run() })
		disks = append(disks, d)
	}
	return disks
}

func (d smallDisk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill takes all room that is left.
func (d smallDisk) fill() { _ = os.WriteFile(d.ballast(), make([]byte, smallDiskBytes()), 0o600) } // fails when the disk is full

func (d smallDisk) free() { _ = os.Remove(d.ballast()) }

var otherGateway = flag.String("chaos.other", "", "a meup-gateway of another version, for TestChaos_ClusterVersions")

// TestChaos_ClusterVersions restarts gateways as another version and back.
func TestChaos_ClusterVersions(t *testing.T) {
	t.Parallel()
	if *otherGateway == "" {
		t.Skip("-chaos.other is not set")
	}
	onlyLong(t)
	d := startGateways(t, chaosConfig)
	c := newChaos(t, d.addrs(), "lab")
	change := fault{"restart a gateway as the other version", func(ctx context.Context) {
		g := d.gateways[c.random.IntN(3)]
		own := filepath.Join(bin, "meup-gateway")
		if g.program == own {
			g.program = *otherGateway
		} else {
			g.program = own
		}
		c.kill(ctx, g)
	}}
	c.run(append(c.processFaults(d), change, change, change))
}

// processFaults kill and stop gateways and servers.
func (c *chaos) processFaults(d *cluster) []fault {
	someGateway := func() *gatewayProc { return d.gateways[c.random.IntN(3)] }
	return []fault{
		{"kill a gateway", func(ctx context.Context) { c.kill(ctx, someGateway()) }},
		{"terminate a gateway", func(ctx context.Context) { c.terminate(ctx, someGateway()) }},
		{"kill a server", func(ctx context.Context) {
			n := d.servers[c.random.IntN(3)]
			n.kill()
			c.pause(ctx, 3*time.Second)
			n.start()
		}},
		{"lose the quorum", func(ctx context.Context) {
			i := c.random.IntN(3)
			down := slices.Delete(slices.Clone(d.servers), i, i+1)
			for _, n := range down {
				n.kill()
			}
			c.pause(ctx, 3*time.Second)
			for _, n := range down {
				n.start()
			}
		}},
	}
}

func each(list []*proxy, do func(*proxy)) {
	for _, p := range list {
		do(p)
	}
}

// networkFaults cut, hold and delay connections.
func (c *chaos) networkFaults(d *cluster) []fault {
	return []fault{
		{"cut connections", func(ctx context.Context) {
			list := d.links[c.random.IntN(3)]
			for range 8 {
				each(list, (*proxy).cut)
				c.pause(ctx, 300*time.Millisecond)
			}
		}},
		{"cut off a gateway", func(ctx context.Context) {
			list := d.links[c.random.IntN(3)]
			each(list, (*proxy).hold)
			c.pause(ctx, 4*time.Second)
			each(list, (*proxy).release)
		}},
		{"a server lags, and a gateway's connections are cut", func(ctx context.Context) {
			i := c.random.IntN(3)
			lagging := slices.Clone(d.servers[i].routes)
			for j, n := range d.servers {
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
			list := d.links[c.random.IntN(3)]
			for range 8 {
				each(list, (*proxy).cut)
				c.pause(ctx, time.Second)
			}
			each(lagging, func(p *proxy) { p.lag(0) })
		}},
		{"cut off a server", func(ctx context.Context) {
			list := d.servers[c.random.IntN(3)].routes
			each(list, (*proxy).hold)
			c.pause(ctx, 4*time.Second)
			each(list, (*proxy).release)
		}},
	}
}
