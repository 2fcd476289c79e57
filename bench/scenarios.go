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
	name  string
	title string
	what  string // a description, for the reader
	// columns are its figures. The first one of a row of the table is compared with
	// that of JetStream.
	columns    []column
	ring       int // blocks of the bare broadcaster's ring; 0: the gateway is measured alone
	configured int // the number of participants of the glob space that do not connect
	run        func(s *process, o *options) (figures, error)

	row  bool // of the table: it also runs against JetStream, and if no scenario is named
	less bool // the first figure is better if it is less
}

// scenarios lists them: the rows of the table in their order, then the others.
func scenarios(o *options) []scenario {
	many, most, spaces, connections := o.pick(1000, 300), o.pick(10_000, 2000), o.pick(1000, 200), o.pick(10_000, 1000)
	rate := func(name, title string, ring int, run func(s *process, o *options) (figures, error)) scenario {
		columns := []column{{"deliveries", "deliveries/s", 0}, {"cpu", "server CPU µs per delivery", 2}}
		return scenario{name: name, title: title, columns: columns, ring: ring, run: run, row: true}
	}
	rows := []scenario{
		rate("fanout10", "fan-out to 10, 64 in flight", 4096, fanOut(10, 64)),
		rate("fanout100", "fan-out to 100, 64 in flight", 4096, fanOut(100, 64)),
		rate("fanout1000", fmt.Sprintf("fan-out to %d, 64 in flight", many), 4096, fanOut(many, 64)),
		rate("fanout100x1", "fan-out to 100, 1 in flight", 4096, fanOut(100, 1)),
		rate("agents10", "10 agents, all to all, 64 in flight", 4096, agents(10)),
		rate("agents50", "50 agents, all to all, 64 in flight", 4096, agents(50)),
		rate("spaces", fmt.Sprintf("%d spaces of 4, 1 in flight in each", spaces), 64, manySpaces(spaces)),
		{
			name: "latency", title: fmt.Sprintf("latency at 100/s to %d: p50 ms, p99 ms, CPU", latencyReceivers),
			columns: []column{{"p50", "p50 ms", 2}, {"p99", "p99 ms", 2}, {"cpu", "server CPU µs per delivery", 1}},
			ring:    4096, run: latency, row: true, less: true,
		},
		{
			name: "idle", title: fmt.Sprintf("%d idle connections: resident kB for each", connections),
			columns: []column{{"memory", "kB per connection", 1}},
			ring:    64, run: idleConnections(connections), row: true, less: true,
		},
	}
	crowded := rate("fanout10000", fmt.Sprintf("Fan-out to %d", most), 4096, fanOut(most, 64))
	crowded.row, crowded.what = false, "1 sender, 256-byte chats, 64 in flight"
	return slices.Concat(rows, []scenario{crowded}, readerScenarios(o), spaceScenarios(o))
}

// readerScenarios are those about readers that are late, and of a cluster.
func readerScenarios(o *options) []scenario {
	replayed := o.pick(100_000, 20_000)
	return []scenario{
		{
			name: "replay", title: fmt.Sprintf("Replay of %d", replayed), what: "256-byte chats to one that connects with since=0, first to last",
			columns: []column{{"envelopes", "envelopes/s", 0}, {"cpu", "server CPU µs per envelope", 2}, {"fill", "filled at, envelopes/s", 0}},
			ring:    1 << 18, run: replay(replayed),
		},
		{
			name: "stopped", title: "One reader stops",
			what: fmt.Sprintf("1 kB to 10 others, %d times without and with it in turn; then it reads all of it, once and in order", stoppedPairs),
			columns: []column{
				{"before", "envelopes/s without", 0}, {"during", "envelopes/s meanwhile", 0}, {"kept", "% of the rate without, median of the pairs", 0},
				{"cost", "server CPU per envelope, % of that without", 0},
				{"memory", "server MB at most", 0}, {"caughtUp", "it catches up, envelopes/s", 0},
			},
			ring: 4096, run: stoppedReader,
		},
		{
			name: "stopped10m", title: "One reader stops for 150 times the measured time", what: "the same, compared with 30 times before and after; 10 minutes with -time 4s",
			columns: []column{
				{"before", "envelopes/s before", 0}, {"after", "envelopes/s after", 0}, {"during", "envelopes/s meanwhile", 0},
				{"kept", "% of the rate without", 1}, {"cost", "server CPU per envelope, % of that without", 1},
				{"memory", "server MB at most", 0}, {"caughtUp", "it catches up, envelopes/s", 0},
			},
			run: stoppedLong,
		},
		{
			name: "cluster", title: "Three gateways on three NATS servers", what: "each envelope on two of three disks; a sender at one gateway, receivers at the others",
			columns: []column{
				{"envelopes", "envelopes/s, 64 in flight", 0}, {"p50", "100/s, to the other gateways: p50 ms", 2}, {"p99", "p99 ms", 2},
				{"failover", "a killed NATS server: median s until the next envelope has arrived", 2}, {"worst", "longest s", 2},
			},
			run: clusterLoad,
		},
	}
}

