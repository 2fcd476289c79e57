package natsjournal

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/kit/natsconn"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// A gap in the delivered messages is skipped only if the stream proves that
// they were removed.
func TestProveRemoved(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	j := openTest(t, n.url(), func(o *Options) { o.streams = 1 })
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} { // messages 1 to 6
		mustAppend(t, j, "lab", chat(id, "alice"))
	}
	s := j.streams[0]
	handle, err := s.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range []uint64{4, 6} {
		if err := handle.DeleteMsg(testkit.Deadline(t), seq); err != nil {
			t.Fatal(err)
		}
	}
	if err := handle.Purge(testkit.Deadline(t), jetstream.WithPurgeSequence(3)); err != nil { // 1 and 2
		t.Fatal(err)
	}
	handle, err = s.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	probe := &stream{j: j, name: s.name, handle: handle, first: handle.CachedInfo().State.FirstSeq}
	for name, test := range map[string]struct {
		from, to uint64
		want     error
	}{
		"no gap":                             {5, 5, nil},
		"below the first sequence":           {1, 3, nil},
		"deleted one by one":                 {4, 5, nil},
		"one is there":                       {3, 5, errUnproven},
		"the message after the gap is gone":  {6, 7, errUnproven},
		"the leader does not have that much": {7, 20, errUnproven},
	} {
		t.Run(name, func(t *testing.T) {
			if err := probe.proveRemoved(t.Context(), test.from, test.to); !errors.Is(err, test.want) {
				t.Errorf("messages %d to %d: %v, want %v", test.from, test.to-1, err, test.want)
			}
		})
	}
	if last, err := probe.lastStored(t.Context(), handle); err != nil || last != 5 {
		t.Errorf("last stored message %d, %v", last, err)
	}

	// A gateway that reads the whole stream again ends at 5, and then applies the
	// message after 6.
	b := openTest(t, n.url(), func(o *Options) { o.streams = 1 })
	mustAppend(t, b, "lab", chat("g", "alice"))
	if got := content(t, b, "lab"); len(got) != 3 {
		t.Errorf("read anew: %q", got)
	}
}

// A feed that misses messages which the stream has stops there.
func TestApplyContiguous_UnprovenGap(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	j := openTest(t, n.url(), func(o *Options) { o.streams = 1 })
	for _, id := range []string{"a", "b", "c"} {
		mustAppend(t, j, "lab", chat(id, "alice"))
	}
	handle, err := j.streams[0].open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	probe := &stream{j: j, handle: handle, local: &replicaStream{Pos: position{Seq: 1}}}
	if err := probe.applyContiguous(t.Context(), []appliedMessage{{Seq: 3}}); !errors.Is(err, errUnproven) || probe.local.Pos.Seq != 1 {
		t.Errorf("position %d, %v", probe.local.Pos.Seq, err)
	}
}

// A check that started before messages were applied is no sign of a loss.
func TestAssess_LateResult(t *testing.T) {
	s := &stream{local: &replicaStream{Pos: position{Created: 1, Seq: 20}}}
	s.setHealth(nil)
	info := &jetstream.StreamInfo{Created: time.Unix(0, 1), State: jetstream.StreamState{LastSeq: 15, Msgs: 15}}
	for name, test := range map[string]struct {
		pos  uint64 // when the check started
		want error
	}{
		"before messages were applied": {10, nil},
		"of a shorter stream":          {16, errAgain},
	} {
		t.Run(name, func(t *testing.T) {
			if err := s.assess(checkResult{info: info, pos: test.pos}, new(feed), new(checks), true); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

// A stream is served while a feed delivers, even if its checks get no answer in
// time, but not by a server that knows that the stream has no leader.
func TestService(t *testing.T) {
	for name, test := range map[string]struct {
		health    error
		following bool
		want      natsconn.Service
	}{
		"healthy":                        {nil, true, natsconn.Served},
		"checks get no answer":           {errNoAnswer, true, natsconn.Served},
		"no answer and no feed":          {errNoAnswer, false, natsconn.Unserved},
		"no leader, feed of this server": {errNoLeader, true, natsconn.Unserved},
		"no leader of the cluster":       {&jetstream.APIError{ErrorCode: codeNotAvailable}, true, natsconn.Unserved},
		"is being read":                  {errCatchingUp, false, natsconn.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stream{name: "s"}
			s.setHealth(test.health)
			s.following.Store(test.following)
			if got := s.service(); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// A server is left when it does not serve most streams: the consumers on a server that has
// lost the others still send heartbeats.
func TestService_MostStreams(t *testing.T) {
	nc := dial(t, openAccount(t).url()+",nats://127.0.0.1:1", nats.DontRandomize())
	testkit.Eventually(t, "connected", nc.IsConnected)
	for name, test := range map[string]struct {
		served, unserved, read int
		want                   natsconn.Service
	}{
		"a third is on the server":     {21, 43, 0, natsconn.Unserved},
		"elections of a third":         {43, 21, 0, natsconn.Served},
		"half":                         {32, 32, 0, natsconn.Served},
		"most, and the rest is read":   {0, 40, 24, natsconn.Unserved},
		"a part, and the rest is read": {0, 10, 54, natsconn.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			j := &Journal{nc: nc}
			for health, count := range map[error]int{nil: test.served, errNoAnswer: test.unserved, errCatchingUp: test.read} {
				for range count {
					s := &stream{name: "s"}
					s.setHealth(health)
					j.streams = append(j.streams, s)
				}
			}
			if got := j.service(); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// After an outage all gateways are connected to the server that was there first. Later they
// are not.
func TestSpread(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	n := openAccount(t)
	first, second := startProxy(t, n.address()), startProxy(t, n.address())
	var gateways []*Journal
	for range 16 { // each of them leaves with a probability of a half
		gateways = append(gateways, openTest(t, n.urlAt(first.address())+","+n.urlAt(second.address()),
			func(o *Options) { o.streams, o.isolation = 1, 5*time.Second }, nats.IgnoreDiscoveredServers()))
	}
	for _, p := range []*proxy{first, second} {
		p.down.Store(true)
		p.cut()
	}
	testkit.Eventually(t, "the outage lasts", func() bool {
		for _, j := range gateways {
			j.mu.Lock()
			since := j.downSince
			j.mu.Unlock()
			if since.IsZero() || time.Since(since) < outage {
				return false
			}
		}
		return true
	})
	first.down.Store(false)
	testkit.Eventually(t, "all gateways are connected", func() bool {
		return !slices.ContainsFunc(gateways, func(j *Journal) bool { return !j.nc.IsConnected() })
	})
	second.down.Store(false)
	testkit.Eventually(t, "a gateway is connected to the other server, and all are ready", func() bool {
		return slices.ContainsFunc(gateways, func(j *Journal) bool { return strings.HasSuffix(j.nc.ConnectedUrl(), second.address()) }) &&
			!slices.ContainsFunc(gateways, func(j *Journal) bool { return j.Ready() != nil })
	})
}
