//go:build linux

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// figures are the results of one run of a scenario, by the keys of its columns.
type figures map[string]float64

// column is one figure of a scenario.
type column struct {
	key, title string
	digits     int // after the decimal point
}

// scenario is one kind of load.
type scenario struct {
	name    string
	title   string
	what    string // a description, for the reader of the table
	columns []column
	ring    int // blocks of the bare broadcaster's ring; 0: the gateway is measured alone
	// configured is the number of participants of the glob space that do not connect.
	configured int
	run        func(s *process, o *options) (figures, error)
}

// slow are the scenarios that run only if they are named.
var slow = []string{"fanout10000", "dormant", "cluster", "stopped10m", "search1m", "log10k", "log1m", "log10m"}

// withPeers are the scenarios that run against NATS and centrifuge too.
var withPeers = []string{"fanout", "fanout10000", "fanout100", "agents", "fewinflight", "spaces", "latency", "idle"}

// scenarios lists them in the order of the table.
func scenarios(o *options) []scenario {
	rate := []column{
		{"deliveries", "deliveries/s", 0},
		{"cpu", "server CPU µs per delivery", 2},
		{"cores", "server cores busy", 2},
	}
	most, many, few := o.pick(10_000, 2000), o.pick(1000, 300), 100
	spaces, idle := o.pick(1000, 200), o.pick(10_000, 1000)
	replayed := o.pick(100_000, 20_000)
	return slices.Concat([]scenario{
		{"fanout", fmt.Sprintf("Fan-out to %d", many), "1 sender, 256-byte chats, 64 in flight", rate, 4096, 0, fanOut(many)},
		{"fanout10000", fmt.Sprintf("Fan-out to %d", most), "1 sender, 256-byte chats, 64 in flight", rate, 4096, 0, fanOut(most)},
		{"fanout100", fmt.Sprintf("Fan-out to %d", few), "1 sender, 256-byte chats, 64 in flight", rate, 4096, 0, fanOut(few)},
		{
			"agents", "10 agents in one space", "all think at once, 400-byte thoughts, each delivered to all 10, 160 in flight",
			[]column{{"envelopes", "envelopes/s, durable", 0}, {"cpu", "server CPU µs per envelope", 1}, {"cores", "server cores busy", 2}},
			4096, 0, agents(10, 160),
		},
		{
			"fewinflight", "10 agents in one space, fewer in flight", "the same with 64 in flight",
			[]column{{"deliveries", "deliveries/s", 0}, {"envelopes", "envelopes/s, durable", 0}, {"cpu", "server CPU µs per envelope", 1}, {"cores", "server cores busy", 2}},
			4096, 0, agents(10, 64),
		},
		{
			"spaces", fmt.Sprintf("%d spaces of 4", spaces), "1 sender each, 256-byte chats, 1 in flight in each space",
			[]column{
				{"envelopes", "envelopes/s, durable", 0}, {"deliveries", "deliveries/s", 0},
				{"cpu", "server CPU µs per delivery", 2}, {"memory", "server MB", 0},
			},
			64, 0, manySpaces(spaces),
		},
		{
			"latency", "Latency", "100 envelopes/s to 50 receivers, end to end",
			[]column{{"p50", "p50 ms", 2}, {"p99", "p99 ms", 2}, {"cores", "server cores busy", 2}},
			4096, 0, latency,
		},
		{
			"idle", fmt.Sprintf("%d idle connections", idle), "resident memory of the server, 2 s after the last has come",
			[]column{{"memory", "kB per connection", 1}},
			64, 0, idleConnections(idle),
		},
		{
			"cluster", "Three gateways on three NATS servers", "each envelope on two of three disks; a sender at one gateway, receivers at the others",
			[]column{
				{"envelopes", "envelopes/s, 64 in flight", 0}, {"p50", "100/s, to the other gateways: p50 ms", 2}, {"p99", "p99 ms", 2},
				{"failover", "a killed NATS server: median s until the next envelope has arrived", 2}, {"worst", "longest s", 2},
			},
			0, 0, clusterLoad,
		},
		{
			"stopped", "One reader stops", fmt.Sprintf("1 kB to 10 others, %d times without and with it in turn; then it reads all of it, once and in order", stoppedPairs),
			[]column{
				{"before", "envelopes/s without", 0}, {"during", "envelopes/s meanwhile", 0}, {"kept", "% of the rate without, median of the pairs", 0},
				{"cost", "server CPU per envelope, % of that without", 0},
				{"memory", "server MB at most", 0}, {"caughtUp", "it catches up, envelopes/s", 0},
			},
			4096, 0, stoppedReader,
		},
		{
			"stopped10m", "One reader stops for 10 minutes", "the same, compared with the 2 minutes before and the 2 after",
			[]column{
				{"before", "envelopes/s before", 0}, {"after", "envelopes/s after", 0}, {"during", "envelopes/s meanwhile", 0},
				{"kept", "% of the rate without", 1}, {"cost", "server CPU per envelope, % of that without", 1},
				{"memory", "server MB at most", 0}, {"caughtUp", "it catches up, envelopes/s", 0},
			},
			0, 0, stoppedLong,
		},
		{
			"replay", fmt.Sprintf("Replay of %d", replayed), "256-byte chats to one that connects with since=0, first to last",
			[]column{{"envelopes", "envelopes/s", 0}, {"cpu", "server CPU µs per envelope", 2}, {"fill", "filled at, envelopes/s", 0}},
			1 << 18, 0, replay(replayed),
		},
	}, spaceScenarios(o))
}

