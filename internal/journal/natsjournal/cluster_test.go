package natsjournal

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// startCluster starts three servers in a cluster.
func startCluster(t *testing.T) []*natsServer {
	t.Helper()
	nodes := newCluster(t)
	startNodes(t, nodes)
	return nodes
}

// newCluster returns three servers that are not started.
func newCluster(t *testing.T) []*natsServer {
	t.Helper()
	var nodes []*natsServer
	var routes []*url.URL
	for i := range 3 {
		port := testkit.FreePort(t)
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
		nodes = append(nodes, &natsServer{t: t, opts: &server.Options{
			ServerName: fmt.Sprintf("node-%d", i), Host: "127.0.0.1", Port: testkit.FreePort(t),
			JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port},
		}})
	}
	for _, n := range nodes {
		n.opts.Routes = routes
	}
	return nodes
}

// startNodes starts servers that are not started yet, and returns when all of them are a
// cluster.
func startNodes(t *testing.T, nodes []*natsServer) {
	t.Helper()
	for _, n := range nodes {
		if n.srv != nil {
			continue
		}
		srv, err := server.NewServer(n.opts.Clone())
		if err != nil {
			t.Fatal(err)
		}
		srv.Start()
		n.srv = srv
		t.Cleanup(n.stop)
	}
	testkit.Eventually(t, "the cluster has a leader and all members", func() bool {
		return slices.ContainsFunc(nodes, func(n *natsServer) bool {
			return n.srv.JetStreamIsLeader() && len(n.srv.JetStreamClusterPeers()) == len(nodes)
		})
	})
}

func streamInfo(t *testing.T, s *stream) (*jetstream.StreamInfo, error) {
	t.Helper()
	handle, err := s.open(t.Context())
	if err != nil {
		return nil, err
	}
	return handle.CachedInfo(), nil
}

func urls(nodes []*natsServer) string {
	var list []string
	for _, n := range nodes {
		list = append(list, n.url())
	}
	return strings.Join(list, ",")
}

// The leader of the stream is stopped under load, and restarted.
func TestStreamLeaderStopsUnderLoad(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t)
	three := func(o *Options) { o.Replicas = 3 }
	a, b := openTest(t, urls(nodes), three), openTest(t, urls(nodes), three)
	ra, rb := record(a), record(b)
	l := startLoad(t, "lab", a, b)
	l.more(t, 100)
	for range 2 {
		node := streamLeader(t, a, nodes, "lab")
		t.Logf("stop %s", node.opts.ServerName)
		node.stop()
		l.more(t, 100)
		node.start()
		testkit.Eventually(t, "all replicas are current", func() bool {
			info, err := streamInfo(t, a.streams[a.names.Bucket("lab")])
			if err != nil || info.Cluster == nil || info.Cluster.Leader == "" {
				return false
			}
			for _, r := range info.Cluster.Replicas {
				if !r.Current || r.Offline {
					return false
				}
			}
			return info.Config.Replicas == 3 && len(info.Cluster.Replicas) == 2
		})
	}
	l.more(t, 100)
	l.end()
	t.Logf("%d appended, %d not", l.ok.Load(), l.failed.Load())
	list := content(t, a, "lab")
	testkit.Eventually(t, "both have all", func() bool {
		list = content(t, a, "lab")
		return len(list) >= len(l.acked) && slices.Equal(content(t, b, "lab"), list)
	})
	l.check(t, list)
	waitForAgreement(t, "lab", len(list), []*Journal{a, b}, ra, rb)
	c := openTest(t, urls(nodes), three)
	waitForAgreement(t, "lab", len(list), []*Journal{a, b, c})
}

// Without a majority nothing is acknowledged, and Ready returns an error.
func TestNoMajority(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t)
	j := openTest(t, urls(nodes), func(o *Options) { o.Replicas = 3; o.streams = 1 })
	persistAppend(t, j, "lab", chat("a", "alice"))
	// The leader of stream and cluster stays: without it, the servers would wait for an election.
	leader := moveLeader(t, nodes, j, func(leader int) bool { return nodes[leader].srv.JetStreamIsLeader() })
	others := slices.Delete(slices.Clone(nodes), leader, leader+1)
	for _, n := range others {
		n.stop()
	}
	testkit.Eventually(t, "not ready", func() bool { return j.Ready() != nil })
	l := &load{unknown: make(map[string]bool), timeout: time.Second}
	l.append(t, j, "lab", "b")
	if l.failed.Load() != 1 {
		t.Error("acknowledged by a minority")
	}
	l.timeout = testkit.Patience
	others[0].start()
	testkit.Eventually(t, "ready again", func() bool { return j.Ready() == nil })
	testkit.Eventually(t, "appends again", func() bool { l.append(t, j, "lab", "c"); return l.ok.Load() > 0 })
}

func TestFewerReplicasThanAsked(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	j := openTest(t, n.url(), func(o *Options) { o.Replicas = 3 })
	mustAppend(t, j, "lab", chat("a", "alice"))
	if got := j.replicas.get(); got != 1 {
		t.Errorf("%d replicas", got)
	}
	r := replicas{n: 5, wait: time.Hour}
	for _, want := range []int{3, 1, 1} {
		r.tried = time.Now().Add(-r.wait)
		r.reduce(r.get(), &jetstream.APIError{ErrorCode: codeNoPeers})
		if r.get() != want {
			t.Errorf("%d replicas, want %d", r.get(), want)
		}
	}
}

