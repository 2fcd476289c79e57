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
	// heartbeat is the interval at which JetStream confirms that an idle consumer
	// is alive, silence the maximum time without any message, and
	// silenceCheckEvery the interval at which that is checked.
	heartbeat         = 500 * time.Millisecond
	silence           = 3 * heartbeat
	silenceCheckEvery = heartbeat / 2
	// feedItems bounds the items decoded ahead of the stream's goroutine; when the
	// buffer is full, flow control stops JetStream.
	feedItems = 32
	// consumerIdle is the time after which JetStream deletes a consumer without
	// subscriber.
	consumerIdle = 5 * time.Second
	// apiWait bounds a request to the JetStream API.
	apiWait = 2 * time.Second
)

var (
	errGap     = errors.New("messages of the stream were missed")
	errSilence = errors.New("JetStream has stopped to deliver")
	errOther   = errors.New("the stream has another message in the place of the last one that was read")
)

// feed is an ordered consumer of one stream. It is ephemeral, without acks, and
// closed as soon as it misses a message; the stream then opens another at its
// current position. (jetstream.OrderedConsumer is similar, but decides on its
// own when to restart and needs up to 10 s after an outage.)
type feed struct {
	s     *stream
	sub   *nats.Subscription
	name  string
	after position // the last message that was read

	items        chan appliedMessage
	broken       chan error // at most one
	done         chan struct{}
	lastReceived atomic.Int64 // when JetStream last sent anything, since processStart

	// Owned by receive.
	delivered uint64 // consumer sequence
	failed    bool
}

// processStart has a monotonic time: a wall clock that is set must not make feeds
// silent, or keep silent ones.
var processStart = time.Now()

const msgFollowed = "stream is followed"

// openFeed subscribes to the stream from the last message that was read: that the
// consumer delivers it again shows that the stream goes on from it. A stream that was
// compared may have been replaced by an older one before the consumer was created.
func (s *stream) openFeed(ctx context.Context) (*feed, error) {
	f := &feed{
		s: s, after: s.local.Pos, items: make(chan appliedMessage, feedItems),
		broken: make(chan error, 1), done: make(chan struct{}),
	}
	f.lastReceived.Store(int64(time.Since(processStart)))
	inbox := s.j.nc.NewInbox()
	sub, err := s.j.nc.Subscribe(inbox, f.receive)
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", s.name, err)
	}
	f.sub = sub
	f.name = "gateway-" + s.j.gateway + "-" + inbox[max(0, len(inbox)-8):] // for operators
	config := jetstream.ConsumerConfig{
		Name:              f.name,
		DeliverSubject:    inbox,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       max(s.local.Pos.Seq, 1),
		AckPolicy:         jetstream.AckNonePolicy,
		MaxDeliver:        1,
		FlowControl:       true,
		IdleHeartbeat:     heartbeat,
		InactiveThreshold: consumerIdle,
		MemoryStorage:     true,
		Replicas:          1,
	}
	if s.j.opts.OnFollow != nil {
		s.j.opts.OnFollow()
	}
	var consumer jetstream.PushConsumer
	for _, timeout := range followTimeouts(s.failures) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		consumer, err = s.j.js.CreateOrUpdatePushConsumer(ctx, s.name, config)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			break
		}
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("follow %s: %w", s.name, err)
	}
	server := ""
	if info := consumer.CachedInfo(); info.Cluster != nil {
		server = info.Cluster.Leader
	}
	s.log.Debug(msgFollowed, "consumer", f.name, "server", server, "after", s.local.Pos.Seq)
	return f, nil
}

// followTimeouts returns the timeouts of the requests for one consumer, after so many failures.
// Its server may have just died, so there are few and short ones at first, and then another
// consumer. If the servers are slow, more of them help: a late consumer has the name that is
// asked for, and each other consumer is more work for the servers.
func followTimeouts(failures int) (list []time.Duration) {
	for try := range max(2, 1<<failures) {
		list = append(list, min(apiWait<<(failures+try)/2, 2*apiWait))
	}
	return list
}

// close ends the feed. It requests deletion of the consumer, although JetStream
// would delete it after consumerIdle. It does not wait for the response: the
// consumer's server may be the one that died.
func (f *feed) close() {
	close(f.done)
	_ = f.sub.Unsubscribe() // only fails on a closed connection
	_ = f.s.j.nc.Publish("$JS.API.CONSUMER.DELETE."+f.s.name+"."+f.name, nil)
}

// receive handles one message from JetStream. The subscription's goroutine
// calls it, in order.
func (f *feed) receive(m *nats.Msg) {
	f.lastReceived.Store(int64(time.Since(processStart)))
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
	if md.Sequence.Stream <= f.after.Seq {
		if f.after.Time != 0 && md.Timestamp.UnixNano() != f.after.Time {
			f.fail(errOther)
		}
		return
	}
	it := decode(f.s.j.names, f.s.index, m)
	it.Seq, it.Time = md.Sequence.Stream, md.Timestamp.UnixNano()
	select {
	case f.items <- it:
	case <-f.done:
	}
}

// decode decodes a message of a stream. An epoch and a hold belong to the stream,
// everything else to a space.
func decode(n streamNames, index int, m *nats.Msg) appliedMessage {
	it := appliedMessage{ID: m.Header.Get(jetstream.MsgIDHeader)}
	it.Block, it.Err = decodeBlock(m.Data)
	if m.Subject == n.Epoch(index) {
		if it.Err == nil && it.Block.Epoch == "" && it.Block.Hold.Seq == 0 {
			it.Err = fmt.Errorf("%w: no epoch", errInvalidBlock)
		}
		return it
	}
	var ok bool
	it.Space, ok = n.Space(index, m.Subject)
	if !ok {
		it.Err = fmt.Errorf("%w: subject of no space", errInvalidBlock)
	} else if it.Block.Epoch != "" || it.Block.Hold.Seq > 0 {
		it.Err = fmt.Errorf("%w: epoch of a space", errInvalidBlock)
	}
	return it
}

// control responds to heartbeats and flow control. A heartbeat contains the
// number of delivered messages, which shows the loss of the last message.
func (f *feed) control(m *nats.Msg) {
	if m.Header.Get("Status") != "100" {
		f.fail(errSilence) // for example because the consumer was deleted
		return
	}
	if m.Reply != "" {
		_ = m.Respond(nil) // only lost with the connection, and then the feed ends too
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

// isSilent reports whether no message has arrived for too long.
func (f *feed) isSilent(now time.Time) bool {
	return len(f.items) == 0 && now.Sub(processStart)-time.Duration(f.lastReceived.Load()) > silence
}