// spaceScenarios are those about the number of participants and spaces.
func spaceScenarios(o *options) []scenario {
	configured, crowded, dormant := o.pick(5101-participants, 1000), o.pick(1250, 100), o.pick(100_000, 2000)
	searched := o.pick(1_000_000, 2000)
	return []scenario{
		{
			"configured", fmt.Sprintf("%d configured participants", configured+participants),
			fmt.Sprintf("of a glob space, %d spaces of %d idle connections", crowded, roomSeats),
			[]column{{"memory", "kB per connection", 1}},
			64, configured, idleSpaces(crowded),
		},
		{
			"dormant", fmt.Sprintf("%d spaces in one gateway", dormant), "one envelope in each, then none for 11 minutes; then the first request to 1000 of them, one after the other",
			[]column{
				{"open", "kB per space, just used", 2}, {"memory", "kB per space, idle", 2},
				{"p50", "first request, p50 ms", 2}, {"p99", "first request, p99 ms", 2},
			},
			0, dormantWriters, dormantSpaces(dormant),
		},
		{
			"search1m", fmt.Sprintf("Search in %d", searched), "chats of 8 to 25 words in one space; two words over HTTP, 20 hits, one search after the other",
			[]column{
				{"fill", "filled at, envelopes/s", 0}, {"catchup", "s until the index has all of it", 1},
				{"p50", "search p50 ms", 1}, {"p99", "p99 ms", 1},
				{"disk-log", "bytes on disk per envelope, log", 0}, {"disk-search", "the same, search index", 0},
			},
			0, 0, searchLog(searched),
		},
		longLogScenario(o, "log10k", 10_000), longLogScenario(o, "log1m", 1_000_000), longLogScenario(o, "log10m", 10_000_000),
	}
}

func longLogScenario(o *options, name string, n int) scenario {
	n = o.pick(n, 2000)
	return scenario{
		name, fmt.Sprintf("A log of %d", n), "turns of 24 envelopes in one space; the gateway is killed, then stopped, and started over it",
		[]column{
			{"fill", "filled at, envelopes/s", 0}, {"open", "ms from start to serving", 0}, {"first", "first page of 10 turns, ms", 0},
			{"killed", "the same after kill -9, ms", 0}, {"memory", "server MB after it", 0},
			{"disk-log", "bytes on disk per envelope, log", 0}, {"disk-turns", "the same, index of turns", 0},
		},
		0, 0, longLog(n),
	}
}

