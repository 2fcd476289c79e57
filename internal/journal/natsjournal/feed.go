package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// heartbeat is how often JetStream confirms that a consumer with nothing to
	// deliver is alive, silence how long nothing may come, and listenEvery how
	// often that is looked at.
	heartbeat   = 500 * time.Millisecond
	silence     = 3 * heartbeat
	listenEvery = heartbeat / 2
	// feedItems bounds what is decoded ahead of the stream's goroutine; behind
	// it, flow control stops JetStream.
	feedItems = 32
	// consumerIdle is when JetStream forgets a consumer that nobody listens to.
	consumerIdle = 30 * time.Second
	// apiWait bounds a request to the JetStream API.
	apiWait = 2 * time.Second
)

var (
	errGap     = errors.New("messages of the stream were missed")
	errSilence = errors.New("JetStream has stopped to deliver")
)

// feed is an ordered consumer of one stream: ephemeral, without acks, and
// thrown away as soon as it misses a message. The stream makes another from
// the position that it has then. (jetstream.OrderedConsumer does the same, but
// decides alone when to start anew and takes up to 10 s after an outage.)
type feed struct {
	s    *stream
	sub  *nats.Subscription
	name string

	items  chan item
	broken chan error // at most one
	done   chan struct{}
	heard  atomic.Int64 // when JetStream last sent anything, Unix nanoseconds

	// Owned by receive.
	delivered uint64 // consumer sequence
	failed    bool
}

const msgFollowed = "stream is followed"

// openFeed subscribes to the stream from behind the position.
func (s *stream) openFeed(ctx context.Context) (*feed, error) {
	f := &feed{
		s: s, items: make(chan item, feedItems),
		broken: make(chan error, 1), done: make(chan struct{}),
	}
	f.heard.Store(time.Now().UnixNano())
	inbox := s.j.nc.NewInbox()
	sub, err := s.j.nc.Subscribe(inbox, f.receive)
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", s.name, err)
	}
	f.sub = sub
	// The server that is to deliver may be the one that just died: rather ask
	// again soon. If the servers are slow, more patience helps.
	ctx, cancel := context.WithTimeout(ctx, min(apiWait<<s.failures/2, 2*apiWait))
	defer cancel()
	consumer, err := s.j.js.CreateOrUpdatePushConsumer(ctx, s.name, jetstream.ConsumerConfig{
		Name:              consumerName(s.j.gateway, inbox),
		DeliverSubject:    inbox,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       s.pos.seq + 1,
		AckPolicy:         jetstream.AckNonePolicy,
		MaxDeliver:        1,
		FlowControl:       true,
		IdleHeartbeat:     heartbeat,
		InactiveThreshold: consumerIdle,
		MemoryStorage:     true,
		Replicas:          1,
	})
	if err != nil {
		close(f.done)
		_ = sub.Unsubscribe() // only fails on a connection that is closed
		return nil, fmt.Errorf("follow %s: %w", s.name, err)
	}
	info := consumer.CachedInfo()
	f.name = info.Name
	server := ""
	if info.Cluster != nil {
		server = info.Cluster.Leader
	}
	s.log.Debug(msgFollowed, "consumer", f.name, "server", server, "after", s.pos.seq)
	return f, nil
}

// consumerName makes a name that tells an operator whose consumer it is.
func consumerName(gateway, inbox string) string {
	return "gateway-" + gateway + "-" + inbox[max(0, len(inbox)-8):]
}

// close ends the feed. JetStream would forget the consumer by itself; the
// request saves it the trouble. Nobody waits for the answer: the server of the
// consumer may be the one that died.
func (f *feed) close() {
	close(f.done)
	_ = f.sub.Unsubscribe() // only fails on a connection that is closed
	_ = f.s.j.nc.Publish("$JS.API.CONSUMER.DELETE."+f.s.name+"."+f.name, nil)
}

// receive takes what JetStream sends. It is called by the subscription's
// goroutine, in order.
func (f *feed) receive(m *nats.Msg) {
	f.heard.Store(time.Now().UnixNano())
	if f.failed {
		return
	}
	if len(m.Data) == 0 && m.Header.Get("Status") != "" {
		f.control(m)
		return
	}
	md, err := m.Metadata()
	if err != nil || md.Sequence.Consumer != f.delivered+1 {
		f.fail(errGap)
		return
	}
	f.delivered++
	it := item{seq: md.Sequence.Stream, time: md.Timestamp.UnixNano(), id: m.Header.Get(jetstream.MsgIDHeader)}
	it.decode(m, f.s.j.names, f.s.index)
	select {
	case f.items <- it:
	case <-f.done:
	}
}

// decode reads the block of a message of a stream. An epoch belongs to the
// stream, everything else to a space.
func (it *item) decode(m *nats.Msg, n names, index int) {
	it.block, it.err = decodeBlock(m.Data)
	if m.Subject == n.epoch(index) {
		if it.err == nil && it.block.epoch == "" {
			it.err = fmt.Errorf("%w: no epoch", errGarbage)
		}
		return
	}
	var ok bool
	if it.space, ok = n.space(index, m.Subject); !ok {
		it.err = fmt.Errorf("%w: subject of no space", errGarbage)
	} else if it.block.epoch != "" {
		it.err = fmt.Errorf("%w: epoch of a space", errGarbage)
	}
}

// control answers heartbeats and flow control. A heartbeat tells how much was
// delivered: that is how the loss of the last message shows.
func (f *feed) control(m *nats.Msg) {
	if m.Header.Get("Status") != "100" {
		f.fail(errSilence) // the consumer was deleted, say
		return
	}
	if m.Reply != "" {
		_ = m.Respond(nil) // lost with the connection, and so is the feed
		return
	}
	if stalled := m.Header.Get("Nats-Consumer-Stalled"); stalled != "" {
		_ = f.s.j.nc.Publish(stalled, nil)
	}
	last := m.Header.Get("Nats-Last-Consumer")
	if last != "" && last != strconv.FormatUint(f.delivered, 10) {
		f.fail(errGap)
	}
}

func (f *feed) fail(err error) {
	f.failed = true
	f.broken <- err
}

// isSilent reports whether nothing has come for too long.
func (f *feed) isSilent(now time.Time) bool {
	return len(f.items) == 0 && now.Sub(time.Unix(0, f.heard.Load())) > silence
}
