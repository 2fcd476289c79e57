package natsjournal

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// lines holds the proxies between the last server of a cluster and each of the
// others, by the index of the other.
type lines [2][]*proxy

func (l lines) delay(node int, d time.Duration) {
	for _, p := range l[node] {
		p.delay.Store(int64(d))
	}
}

// cut closes the connections for good.
func (l lines) cut() {
	for _, p := range slices.Concat(l[:]...) {
		p.down.Store(true)
		p.cut()
	}
}

// startClusterWithLines starts three servers, with proxies between the last one
// and the others, in both directions. The last one does not lead the cluster.
func startClusterWithLines(t *testing.T) ([]*natsServer, lines) {
	t.Helper()
	var l lines
	nodes := newCluster(t)
	last := nodes[2].opts
	address := func(n *natsServer) string { return fmt.Sprintf("127.0.0.1:%d", n.opts.Cluster.Port) }
	direct := nodes[0].opts.Routes[:2]
	last.Routes = nil
	for i, n := range nodes[:2] {
		out, in := startProxy(t, address(n)), startProxy(t, address(nodes[2]))
		l[i] = []*proxy{out, in}
		last.Routes = append(last.Routes, out.route())
		n.opts.Routes = append(direct[:2:2], in.route())
	}
	for _, n := range nodes {
		n.opts.Cluster.PoolSize = -1
		n.opts.Cluster.Advertise = "127.0.0.1:1" // servers learn no address but the configured ones
	}
	startNodes(t, nodes)
	for nodes[2].srv.JetStreamIsLeader() { // it hands the lead over when it stops
		nodes[2].stop()
		nodes[2].start()
		startNodes(t, nodes)
	}
	return nodes, l
}

// A consumer on a server that lags has nothing pending, while
// the leader has more. That does not prove that messages were removed.
func TestFollowerLags_NothingIsSkipped(t *testing.T) {
	t.Parallel()
	nodes, lines := startClusterWithLines(t)
	three := func(o *Options) { o.Replicas = 3; o.streams = 1 }
	servers := feedServers{testLog(t).Handler(), make(chan string, 1000)}
	a := openTest(t, urls(nodes[:1]), func(o *Options) { three(o); o.Logger = slog.New(servers) })
	leader := leadStreamApart(t, nodes, a)
	last := nodes[2].opts.ServerName
	testkit.Eventually(t, "appends do not wait for the last server", func() bool { return followAnew(t, a, servers) != last })
	servers.got = make(chan string, 1000)
	b := openTest(t, urls(nodes[1:2]), func(o *Options) { three(o); o.Logger = slog.New(servers) })
	ra, rb := record(a), record(b)
	lines.delay(leader, 200*time.Millisecond)
	l := startLoad(t, "lab", a)
	for range 3 {
		l.more(t, 20)
		testkit.Eventually(t, "the stream is followed at the lagging server", func() bool { return followAnew(t, b, servers) == last })
		l.more(t, 20)
		testkit.Eventually(t, "the stream is followed elsewhere", func() bool { return followAnew(t, b, servers) != last })
	}
	l.more(t, 20)
	l.end()
	t.Logf("%d appended", l.ok.Load())
	list := content(t, a, "lab")
	l.check(t, list)
	waitForAgreement(t, "lab", len(list), []*Journal{a, b}, ra, rb)
}

// leadStreamApart moves the leader of the journal's first stream until one of
// the first two servers leads it and another one leads the cluster. The last
// server's cluster updates then do not wait for the messages of the stream. It
// returns the index of the stream's leader.
func leadStreamApart(t *testing.T, nodes []*natsServer, j *Journal) int {
	t.Helper()
	return moveLeader(t, nodes, j, func(leader int) bool { return leader < 2 && !nodes[leader].srv.JetStreamIsLeader() })
}