// A log that was created before the third server has started gets all of its
// replicas when the server is there, without a restart of the gateway.
func TestReplicasAdded(t *testing.T) {
	t.Parallel()
	nodes := newCluster(t)
	for i, n := range nodes { // without a route to itself, a server expects only two
		n.opts.Routes = slices.Delete(slices.Clone(n.opts.Routes), i, i+1)
	}
	startNodes(t, nodes[:2])
	three := func(o *Options) { o.Replicas = 3; o.addEvery, o.peersWait = 100*time.Millisecond, time.Millisecond }
	j := openTest(t, urls(nodes), three)
	persistAppend(t, j, "lab", chat("a", "alice"))
	replicasOf := func() (n []int) {
		for _, s := range j.streams {
			if info, err := streamInfo(t, s); err == nil {
				n = append(n, info.Config.Replicas)
			}
		}
		return n
	}
	if n := replicasOf(); slices.Contains(n, 3) {
		t.Fatalf("replicas %v of a cluster that lacks a server", n)
	}
	t.Cleanup(nodes[2].stop)
	nodes[2].start()
	testkit.Eventually(t, "all streams have three replicas", func() bool { return slices.Equal(replicasOf(), []int{3, 3}) })
	persistAppend(t, j, "lab", chat("b", "alice"))
}

// A gateway that is connected to a server which does not serve the log connects to another
// one.
func TestUnservingServer(t *testing.T) {
	t.Parallel()
	n, other := startNATS(t), &natsServer{t: t, opts: &server.Options{
		ServerName: "without-streams", Host: "127.0.0.1", Port: testkit.FreePort(t), NoLog: true, NoSigs: true,
	}}
	other.start()
	t.Cleanup(other.stop)
	j := openTest(t, urls([]*natsServer{other, n}), func(o *Options) { o.isolation = 100 * time.Millisecond },
		nats.DontRandomize(), nats.IgnoreDiscoveredServers())
	if name := j.nc.ConnectedServerName(); name == other.opts.ServerName || j.nc.Stats().Reconnects == 0 {
		t.Errorf("connected to %s after %d reconnects", name, j.nc.Stats().Reconnects)
	}
	mustAppend(t, j, "lab", chat("a", "alice"))
}

// A server that lost the other servers serves nothing. A gateway that is
// connected to it connects to another one.
func TestIsolatedServer(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	nodes, lines := startClusterWithLines(t)
	three := func(o *Options) { o.Replicas, o.streams, o.isolation = 3, 1, 200*time.Millisecond }
	// The rest of the cluster keeps its leaders: an election would take seconds.
	leadStreamApart(t, nodes, openTest(t, urls(nodes), three))
	slices.Reverse(nodes) // the one with the lines is the first that gateways connect to
	j := openTest(t, urls(nodes), three, nats.DontRandomize(), nats.IgnoreDiscoveredServers())
	persistAppend(t, j, "lab", chat("a", "alice"))
	if name := j.nc.ConnectedServerName(); name != nodes[0].opts.ServerName {
		t.Fatalf("connected to %s", name)
	}
	lines.cut()
	testkit.Eventually(t, "the gateway is connected to another server", func() bool { return j.nc.ConnectedServerName() != nodes[0].opts.ServerName && j.Ready() == nil })
	persistAppend(t, j, "lab", chat("b", "alice"))
	late := openTest(t, urls(nodes), three, nats.DontRandomize(), nats.IgnoreDiscoveredServers()) // finds the server isolated
	waitForAgreement(t, "lab", 2, []*Journal{j, late})
}

// Too few servers for the replicas of one stream do not keep another stream from
// replicas that the cluster has a place for.
func TestReplicasAdded_ToEachStream(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t)
	for name, full := range map[string]int{"FIRST": 0, "SECOND": 1} { // the stream that has three replicas
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			j := openTest(t, urls(nodes), func(o *Options) { o.Prefix, o.ReplicaDir = name, dir })
			s := j.streams[full]
			if _, err := api(t, j).UpdateStream(t.Context(), s.config(3)); err != nil {
				t.Fatal(err)
			}
			closeTest(t, j)
			var log testkit.Log
			j = openTest(t, urls(nodes), func(o *Options) {
				o.Prefix, o.ReplicaDir, o.Replicas, o.addEvery = name, dir, 5, 100*time.Millisecond
				o.Logger = slog.New(slog.NewTextHandler(io.MultiWriter(&log, testkit.Output(t)), nil))
			})
			testkit.Eventually(t, "all streams have three replicas", func() bool {
				return !slices.ContainsFunc(j.streams, func(s *stream) bool {
					info, err := streamInfo(t, s)
					return err != nil || info.Config.Replicas != 3
				})
			})
			if line := log.Wait(t, "as many replicas as configured"); !strings.Contains(line, "used=3") {
				t.Error(line)
			}
		})
	}
}
