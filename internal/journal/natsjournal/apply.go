package natsjournal

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/protocol"
)

// item is a message of a stream, as received by the feed.
type item struct {
	seq   uint64 // in the stream
	time  int64  // when the stream stored it, nanoseconds since 1970
	space string
	id    string // Nats-Msg-Id, the id of the block
	block block
	err   error // errGarbage, errNewer
}

// pass applies some messages in one batch. stream.run owns it. Its decisions
// apply to later messages of the same pass, although the database does not show
// them before the commit.
type pass struct {
	s     *stream
	db    *entrydb.DB
	batch *entrydb.Batch

	state  map[string]protocol.Seq // last state entry by space
	seq    uint64                  // of the last message
	time   int64                   // of that message
	digest digest                  // of all entries up to it
	marks  []mark
	epoch  string // set if an epoch begins
	guards guardRows

	out delivery
}

// delivery is the output of a pass for the sink and for waiting calls of
// Append.
type delivery struct {
	stream *stream
	seq    uint64        // of the last message
	sink   *journal.Sink // nil: no sink was set at that time
	blocks []appliedBlock

	// replaced, if set, is called for the spaces of the stream, after the blocks.
	replaced *journal.Replaced
}

// appliedBlock is the output of one message.
type appliedBlock struct {
	space   string
	entries []*journal.Entry // for the sink
	id      string           // "" for the block of another process
	results []journal.Result
}

func (s *stream) newPass() *pass {
	db := s.j.replica.db
	return &pass{
		s: s, db: db, batch: db.NewBatch(), seq: s.pos.seq, time: s.pos.time, digest: s.pos.digest,
		state: make(map[string]protocol.Seq),
	}
}

// apply writes the messages to the replica and queues their entries for the
// sink. The messages are consecutive and begin after the position. After an
// error the position is unchanged, or after a part of the messages.
func (s *stream) apply(items []item) error {
	p := s.newPass()
	for _, it := range items {
		if it.block.trim == 0 || it.err != nil {
			err := p.add(it)
			if errors.Is(err, errNewer) {
				return errors.Join(err, p.commit())
			}
			if err != nil {
				return err // the batch may contain a part of the message
			}
			if p.epoch == "" {
				continue
			}
			// Later messages belong to the new epoch.
			if err := p.commit(); err != nil {
				return err
			}
			p = s.newPass()
			continue
		}
		// A trim is not part of a batch. It needs everything before it in the
		// database, and nothing after it.
		if err := p.commit(); err != nil {
			return err
		}
		if err := s.trim(it); err != nil {
			return err
		}
		p = s.newPass()
		p.advance(it)
		p.batch.SetMeta(metaFloor(it.space), appendFloor(it.block.trim))
	}
	return p.commit()
}

// add decides the drafts of a message.
func (p *pass) add(it item) error {
	switch {
	case errors.Is(it.err, errNewer):
		return fmt.Errorf("message %d: %w", it.seq, it.err)
	case it.err != nil:
		p.s.log.Warn("message is no block and is skipped", "sequence", it.seq, "error", it.err)
		p.advance(it)
		return nil
	case it.block.reset && p.seq > 0:
		return p.s.startOver("the loss of the stream's messages was accepted at another gateway")
	case it.block.epoch != "":
		p.advance(it)
		p.epoch = it.block.epoch
		p.batch.SetMeta(metaEpoch(p.s.name), []byte(p.epoch))
		return nil
	}
	var results []journal.Result
	var entries []*journal.Entry
	for _, call := range it.block.calls {
		stale := false
		for _, d := range call {
			seq := protocol.Seq(it.seq)*seqsPerBlock + protocol.Seq(len(results))
			r, err := p.decide(it, d, seq, stale)
			if err != nil {
				return err
			}
			stale = stale || errors.Is(r.Err, journal.ErrStale)
			if r.Err == nil && !r.Retry {
				entries = append(entries, d)
			}
			results = append(results, r)
		}
	}
	p.advance(it)
	p.collect(it, entries, results)
	return nil
}

// advance records that a message was applied.
func (p *pass) advance(it item) {
	p.seq, p.time = it.seq, it.time
	if it.seq%markEvery == 0 && it.block.epoch == "" && it.seq >= p.s.comparable {
		p.marks = append(p.marks, mark{it.seq, p.digest})
	}
}