// moveLeader moves the leader of the journal's first stream until it suits, and returns
// its index.
func moveLeader(t *testing.T, nodes []*natsServer, j *Journal, suits func(leader int) bool) int {
	t.Helper()
	leader := -1
	testkit.Eventually(t, "the stream has another leader", func() bool {
		info, err := streamInfo(t, j.streams[0])
		if err != nil || info.Cluster.Leader == "" {
			return false
		}
		leader = slices.IndexFunc(nodes, func(n *natsServer) bool { return n.opts.ServerName == info.Cluster.Leader })
		if suits(leader) {
			return true
		}
		_, _ = j.nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+j.streams[0].name, nil, time.Second)
		return false
	})
	return leader
}

// feedServers is a log handler that collects the servers that deliver to a
// journal, in order.
type feedServers struct {
	slog.Handler
	got chan string
}

func (h feedServers) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == msgFollowed {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "server" {
				h.got <- a.Value.String()
			}
			return true
		})
	}
	return h.Handler.Handle(ctx, r)
}

func (h feedServers) WithAttrs(list []slog.Attr) slog.Handler {
	return feedServers{h.Handler.WithAttrs(list), h.got}
}

// The server that delivers a stream to a gateway is cut off: the gateway's
// readers continue from another server. The time that takes is logged.
func TestConsumerServerDies_ReadersGoOn(t *testing.T) {
	t.Parallel()
	nodes, lines := startClusterWithLines(t)
	three := func(o *Options) { o.Replicas = 3; o.streams = 1 }
	servers := feedServers{testLog(t).Handler(), make(chan string, 1000)}
	a := openTest(t, urls(nodes[:1]), three)
	b := openTest(t, urls(nodes[1:2]), func(o *Options) { three(o); o.Logger = slog.New(servers) })
	leadStreamApart(t, nodes, a) // the last server leads nothing
	testkit.Eventually(t, "the stream is followed at the last server", func() bool { return followAnew(t, b, servers) == nodes[2].opts.ServerName })
	persistAppend(t, a, "lab", chat("before", "alice"))
	persistBarrier(t, b, "lab")
	ra := record(b)
	for _, l := range lines {
		for _, p := range l {
			p.down.Store(true)
			p.cut()
		}
	}
	began := time.Now()
	mustAppend(t, a, "lab", chat("after", "alice"))
	appended := time.Since(began)
	testkit.Eventually(t, "the reader has it", func() bool { return len(ra.got("lab")) == 1 })
	t.Logf("appended after %s, delivered after %s", appended.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
}

// A gateway whose consumer is on a follower can deliver an entry before the
// stream's leader has applied it. A Barrier at another gateway waits for it all
// the same.
func TestBarrier_LeaderAppliesLater(t *testing.T) {
	t.Parallel()
	nodes, _ := startClusterWithLines(t)
	three := func(o *Options) { o.Replicas = 3; o.streams = 1 }
	servers := feedServers{testLog(t).Handler(), make(chan string, 1000)}
	b := openTest(t, urls(nodes[:1]), three)
	a := openTest(t, urls(nodes[1:2]), func(o *Options) { three(o); o.Logger = slog.New(servers) })
	leader := nodes[leadStreamApart(t, nodes, a)].opts.ServerName
	testkit.Eventually(t, "the stream is followed at a follower", func() bool { return followAnew(t, a, servers) != leader })
	rounds := 100
	if testkit.IsSlow() {
		rounds = 500
	}
	for i := range rounds {
		d := chat(fmt.Sprintf("m-%d", i), "alice")
		persistAppend(t, a, "lab", d)
		persistBarrier(t, b, "lab")
		if _, err := b.Lookup(t.Context(), "lab", d.Envelope.ID); err != nil {
			t.Fatalf("%s after the barrier: %v", d.Envelope.ID, err)
		}
	}
}

// followAnew opens a new feed of the journal's first stream and returns the
// server that delivers.
func followAnew(t *testing.T, j *Journal, servers feedServers) string {
	t.Helper()
	s := j.streams[0]
	testkit.Eventually(t, "the stream is followed", func() bool { return len(s.resync) == 0 && s.following.Load() })
	for len(servers.got) > 0 {
		<-servers.got
	}
	signal(s.resync)
	return <-servers.got
}
