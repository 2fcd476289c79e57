package natsjournal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// lines are the proxies between the last server of a cluster and each of the
// others, by the index of the other.
type lines [2][]*proxy

func (l lines) delay(node int, d time.Duration) {
	for _, p := range l[node] {
		p.delay.Store(int64(d))
	}
}

// startClusterWithLines starts three servers of which the last one reaches the
// others, and is reached, through proxies.
func startClusterWithLines(t *testing.T) ([]*natsServer, lines) {
	t.Helper()
	var l lines
	nodes := startClusterWith(t, func(nodes []*natsServer) {
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
		last.Cluster.Advertise = "127.0.0.1:1" // nothing but the proxies leads there
		for _, n := range nodes {
			n.opts.Cluster.PoolSize = -1
		}
	})
	return nodes, l
}

// A consumer on a server that lags behind the leader has nothing pending,
// while the leader has more. That is no proof that anything was removed.
func TestFollowerLags_NothingIsSkipped(t *testing.T) {
	nodes, lines := startClusterWithLines(t)
	three := func(o *Options) { o.Replicas = 3; o.streams = 1; o.AppendTimeout = 20 * time.Second }
	a, b := openTest(t, urls(nodes[:1]), three), openTest(t, urls(nodes[1:2]), three)
	ra, rb := record(a), record(b)
	lines.delay(leadStreamApart(t, nodes, a), time.Second)
	l := startLoad(t, "lab", a)
	lagging := 0
	for i := 0; i < 40 && lagging < 4; i++ {
		l.more(t, 20)
		before, _ := consumerOf(t, b)
		signal(b.streams[0].resync)
		var server string
		eventually(t, "the stream is followed anew", func() bool {
			var name string
			name, server = consumerOf(t, b)
			return name != "" && name != before
		})
		if server == nodes[2].opts.ServerName {
			lagging++
		}
	}
	l.more(t, 20)
	l.end()
	t.Logf("%d times on the lagging server; %d appended", lagging, l.ok.Load())
	if lagging == 0 {
		t.Error("no consumer was placed on the lagging server")
	}
	list := content(t, a, "lab")
	l.check(t, list)
	agree(t, "lab", len(list), []*Journal{a, b}, ra, rb)
}

// leadStreamApart moves the leader of the journal's first stream until one of
// the first two servers leads it and another one leads the cluster: what the
// last server learns of the cluster does not wait behind the messages of the
// stream then. It returns the index of the stream's leader.
func leadStreamApart(t *testing.T, nodes []*natsServer, j *Journal) int {
	t.Helper()
	leader := -1
	eventually(t, "stream and cluster have different leaders", func() bool {
		info, err := j.streams[0].info(t.Context())
		if err != nil || info.Cluster.Leader == "" {
			return false
		}
		leader = slices.IndexFunc(nodes, func(n *natsServer) bool { return n.opts.ServerName == info.Cluster.Leader })
		if leader < 2 && !nodes[leader].srv.JetStreamIsLeader() {
			return true
		}
		_, _ = j.nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+j.streams[0].name, nil, time.Second)
		return false
	})
	return leader
}

// consumerOf returns the consumer of the journal's first stream that was made
// last, and which server delivers its messages.
func consumerOf(t *testing.T, j *Journal) (name, server string) {
	t.Helper()
	handle, err := j.streams[0].open(t.Context())
	if err != nil {
		return "", ""
	}
	var last time.Time
	consumers := handle.ListConsumers(t.Context())
	for info := range consumers.Info() {
		if strings.HasPrefix(info.Name, "gateway-"+j.gateway) && info.Created.After(last) {
			last, name, server = info.Created, info.Name, info.Cluster.Leader
		}
	}
	return name, server
}