// decide applies the rules to a draft and adds it to the batch if it is
// accepted. All gateways share these rules: they depend on nothing but the
// stream.
func (p *pass) decide(it item, d *journal.Draft, seq protocol.Seq, stale bool) (journal.Result, error) {
	if stale {
		return journal.Result{Err: journal.ErrStale}, nil
	}
	last, err := p.lastState(it.space)
	if err != nil {
		return journal.Result{}, err
	}
	r, earlier, err := p.batch.Decide(it.space, d, last)
	if err != nil {
		return journal.Result{}, err
	}
	if earlier.Seq > 0 {
		p.guards.record(it.space, uint64(earlier.Seq/seqsPerBlock), it.seq, d.State)
	}
	if r.Err != nil || r.Retry {
		return r, nil
	}
	d.Envelope.Seq, d.CheckedAtStateSeq = seq, 0
	if err := p.batch.Put(it.space, d); err != nil {
		return journal.Result{}, err
	}
	p.digest = p.digest.add(p.s.hasher.sum(it.space, p.batch.Encoded()))
	if d.State {
		p.state[it.space] = seq
	}
	return journal.Result{Seq: seq}, nil
}

// lastState returns the Seq of the space's last state entry.
func (p *pass) lastState(space string) (protocol.Seq, error) {
	if seq, ok := p.state[space]; ok {
		return seq, nil
	}
	seq, err := p.db.LastState(space)
	if err != nil {
		return 0, fmt.Errorf("last state entry of %s: %w", space, err)
	}
	p.state[space] = seq
	return seq, nil
}

// collect queues the output of a message for the commit. Entries that the sink
// received before the replica was rebuilt are not sent again; results are for
// calls in this process.
func (p *pass) collect(it item, entries []*journal.Entry, results []journal.Result) {
	out := appliedBlock{space: it.space}
	if it.seq > p.s.sinkSeq && !p.s.announce {
		out.entries = entries
	}
	if p.s.j.isOurs(it.id) {
		out.id, out.results = it.id, results
	}
	if len(out.entries) > 0 || out.id != "" {
		p.out.blocks = append(p.out.blocks, out)
	}
}

// commit writes the batch with the position and sends the output to deliver.
func (p *pass) commit() error {
	s := p.s
	if p.seq == s.pos.seq {
		return nil
	}
	next := position{created: s.pos.created, seq: p.seq, time: p.time, digest: p.digest}
	p.batch.SetMeta(metaPosition(s.name), next.encode())
	if err := p.guards.write(p.db, p.batch); err != nil {
		return err
	}
	if err := p.batch.Commit(false); err != nil {
		return err
	}
	s.pos = next
	if p.epoch != "" {
		s.epoch = p.epoch
		s.setLogID()
		if p.seq > s.sinkSeq && !s.announce {
			s.log.Warn("the stream has lost messages: its spaces have another log now", "sequence", p.seq, "epoch", p.epoch)
			p.out.replaced = s.j.replaced.Load()
		}
	}
	s.recordMarks(p.marks)
	s.sinkSeq = max(s.sinkSeq, p.seq)
	p.out.stream, p.out.seq, p.out.sink = s, p.seq, s.j.sink.Load()
	s.j.deliveries <- p.out // deliver ends after the streams
	return nil
}

// recordMarks publishes the digest at the position, and the ones before it, to
// the auditor. It does not while the digest may legitimately differ from other
// gateways.
func (s *stream) recordMarks(passed []mark) {
	if s.pos.seq >= s.comparable && s.pos.seq > 0 {
		s.marks.record(*s.logID.Load(), passed, mark{s.pos.seq, s.pos.digest})
	}
}

// markComparable makes the stream comparable from the end of info on. info was
// requested after the last gap, so the trims of all gaps come before that end.
func (s *stream) markComparable(info *jetstream.StreamInfo) {
	if s.comparable == notComparable {
		s.comparable = info.State.LastSeq
		s.recordMarks(nil)
	}
}

func metaEpoch(stream string) string { return "epoch/" + stream }

// deliver passes applied entries to the sink, then sends the results of Append.
// One goroutine serves all streams, as the contract of Sink requires.
func (j *Journal) deliver() {
	for d := range j.deliveries {
		for _, b := range d.blocks {
			if d.sink != nil && len(b.entries) > 0 {
				(*d.sink)(b.space, b.entries)
			}
			if b.id == "" {
				continue
			}
			f := d.stream.commit.remove(b.id)
			if f == nil {
				continue // its callers have given up
			}
			f.answer(b.results)
			if j.opts.OnCommit != nil {
				j.opts.OnCommit(f.drafts, f.bytes, time.Since(f.since))
			}
		}
		if d.replaced != nil && *d.replaced != nil {
			(*d.replaced)(d.stream.affects)
		}
		d.stream.progress.advance(d.seq)
	}
}
