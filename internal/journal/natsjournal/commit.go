package natsjournal

import (
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
)

// Bounds of what a stream has under way.
const (
	// maxSpaceBlocks is how many blocks of one space are under way. What comes
	// meanwhile is merged into the next one, so that a NATS that syncs every
	// message does so once for many drafts.
	maxSpaceBlocks = 2
	// maxStreamBlocks bounds the blocks of all spaces of a stream; beyond some
	// thousands NATS itself starts to throw messages away.
	maxStreamBlocks = 64
	// blockBytes is the size up to which drafts are merged, where max_payload
	// is not smaller.
	blockBytes = 256 << 10
)

// unit is what one Append asks to have in one block.
type unit struct {
	space string
	state bool
	count int
	data  []byte // a section, see block.go
	block []byte // a whole block instead, for a draft so large that it is packed

	flight *flight // nil while it is queued; guarded by committer.mu
	answer chan []journal.Result
}

// merges reports whether more can be put into the block of the unit.
func (u *unit) merges() bool { return !u.state && u.block == nil }

func (u *unit) refuse(err error) {
	results := make([]journal.Result, u.count)
	for i := range results {
		results[i].Err = err
	}
	u.answer <- results
}

// flight is a block under way.
type flight struct {
	id      string // Nats-Msg-Id
	space   string
	state   bool
	since   time.Time
	settled chan struct{} // closed when it has been withdrawn

	// Guarded by committer.mu.
	units   []*unit
	drafts  int
	bytes   int
	data    []byte // the block; nil until it is encoded
	sending bool   // an attempt to publish is under way
	unknown bool   // an attempt has failed that may have reached the stream
}

// committer turns units into blocks and keeps count of those under way. Units
// wait in a queue by space. There are never more of them than calls of Append
// that wait, so the queues need no bound of their own: a call that gives up
// takes its unit with it.
type committer struct {
	launch func(*flight) // starts the publishing; it ends with landed
	nextID func() string
	target func() int // bytes up to which drafts are merged

	mu       sync.Mutex
	queues   map[string]*queue
	ready    []*queue // those that may start a block, first come first served
	inFlight int
	flights  map[string]*flight // by id, until it is known what became of them
}

// queue is what waits in a space. It exists while anything waits or flies.
type queue struct {
	space    string
	units    []*unit
	inFlight int
	ready    bool // stands in committer.ready
}

func newCommitter(launch func(*flight), nextID func() string, target func() int) *committer {
	return &committer{
		launch: launch, nextID: nextID, target: target,
		queues: make(map[string]*queue), flights: make(map[string]*flight),
	}
}

// submit queues a unit; its answer comes through unit.answer.
func (c *committer) submit(u *unit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[u.space]
	if q == nil {
		q = &queue{space: u.space}
		c.queues[u.space] = q
	}
	q.units = append(q.units, u)
	c.offer(q)
	c.start()
}

// landed is called once for each flight, when nothing is published any more.
func (c *committer) landed(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[f.space]
	q.inFlight--
	c.inFlight--
	c.offer(q)
	c.start()
	c.release(q)
}

// release forgets a queue that nothing waits or flies in.
func (c *committer) release(q *queue) {
	if q.inFlight == 0 && len(q.units) == 0 && !q.ready {
		delete(c.queues, q.space)
	}
}

// fate is what abandon found of a unit.
type fate int

const (
	withdrawn  fate = iota // it is not in the stream and will not be
	maybeThere             // it may be in the stream, or get there
	answered               // its answer is there, or about to be
)

// abandon withdraws a unit whose caller waits no longer, if it can.
func (c *committer) abandon(u *unit) fate {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := u.flight
	if f == nil {
		if q := c.queues[u.space]; q != nil {
			q.units = slices.DeleteFunc(q.units, func(o *unit) bool { return o == u })
			c.release(q)
		}
		return withdrawn
	}
	if c.flights[f.id] != f {
		return answered
	}
	if f.sending || f.unknown {
		return maybeThere
	}
	f.units = slices.DeleteFunc(f.units, func(o *unit) bool { return o == u })
	f.drafts -= u.count
	f.bytes -= len(u.data) + len(u.block)
	f.data = nil
	return withdrawn
}

// beginSend returns the block to publish, whose units cannot be withdrawn from
// now on; nil if none is left. endSend follows.
func (c *committer) beginSend(f *flight, limit int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(f.units) == 0 {
		return nil
	}
	f.sending = true
	if f.data == nil {
		f.data = f.encode(limit)
	}
	return f.data
}

// endSend notes whether an attempt may have reached the stream.
func (c *committer) endSend(f *flight, maybe bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.sending = false
	f.unknown = f.unknown || maybe
}

// offer puts a queue in line if it may start a block.
func (c *committer) offer(q *queue) {
	if q.ready || len(q.units) == 0 || q.inFlight >= maxSpaceBlocks {
		return
	}
	q.ready = true
	c.ready = append(c.ready, q)
}

// start launches blocks as long as the stream may have more of them.
func (c *committer) start() {
	for len(c.ready) > 0 && c.inFlight < maxStreamBlocks {
		q := c.ready[0]
		c.ready = c.ready[1:]
		q.ready = false
		f := q.cut(c.target())
		if f == nil {
			c.release(q)
			continue
		}
		f.id = c.nextID()
		q.inFlight++
		c.inFlight++
		c.flights[f.id] = f
		c.launch(f)
		c.offer(q)
	}
}

// cut takes the next block's units from the queue; nil if there are none.
func (q *queue) cut(target int) *flight {
	f := &flight{space: q.space, since: time.Now(), settled: make(chan struct{})}
	for len(q.units) > 0 {
		u := q.units[0]
		full := f.drafts+u.count > seqsPerBlock || f.bytes+len(u.data) > target
		if f.drafts > 0 && (full || !u.merges()) {
			break
		}
		u.flight = f
		f.units = append(f.units, u)
		f.drafts += u.count
		f.bytes += len(u.data) + len(u.block)
		q.units = q.units[1:]
		if !u.merges() {
			break
		}
	}
	if f.drafts == 0 {
		return nil
	}
	f.state = f.units[0].state
	return f
}

// encode makes the block's bytes.
func (f *flight) encode(limit int) []byte {
	if f.units[0].block != nil {
		return f.units[0].block
	}
	sections := make([][]byte, len(f.units))
	for i, u := range f.units {
		sections[i] = u.data
	}
	return encodeDrafts(sections, limit)
}

// take removes a flight from the table; who gets it answers its units. nil:
// somebody else has, or it is another gateway's.
func (c *committer) take(id string) *flight {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.flights[id]
	if f != nil {
		delete(c.flights, id)
		close(f.settled)
	}
	return f
}

// answer gives each unit its share of the results of the whole block.
func (f *flight) answer(results []journal.Result) {
	for _, u := range f.units {
		n := min(u.count, len(results))
		u.answer <- results[:n:n]
		results = results[n:]
	}
}

// refuse answers all units with the error.
func (f *flight) refuse(err error) {
	for _, u := range f.units {
		u.refuse(err)
	}
}