// chat returns an envelope with a payload of size bytes. mark is at the start
// of the text.
func chat(size int, mark string) []byte {
	payload := `{"message":"` + mark
	payload += strings.Repeat("some words ", size/11+1)[:size-len(payload)-2] + `"}`
	return []byte(`{"kind":"chat","payload":` + payload + `}`)
}

// thought returns a reasoning.thought of 400 bytes.
func thought() []byte {
	head, tail := `{"kind":"reasoning.thought","context":"r-1","payload":{"message":"`, `","confidence":0.85}}`
	return []byte(head + strings.Repeat("some words ", 40)[:400-len(head)-len(tail)] + tail)
}

// steady warms up, measures the load for the configured time, and waits until
// everything has arrived.
func (cr *crowd) steady(s *process, o *options, name string, frame []byte, window int) (span, int, int, error) {
	frames := cr.conns[0].encode(frame, window)
	if err := cr.talk(frames, window, after(o.warmUp)); err != nil {
		return span{}, 0, 0, err
	}
	delivered, sent := cr.delivered, cr.sent
	profile := s.profileInto(o.profileFile(name), o.seconds)
	p, err := s.measure(func() error { return cr.talk(frames, window, after(o.seconds)) })
	delivered, sent = cr.delivered-delivered, cr.sent-sent
	err = errors.Join(err, cr.drain(cr.visit), <-profile)
	if err == nil && delivered == 0 {
		err = errNothing
	}
	return p, delivered, sent, err
}

// gatherAudience connects one sender and its receivers to one space.
func gatherAudience(s *process, receivers int) (*crowd, error) {
	seats := []seat{{"bench", participantName(0), ""}}
	for range receivers {
		seats = append(seats, seat{"bench", participantName(1), ""})
	}
	cr, err := gather(s, seats)
	if err == nil {
		cr.senders = cr.conns[:1]
	}
	return cr, err
}

func fanOut(receivers int) func(s *process, o *options) (figures, error) {
	return func(s *process, o *options) (figures, error) {
		cr, err := gatherAudience(s, receivers)
		if err != nil {
			return nil, err
		}
		defer cr.close()
		p, delivered, _, err := cr.steady(s, o, fmt.Sprintf("fanout%d", receivers), chat(256, ""), 64)
		return figures{"deliveries": p.perSecond(delivered), "cpu": p.cpuMicroseconds(delivered), "cores": p.cores()}, err
	}
}

func agents(n, window int) func(s *process, o *options) (figures, error) {
	return func(s *process, o *options) (figures, error) {
		var seats []seat
		for i := range n {
			seats = append(seats, seat{"bench", participantName(i % participants), ""})
		}
		cr, err := gather(s, seats)
		if err != nil {
			return nil, err
		}
		defer cr.close()
		cr.senders = cr.conns
		p, delivered, sent, err := cr.steady(s, o, fmt.Sprintf("agents%d-%d", n, window), thought(), window)
		return figures{
			"deliveries": p.perSecond(delivered), "envelopes": p.perSecond(sent), "cpu": p.cpuMicroseconds(sent), "cores": p.cores(),
			"delivery": p.cpuMicroseconds(delivered),
		}, err
	}
}

func idleConnections(n int) func(s *process, o *options) (figures, error) {
	seats := make([]seat, n)
	for i := range seats {
		seats[i] = seat{"bench", participantName(i % participants), ""}
	}
	return idle("idle", seats)
}

// idle connects all seats and measures the memory of each.
func idle(name string, seats []seat) func(s *process, o *options) (figures, error) {
	return func(s *process, o *options) (figures, error) {
		before, err := s.memory("VmRSS")
		if err != nil {
			return nil, err
		}
		cr, err := gather(s, seats)
		if err != nil {
			return nil, err
		}
		defer cr.close()
		time.Sleep(2 * time.Second)
		with, err := s.memory("VmRSS")
		err = errors.Join(err, s.heapInto(o.profileFile(name)))
		return figures{"memory": float64(with-before) / 1000 / float64(len(seats))}, err
	}
}
