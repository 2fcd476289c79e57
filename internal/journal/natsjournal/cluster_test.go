package natsjournal

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/testkit"
)

// startCluster starts three servers in a cluster.
func startCluster(t *testing.T) []*natsServer {
	t.Helper()
	return startClusterWith(t, func([]*natsServer) {})
}

// startClusterWith starts three servers, after a call of change with them.
func startClusterWith(t *testing.T, change func([]*natsServer)) []*natsServer {
	t.Helper()
	var nodes []*natsServer
	var routes []*url.URL
	for i := range 3 {
		port := freePort(t)
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
		nodes = append(nodes, &natsServer{t: t, opts: &server.Options{
			ServerName: fmt.Sprintf("node-%d", i), Host: "127.0.0.1", Port: freePort(t),
			JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port},
		}})
	}
	for _, n := range nodes {
		n.opts.Routes = routes
	}
	change(nodes)
	for _, n := range nodes {
		srv, err := server.NewServer(n.opts.Clone())
		if err != nil {
			t.Fatal(err)
		}
		srv.Start()
		n.srv = srv
		t.Cleanup(n.stop)
	}
	testkit.Eventually(t, "the cluster has a leader and three members", func() bool {
		return slices.ContainsFunc(nodes, func(n *natsServer) bool {
			return n.srv.JetStreamIsLeader() && len(n.srv.JetStreamClusterPeers()) == 3
		})
	})
	return nodes
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
	three := func(o *Options) { o.Replicas = 3; o.AppendTimeout = 20 * time.Second }
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
			info, err := streamInfo(t, a.streams[a.names.bucket("lab")])
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
	j := openTest(t, urls(nodes), func(o *Options) { o.Replicas = 3; o.AppendTimeout = time.Second })
	persistAppend(t, j, "lab", chat("a", "alice"))
	nodes[0].stop()
	nodes[1].stop()
	testkit.Eventually(t, "not ready", func() bool { return j.Ready() != nil })
	l := &load{unknown: make(map[string]bool)}
	l.append(t, j, "lab", "b")
	if l.failed.Load() != 1 {
		t.Error("acknowledged by a minority")
	}
	nodes[0].start()
	testkit.Eventually(t, "ready again", func() bool { return j.Ready() == nil })
	testkit.Eventually(t, "appends again", func() bool { l.append(t, j, "lab", "c"); return l.ok.Load() > 0 })
}

func TestFewerReplicasThanAsked(t *testing.T) {
	t.Parallel()
	n := startNATS(t)
	j := openTest(t, n.url(), func(o *Options) { o.Replicas = 3 })
	mustAppend(t, j, "lab", chat("a", "alice"))
	if got := j.replicas.get(); got != 1 {
		t.Errorf("%d replicas", got)
	}
	r := replicas{n: 5}
	for _, want := range []int{3, 1, 1} {
		r.tried = time.Now().Add(-peersWait)
		r.reduce(r.get(), &jetstream.APIError{ErrorCode: codeNoPeers})
		if r.get() != want {
			t.Errorf("%d replicas, want %d", r.get(), want)
		}
	}
}