// spaceScenarios are those about the number of participants, spaces and envelopes.
func spaceScenarios(o *options) []scenario {
	configured, crowded, dormant := o.pick(5101-participants, 1000), o.pick(1250, 100), o.pick(100_000, 2000)
	searched := o.pick(1_000_000, 2000)
	return []scenario{
		{
			name: "configured", title: fmt.Sprintf("%d configured participants", configured+participants),
			what:    fmt.Sprintf("of a glob space, %d spaces of %d idle connections", crowded, roomSeats),
			columns: []column{{"memory", "kB per connection", 1}},
			ring:    64, configured: configured, run: idleSpaces(crowded),
		},
		{
			name: "dormant", title: fmt.Sprintf("%d spaces in one gateway", dormant),
			what: "one envelope in each, then none for 11 minutes; then the first request to 1000 of them, one after the other",
			columns: []column{
				{"open", "kB per space, just used", 2}, {"memory", "kB per space, idle", 2},
				{"p50", "first request, p50 ms", 2}, {"p99", "first request, p99 ms", 2},
			},
			configured: dormantWriters, run: dormantSpaces(dormant),
		},
		{
			name: "search1m", title: fmt.Sprintf("Search in %d", searched),
			what: "chats of 8 to 25 words in one space; two words over HTTP, 20 hits, one search after the other",
			columns: []column{
				{"fill", "filled at, envelopes/s", 0}, {"catchup", "s until the index has all of it", 1},
				{"p50", "search p50 ms", 1}, {"p99", "p99 ms", 1},
				{"disk-log", "bytes on disk per envelope, log", 0}, {"disk-search", "the same, search index", 0},
			},
			run: searchLog(searched),
		},
		longLogScenario("log10k", o.pick(10_000, 2000)), longLogScenario("log1m", o.pick(1_000_000, 2000)), longLogScenario("log10m", o.pick(10_000_000, 2000)),
	}
}

func longLogScenario(name string, n int) scenario {
	return scenario{
		name: name, title: fmt.Sprintf("A log of %d", n), what: "turns of 24 envelopes in one space; the gateway is killed, then stopped, and started over it",
		columns: []column{
			{"fill", "filled at, envelopes/s", 0}, {"open", "ms from start to serving", 0}, {"first", "first page of 10 turns, ms", 0},
			{"killed", "the same after kill -9, ms", 0}, {"memory", "server MB after it", 0},
			{"disk-log", "bytes on disk per envelope, log", 0}, {"disk-turns", "the same, index of turns", 0},
		},
		run: longLog(n),
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

// steady warms up, measures the load for the configured time, or until something was delivered
// by a server that is slow at first, and waits until everything has arrived.
func (cr *crowd) steady(s *process, o *options, name string, frame []byte, window int) (span, int, int, error) {
	frames := cr.conns[0].encode(frame, window)
	if err := cr.talk(frames, window, after(o.warmUp)); err != nil {
		return span{}, 0, 0, err
	}
	delivered, sent := cr.delivered, cr.sent
	profile := s.profileInto(o.profileFile(name), o.seconds)
	over, late := after(o.seconds), after(o.seconds+time.Minute)
	p, err := s.measure(func() error {
		return cr.talk(frames, window, func() bool { return over() && (cr.delivered > delivered || late()) })
	})
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

func fanOut(receivers, window int) func(s *process, o *options) (figures, error) {
	return func(s *process, o *options) (figures, error) {
		cr, err := gatherAudience(s, receivers)
		if err != nil {
			return nil, err
		}
		defer cr.close()
		p, delivered, _, err := cr.steady(s, o, fmt.Sprintf("fanout%dx%d", receivers, window), chat(256, ""), window)
		return figures{"deliveries": p.perSecond(delivered), "cpu": p.cpuMicroseconds(delivered)}, err
	}
}

// agents measures n connections that all send, 64 frames in flight in all.
func agents(n int) func(s *process, o *options) (figures, error) {
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
		p, delivered, _, err := cr.steady(s, o, fmt.Sprintf("agents%d", n), thought(), 64)
		return figures{"deliveries": p.perSecond(delivered), "cpu": p.cpuMicroseconds(delivered)}, err
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
