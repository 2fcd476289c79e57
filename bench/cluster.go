//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clusterSize is the number of gateways, and of NATS servers, of a cluster.
const clusterSize = 3

// cluster is three NATS servers and three gateways.
type cluster struct {
	ctx      context.Context //nolint:containedctx // whose end kills the processes
	dir      string
	nodes    []natsNode
	servers  []*process
	gateways []*process
}

func startCluster(ctx context.Context, binary, dataRoot string) (c *cluster, err error) {
	c = &cluster{ctx: ctx}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop())
		}
	}()
	c.dir, err = os.MkdirTemp(dataRoot, "meup-bench-")
	if err != nil {
		return c, fmt.Errorf("make a folder for the logs: %w", err)
	}
	ports, err := freePorts(2 * clusterSize)
	if err != nil {
		return c, err
	}
	var clients []string
	for i := range clusterSize {
		n := natsNode{Name: "n" + strconv.Itoa(i), Dir: filepath.Join(c.dir, "n"+strconv.Itoa(i)), Client: ports[i], Routes: ports[clusterSize+i]}
		for j := range clusterSize {
			if j != i {
				n.Others = append(n.Others, fmt.Sprintf("nats://127.0.0.1:%d", ports[clusterSize+j]))
			}
		}
		c.nodes = append(c.nodes, n)
		clients = append(clients, fmt.Sprintf("nats://127.0.0.1:%d", n.Client))
		c.servers = append(c.servers, nil)
		if err := c.startServer(i); err != nil {
			return c, err
		}
	}
	file := filepath.Join(c.dir, "meup.yaml")
	if err := os.WriteFile(file, []byte(gatewayConfig("", 0)), 0o600); err != nil {
		return c, err
	}
	for i := range clusterSize {
		g := &process{name: gatewayName, cmd: exec.CommandContext(ctx, binary, "serve", "--config", file, "--listen", "127.0.0.1:0",
			"--nats", strings.Join(clients, ","), "--data", filepath.Join(c.dir, "g"+strconv.Itoa(i)), "--log-format", "json")}
		if err := g.start(); err != nil {
			return c, err
		}
		c.gateways = append(c.gateways, g)
	}
	return c, nil
}

// startServer starts a NATS server, again with its store.
func (c *cluster) startServer(i int) error {
	node, err := json.Marshal(c.nodes[i])
	if err != nil {
		return err
	}
	s, err := startSelf(c.ctx, jetStreamName, natsEnv+"="+string(node))
	if err == nil {
		c.servers[i] = s
	}
	return err
}

func (c *cluster) stop() error {
	var err error
	for _, s := range slices.Concat(c.gateways, c.servers) {
		if s != nil {
			err = errors.Join(err, s.stop())
		}
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}

// freePorts returns free ports, for servers that must know one another's.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, failed := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // local and immediate
		if failed != nil {
			return nil, errors.Join(err, failed)
		}
		defer func() { err = errors.Join(err, l.Close()) }()
		address, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			return nil, fmt.Errorf("%v is no TCP address", l.Addr())
		}
		ports = append(ports, address.Port)
	}
	return ports, err
}

// clusterLoad measures a cluster: the rate with all receivers at other gateways than
// the sender, the latency to another gateway, and how long nothing is admitted after
// a NATS server was killed.
func clusterLoad(_ *process, o *options) (figures, error) {
	c, err := startCluster(o.ctx, o.gateway, o.data)
	if err != nil {
		return nil, err
	}
	f, err := c.measure(o)
	for i, g := range c.gateways {
		if err != nil {
			err = fmt.Errorf("%w; the log of gateway %d ends with:\n%s", err, i, g.log)
		}
	}
	return f, errors.Join(err, c.stop())
}

func (c *cluster) measure(o *options) (figures, error) {
	cr, err := c.gather(9)
	if err != nil {
		return nil, err
	}
	p, _, sent, err := cr.steady(c.gateways[0], o, "cluster", chat(256, ""), 64)
	cr.close()
	if err != nil {
		return nil, err
	}
	f := figures{"envelopes": p.perSecond(sent)}
	cr, err = c.gather(3)
	if err != nil {
		return nil, err
	}
	defer cr.close()
	w := newStopwatch(cr)
	if err := w.run(o.seconds); err != nil {
		return nil, err
	}
	slices.Sort(w.took)
	f["p50"], f["p99"] = quantile(w.took, 0.50), quantile(w.took, 0.99)
	gaps, err := c.failover(w)
	if err != nil {
		return nil, err
	}
	f["failover"], f["worst"] = quantile(gaps, 0.5)/1000, quantile(gaps, 1)/1000
	return f, nil
}

// rosterQuiet is longer than gateways take to announce connections to the others.
const rosterQuiet = 3 * time.Second

// gather connects a sender to the first gateway and receivers to the others.
func (c *cluster) gather(receivers int) (*crowd, error) {
	from := make([]*process, receivers+1)
	seats := make([]seat, receivers+1)
	for i := range seats {
		from[i], seats[i] = c.gateways[0], seat{"bench", participantName(0), ""}
		if i > 0 {
			from[i], seats[i].participant = c.gateways[1+i%2], participantName(1)
		}
	}
	cr, err := gatherAt(func(i int) *process { return from[i] }, seats, rosterQuiet)
	if err == nil {
		cr.senders = cr.conns[:1]
	}
	return cr, err
}

// failover kills each NATS server in turn, with one envelope in flight, and starts
// it again. It returns how long the first envelope after each kill was under way
// to the last receiver, sorted.
func (c *cluster) failover(w *stopwatch) ([]time.Duration, error) {
	var gaps []time.Duration
	for i := range c.servers {
		killed := time.Now()
		if err := c.servers[i].cmd.Process.Kill(); err != nil {
			return nil, err
		}
		<-c.servers[i].exited
		if err := w.once(); err != nil {
			return nil, err
		}
		gaps = append(gaps, time.Since(killed))
		if err := c.startServer(i); err != nil {
			return nil, err
		}
		for range 200 { // the server catches up meanwhile
			if err := w.once(); err != nil {
				return nil, err
			}
			time.Sleep(latencyInterval)
		}
	}
	slices.Sort(gaps)
	return gaps, nil
}
