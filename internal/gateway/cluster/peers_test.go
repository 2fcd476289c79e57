package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/meup-protocol/meup/internal/kit/natsconn"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// startServer starts a NATS server; port -1 selects a free one.
func startServer(t *testing.T, port int) *server.Server {
	t.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	if !srv.ReadyForConnections(testkit.Patience) {
		t.Fatal("NATS does not start")
	}
	t.Cleanup(func() { stopServer(srv) })
	return srv
}

func stopServer(srv *server.Server) {
	srv.Shutdown()
	srv.WaitForShutdown()
}

func connect(t *testing.T, url string) *nats.Conn {
	t.Helper()
	nc, err := natsconn.Connect(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	testkit.Eventually(t, "connected", nc.IsConnected)
	return nc
}

// longExpiry is longer than a busy machine delays heartbeats.
const longExpiry = time.Hour

// join creates a gateway with short intervals.
func join(t *testing.T, nc *nats.Conn) *Peers {
	t.Helper()
	return new(clock).join(t, nc)
}

// clock is the time of the gateways that join by it: the real one, and what is added.
type clock struct{ added atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.added.Load())) }

// join is the function join, for a gateway with this clock.
func (c *clock) join(t *testing.T, nc *nats.Conn) *Peers {
	t.Helper()
	p, err := Join(Options{
		Conn: nc, Interval: 100 * time.Millisecond, Expiry: longExpiry, Now: c.now,
		Logger: slog.New(slog.NewTextHandler(testkit.Output(t), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leave(t, p) })
	return p
}

// expire adds the time after which p declares a silent gateway dead. It does so in steps, because
// p would take a single one for an outage. In each step, p receives its own heartbeats and those
// of the live gateways.
func (c *clock) expire(t *testing.T, p *Peers, alive ...*Peers) {
	t.Helper()
	awaitHeartbeats(t, p, c.now(), alive...) // an outage that has just ended is over for p
	for range 3 {
		c.added.Add(int64(longExpiry * 2 / 5))
		awaitHeartbeats(t, p, c.now(), alive...)
	}
}

// awaitHeartbeats waits until p has heard itself and these others after a time.
func awaitHeartbeats(t *testing.T, p *Peers, after time.Time, others ...*Peers) {
	t.Helper()
	testkit.Eventually(t, "heartbeats arrive", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, o := range others {
			if x := p.table.peers[o.gateway]; x == nil || x.lastSeen.Before(after) {
				return false
			}
		}
		return p.table.lastSelfHeartbeat.After(after)
	})
}

func leave(t *testing.T, p *Peers) {
	t.Helper()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func roster(entries ...any) []RosterEntry {
	var here []RosterEntry
	for i := 0; i < len(entries); i += 2 {
		here = append(here, RosterEntry{ID: protocol.ParticipantID(entries[i].(string)), Connections: entries[i+1].(int)})
	}
	return here
}

// awaitRoster waits until p has these participants of the others.
func awaitRoster(t *testing.T, p *Peers, space string, want []RosterEntry) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%s is %v", space, want), func() bool { return slices.Equal(p.Remote(space), want) })
}

func TestRosters(t *testing.T) {
	url := startServer(t, -1).ClientURL()
	a, b := join(t, connect(t, url)), join(t, connect(t, url))
	a.SetRoster("lab", roster("bob", 1, "alice", 2))
	b.SetRoster("lab", roster("alice", 1))
	awaitRoster(t, b, "lab", roster("alice", 2, "bob", 1))
	awaitRoster(t, a, "lab", roster("alice", 1))

	// A third gateway receives the earlier announcements and adds them up.
	c := join(t, connect(t, url))
	awaitRoster(t, c, "lab", roster("alice", 3, "bob", 1))
	c.SetRoster("lab", roster("carol", 1))
	awaitRoster(t, a, "lab", roster("alice", 1, "carol", 1))

	a.SetRoster("lab", nil)
	awaitRoster(t, c, "lab", roster("alice", 1))
	leave(t, c)
	awaitRoster(t, a, "lab", roster("alice", 1))
}

func TestOnRoster(t *testing.T) {
	url := startServer(t, -1).ClientURL()
	a, b := join(t, connect(t, url)), join(t, connect(t, url))
	a.SetRoster("old", roster("alice", 1))
	awaitRoster(t, b, "old", roster("alice", 1))
	awaitHeartbeats(t, b, time.Now()) // b has finished handling the change, which it would otherwise report again

	calls := make(chan string, 100)
	b.OnRoster(func(space string, here []RosterEntry) { calls <- fmt.Sprint(space, here) })
	next := func(want string) {
		t.Helper()
		select {
		case got := <-calls:
			if got != want {
				t.Errorf("told %s, want %s", got, want)
			}
		case <-time.After(testkit.Patience):
			t.Fatalf("not told %s", want)
		}
	}
	next("old[{alice 1 false}]")
	a.SetRoster("new", roster("alice", 2))
	next("new[{alice 2 false}]")
	a.SetRoster("new", roster("alice", 2)) // no change
	a.SetRoster("new", nil)
	next("new[]")
	leave(t, a)
	next("old[]")
}

func TestLiveMessages(t *testing.T) {
	url := startServer(t, -1).ClientURL()
	shared := connect(t, url)
	a, b, c := join(t, connect(t, url)), join(t, shared), join(t, shared)
	var mu sync.Mutex
	got := make(map[*Peers][]string)
	for _, p := range []*Peers{a, b, c} {
		p.Subscribe(func(space string, message []byte) {
			mu.Lock()
			defer mu.Unlock()
			got[p] = append(got[p], space+" "+string(message))
		})
	}
	// Both must have subscribed at the server before the first message.
	a.SetRoster("lab", roster("alice", 1))
	awaitRoster(t, b, "lab", roster("alice", 1))
	awaitRoster(t, c, "lab", roster("alice", 1))
	var want []string
	for i := range 500 {
		want = append(want, fmt.Sprintf("team.a:b m-%d", i))
		if err := a.Publish("team.a:b", fmt.Appendf(nil, "m-%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []*Peers{b, c} {
		testkit.Eventually(t, "500 messages", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(got[p]) == len(want)
		})
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(got[b], want) || !slices.Equal(got[c], want) {
		t.Error("messages came in another order")
	}
	if len(got[a]) > 0 {
		t.Errorf("the sender got %d of its own messages", len(got[a]))
	}
}

// A gateway is removed when its connection ends without a bye message, as with
// kill -9.
func TestExpiry_DeadGateway(t *testing.T) {
	t.Parallel()
	url := startServer(t, -1).ClientURL()
	a, b, clk := connect(t, url), connect(t, url), new(clock)
	pa, pb := clk.join(t, a), clk.join(t, b)
	pa.SetRoster("lab", roster("alice", 1))
	pb.SetRoster("lab", roster("bob", 1))
	awaitRoster(t, pb, "lab", roster("alice", 1))
	awaitRoster(t, pa, "lab", roster("bob", 1))
	a.Close()
	clk.expire(t, pb)
	awaitRoster(t, pb, "lab", nil)
	awaitRoster(t, pa, "lab", roster("bob", 1)) // it only lost its own connection
}

// During an outage of NATS no gateway is declared dead. Afterwards the rosters
// are as before, with the changes during the outage.
func TestOutageOfNATS(t *testing.T) {
	t.Parallel()
	port, clk := testkit.FreePort(t), new(clock)
	srv := startServer(t, port)
	url := srv.ClientURL()
	a, b, c := clk.join(t, connect(t, url)), clk.join(t, connect(t, url)), clk.join(t, connect(t, url))
	changes := make(chan string, 100)
	b.OnRoster(func(space string, here []RosterEntry) { changes <- fmt.Sprint(space, here) })
	a.SetRoster("lab", roster("alice", 1))
	c.SetRoster("hub", roster("carol", 1))
	awaitRoster(t, b, "lab", roster("alice", 1))
	awaitRoster(t, b, "hub", roster("carol", 1))
	for len(changes) > 0 {
		<-changes
	}
	stopServer(srv)
	testkit.Eventually(t, "publishing fails", func() bool { return errors.Is(b.Publish("lab", nil), errNotConnected) })
	a.SetRoster("new", roster("alice", 1))
	leave(t, c)                          // no gateway receives its bye message
	clk.added.Add(int64(2 * longExpiry)) // without any heartbeat
	startServer(t, port)
	awaitRoster(t, b, "new", roster("alice", 1))
	clk.expire(t, b, a)
	awaitRoster(t, b, "hub", nil)
	awaitRoster(t, b, "lab", roster("alice", 1))
	for len(changes) > 0 {
		if c := <-changes; c == "lab[]" {
			t.Error("alice was declared dead")
		}
	}
}

func TestLargeRosters(t *testing.T) {
	url := startServer(t, -1).ClientURL()
	a := join(t, connect(t, url))
	var here []RosterEntry
	for i := range 3*partEntries + 10 {
		here = append(here, RosterEntry{ID: protocol.ParticipantID(fmt.Sprintf("p-%05d", i)), Connections: 1})
	}
	b := join(t, connect(t, url))
	a.SetRoster("lab", here)
	a.SetRoster("small", here[:1])
	awaitRoster(t, b, "lab", here)
	c := join(t, connect(t, url))
	awaitRoster(t, c, "lab", here)
	awaitRoster(t, c, "small", here[:1])
}

func TestMessages_Malformed(t *testing.T) {
	url := startServer(t, -1).ClientURL()
	nc := connect(t, url)
	a, b := join(t, connect(t, url)), join(t, connect(t, url))
	for _, op := range []string{opHeartbeat, opRoster, opSnapshot, opHello, opBye, "unknown", opLive, opLive + ".%zz", "a.b.c"} {
		for _, data := range []string{"", "null", "{", "[]", `{"version":-1}`, `{"version":1,"space":"a b","here":[{"id":"x","n":1}]}`,
			`{"version":1,"part":7,"last":true}`, `{"version":1,"space":"lab","here":[{"id":"","n":0}]}`,
			`{"version":1,"last":true,"rosters":[{"space":"lab","here":[{"id":"x","n":-4}]}]}`} {
			if err := nc.Publish("meup.gw.evil."+op, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	a.SetRoster("lab", roster("alice", 1))
	awaitRoster(t, b, "lab", roster("alice", 1))
}

// TestShareSpending checks that spending arrives at the other gateways, once and
// not at the gateway itself, and that messages out of bounds are ignored.
func TestShareSpending(t *testing.T) {
	url := startServer(t, -1).ClientURL()
	nc := connect(t, url)
	a, b := join(t, nc), join(t, connect(t, url))
	var mu sync.Mutex
	left := make([]Spending, spendingEntries+1) // in two messages
	for i := range left {
		left[i] = Spending{Space: "team-*", Participant: "alice", Spent: map[string]int{"envelopes": 2, "kinds:reasoning/*": -1}}
	}
	sum := map[string]int{}
	b.ShareSpending(func() []Spending { return nil }, func(list []Spending) {
		mu.Lock()
		defer mu.Unlock()
		for _, x := range list {
			for name, n := range x.Spent {
				sum[x.Space+" "+string(x.Participant)+" "+name] += n
			}
		}
	})
	// It must have subscribed at the server before the first message.
	a.SetRoster("lab", roster("alice", 1))
	awaitRoster(t, b, "lab", roster("alice", 1))
	a.ShareSpending(func() []Spending {
		mu.Lock()
		defer mu.Unlock()
		list := left
		left = nil
		return list
	}, func(list []Spending) { t.Errorf("its own spending, or none: %v", list) })
	testkit.Eventually(t, "the spending has arrived", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return sum["team-* alice envelopes"] == 2*(spendingEntries+1) && sum["team-* alice kinds:reasoning/*"] == -(spendingEntries+1)
	})
	for _, bad := range []string{`{`, `[{"spent":{"envelopes":1e30}}]`, `[{"spent":{"envelopes":2000000000000}}]`} {
		if err := nc.Publish(a.subjects.control("other", opSpent), []byte(bad)); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	left = []Spending{{Space: "last", Participant: "alice", Spent: map[string]int{"envelopes": 1}}}
	mu.Unlock()
	testkit.Eventually(t, "later spending has arrived", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return sum["last alice envelopes"] == 1
	})
	mu.Lock()
	defer mu.Unlock()
	if len(sum) != 3 {
		t.Errorf("%v", sum)
	}
}
