package natsjournal

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// delivered returns a message as a consumer delivers it.
func delivered(streamSeq, consumerSeq int, data []byte) *nats.Msg {
	return &nats.Msg{
		Sub: new(nats.Subscription), Subject: "meup.00.lab", Data: data,
		Reply: fmt.Sprintf("$JS.ACK.MEUP_00.gateway.1.%d.%d.1700000000000000000.0", streamSeq, consumerSeq),
	}
}

func status(code string, header ...string) *nats.Msg {
	m := &nats.Msg{Sub: new(nats.Subscription), Header: nats.Header{"Status": {code}}}
	for i := 0; i < len(header); i += 2 {
		m.Header[header[i]] = []string{header[i+1]}
	}
	return m
}

func TestFeed_MissingMessages(t *testing.T) {
	trim := encodeTrim(1)
	for name, test := range map[string]struct {
		messages []*nats.Msg
		items    int // passed on before the failure
		fault    error
	}{
		// The stream was purged between the two.
		"in order":               {[]*nats.Msg{delivered(10, 1, trim), delivered(20, 2, trim)}, 2, nil},
		"first is missing":       {[]*nats.Msg{delivered(11, 2, trim)}, 0, errGap},
		"one is missing":         {[]*nats.Msg{delivered(10, 1, trim), delivered(12, 3, trim)}, 1, errGap},
		"one comes twice":        {[]*nats.Msg{delivered(10, 1, trim), delivered(10, 1, trim)}, 1, errGap},
		"heartbeat":              {[]*nats.Msg{delivered(10, 1, trim), status("100", "Nats-Last-Consumer", "1")}, 1, nil},
		"last is missing":        {[]*nats.Msg{delivered(10, 1, trim), status("100", "Nats-Last-Consumer", "2")}, 1, errGap},
		"consumer deleted":       {[]*nats.Msg{status("409")}, 0, errSilence},
		"no message of a stream": {[]*nats.Msg{{Sub: new(nats.Subscription), Reply: "x", Data: trim}}, 0, errGap},
		"more after a fault":     {[]*nats.Msg{status("409"), delivered(10, 1, trim), status("409")}, 0, errSilence},
	} {
		f := &feed{
			s:     &stream{j: &Journal{names: newStreamNames("meup", 1)}},
			items: make(chan appliedMessage, feedItems), broken: make(chan error, 1), done: make(chan struct{}),
		}
		for _, m := range test.messages {
			f.receive(m)
		}
		var fault error
		select {
		case fault = <-f.broken:
		default:
		}
		if !errors.Is(fault, test.fault) || len(f.items) != test.items {
			t.Errorf("%s: %d items and %v, want %d and %v", name, len(f.items), fault, test.items, test.fault)
		}
	}
}

// The first request for a consumer is answered too late. It is asked for again by its name.
func TestFeed_LateConsumer(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	requests, create := make(chan *nats.Msg, 100), "$JS.API.CONSUMER.CREATE.MEUP_00."
	nc := dial(t, n.url())
	sub, err := nc.ChanSubscribe(create+">", requests)
	err = errors.Join(err, nc.Flush())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	var followed atomic.Int64
	line := startProxy(t, n.address())
	line.holdFrom.Store(&create)
	t.Cleanup(func() { close(line.released) })
	startTest(t, n.urlAt(line.address()), func(o *Options) { o.streams = 1; o.OnFollow = func() { followed.Add(1) } },
		nats.IgnoreDiscoveredServers())
	first, second := <-requests, <-requests
	if first.Subject != second.Subject {
		t.Errorf("first %s was requested, then %s", first.Subject, second.Subject)
	}
	var request struct {
		Config jetstream.ConsumerConfig `json:"config"`
	}
	if err := json.Unmarshal(first.Data, &request); err != nil || request.Config.InactiveThreshold > 5*time.Second {
		t.Errorf("a consumer without a gateway stays for %v: %v", request.Config.InactiveThreshold, err)
	}
	if followed.Load() == 0 {
		t.Error("no consumer is counted")
	}
}

// A consumer is given up soon at first, and later after half a minute: servers that are slow must
// not get more requests than they can answer.
func TestFeed_SlowServers(t *testing.T) {
	for failures, want := range []time.Duration{3 * time.Second, 6 * time.Second, 16 * time.Second, 32 * time.Second} {
		var all time.Duration
		list := followTimeouts(failures)
		for _, timeout := range list {
			all += timeout
		}
		if all != want || slices.Max(list) > 2*apiWait {
			t.Errorf("after %d failures: %v, together %v, want %v", failures, list, all, want)
		}
	}
}

// The position never decreases, whichever sequences the consumer delivers.
func TestStream_PositionNeverDecreases(t *testing.T) {
	s := &stream{local: &replicaStream{Pos: position{Seq: 10}}, first: 100}
	for _, seqs := range [][]uint64{{10}, {9}, {11, 11}, {12, 11}} {
		var items []appliedMessage
		for _, seq := range seqs {
			items = append(items, appliedMessage{Seq: seq})
		}
		if err := s.applyContiguous(t.Context(), items); !errors.Is(err, errGap) {
			t.Errorf("messages %v after 10: %v", seqs, err)
		}
	}
}

// TestFeed_SilenceIsBoundedByHeartbeats: a feed whose server has died fails
// after three heartbeats and one check, however few messages there are.
func TestFeed_SilenceIsBoundedByHeartbeats(t *testing.T) {
	if silence+silenceCheckEvery > 4*heartbeat || heartbeat > 500*time.Millisecond {
		t.Errorf("silence is noticed after %v, with a heartbeat every %v", silence+silenceCheckEvery, heartbeat)
	}
	f := &feed{items: make(chan appliedMessage, 1), failed: true}
	f.receive(&nats.Msg{})
	received := time.Duration(f.lastReceived.Load())
	if received <= 0 || received > time.Since(processStart) {
		t.Errorf("received %v after the start, which is %v ago: a clock that is set makes the feed silent", received, time.Since(processStart))
	}
	last := processStart.Add(received)
	if f.isSilent(last.Add(silence)) || !f.isSilent(last.Add(silence+1)) {
		t.Error("silence does not begin with the third heartbeat that is missed")
	}
	f.items <- appliedMessage{}
	if f.isSilent(last.Add(time.Hour)) {
		t.Error("a feed that waits for this gateway counts as silent")
	}
}
