package natsjournal

import (
	"errors"
	"fmt"

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

	ids     map[idKey]author
	settled map[idKey]author        // by the proposal
	state   map[string]protocol.Seq // last state entry by space
	seq     uint64                  // of the last message
	time    int64                   // of that message
	digest  digest                  // of all entries up to it
	marks   []mark
	epoch   string // set if an epoch begins
	guards  guardRows

	out delivery
}

type idKey struct {
	space string
	id    protocol.ID
}

// author is the first sender of an id, and the Seq of its entry.
type author struct {
	seq  protocol.Seq
	from protocol.ParticipantID
}

// delivery is the output of a pass for the sink and for waiting calls of
// Append.
type delivery struct {
	stream  *stream
	seq     uint64        // of the last message
	sink    *journal.Sink // nil: no sink was set at that time
	entries []spaceEntries
	answers []blockAnswer

	// replaced, if set, is called for the spaces of the stream, after entries.
	replaced *journal.Replaced
}

type spaceEntries struct {
	space   string
	entries []*journal.Entry
}

type blockAnswer struct {
	committer *committer
	id        string
	results   []journal.Result
}

func (s *stream) newPass() *pass {
	db := s.j.replica.db
	return &pass{
		s: s, db: db, batch: db.NewBatch(), seq: s.pos.seq, time: s.pos.time, digest: s.pos.digest,
		ids: make(map[idKey]author), settled: make(map[idKey]author), state: make(map[string]protocol.Seq),
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
				entries = append(entries, d.entry)
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
func (p *pass) decide(it item, d draft, seq protocol.Seq, stale bool) (journal.Result, error) {
	if stale {
		return journal.Result{Err: journal.ErrStale}, nil
	}
	env := &d.entry.Envelope
	first, known, err := p.lookup(it.space, env.ID)
	if err != nil {
		return journal.Result{}, err
	}
	if known { // no check is needed
		p.guards.record(it.space, uint64(first.seq/seqsPerBlock), it.seq, d.entry.State)
		return idResult(first.seq, first.from, env.From), nil
	}
	last, err := p.lastState(it.space)
	if err != nil {
		return journal.Result{}, err
	}
	if d.basis < last {
		return journal.Result{Err: journal.ErrStale}, nil
	}
	if by, settled, err := p.settledBy(it.space, d.entry.Settles); err != nil {
		return journal.Result{}, err
	} else if settled {
		p.guards.record(it.space, uint64(by.seq/seqsPerBlock), it.seq, d.entry.State)
		return journal.Result{Err: &journal.SettledError{By: by.from, Seq: by.seq}}, nil
	}
	env.Seq = seq
	if err := p.batch.Put(it.space, d.entry); err != nil {
		return journal.Result{}, err
	}
	p.digest = p.digest.add(p.s.hasher.sum(it.space, p.batch.Encoded()))
	p.ids[idKey{it.space, env.ID}] = author{seq, env.From}
	if d.entry.Settles != "" {
		p.settled[idKey{it.space, d.entry.Settles}] = author{seq, env.From}
	}
	if d.entry.State {
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

// lookup returns the author of the id, if it is in use.
func (p *pass) lookup(space string, id protocol.ID) (author, bool, error) {
	if a, ok := p.ids[idKey{space, id}]; ok {
		return a, true, nil
	}
	seq, from, ok, err := p.db.LookupRef(space, id)
	if err != nil {
		return author{}, false, fmt.Errorf("look up id in %s: %w", space, err)
	}
	return author{seq, from}, ok, nil
}

// settledBy returns the author of the entry that settled a proposal; false if
// it is open.
func (p *pass) settledBy(space string, proposal protocol.ID) (author, bool, error) {
	if proposal == "" {
		return author{}, false, nil
	}
	if a, ok := p.settled[idKey{space, proposal}]; ok {
		return a, true, nil
	}
	seq, from, ok, err := p.db.SettledBy(space, proposal)
	if err != nil {
		return author{}, false, fmt.Errorf("look up the decision on a proposal in %s: %w", space, err)
	}
	return author{seq, from}, ok, nil
}

// collect queues the output of a message for the commit. Entries that the sink
// received before the replica was rebuilt are not sent again; results are for
// calls in this process.
func (p *pass) collect(it item, entries []*journal.Entry, results []journal.Result) {
	if it.seq > p.s.sinkSeq && !p.s.announce && len(entries) > 0 {
		p.out.entries = append(p.out.entries, spaceEntries{it.space, entries})
	}
	if p.s.j.isOurs(it.id) {
		p.out.answers = append(p.out.answers, blockAnswer{p.s.commit, it.id, results})
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
	p.out.sink = s.j.sink.Load()
	if p.out.sink == nil {
		p.out.entries = nil
	}
	p.out.stream, p.out.seq = s, p.seq
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
		for _, e := range d.entries {
			(*d.sink)(e.space, e.entries)
		}
		for _, a := range d.answers {
			if f := a.committer.remove(a.id); f != nil {
				f.answer(a.results)
				j.onCommitted(f)
			}
		}
		if d.replaced != nil && *d.replaced != nil {
			(*d.replaced)(d.stream.affects)
		}
		d.stream.progress.advance(d.seq)
	}
}
