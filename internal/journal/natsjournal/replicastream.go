package natsjournal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/protocol"
)

// appliedMessage is a message of a stream.
type appliedMessage struct {
	Seq   uint64 // in the stream
	Time  int64  // when the stream stored it, nanoseconds since 1970
	Space string
	ID    string // Nats-Msg-Id, the id of the block
	Block block
	Err   error // errInvalidBlock, errNewerBlock
}

// replicaSink receives the effects of messages after they were written. [replicaStream.Apply]
// calls it.
type replicaSink interface {
	// Applied receives the drafts of a batch of messages, of which seq is the last
	// one. epoch means that it began an epoch.
	Applied(seq uint64, blocks []appliedBlock, epoch bool)
	// Trimmed receives the message below which a trimmed space needs no messages.
	Trimmed(space string, below uint64)
}

// appliedBlock is the outcome of the drafts of one message.
type appliedBlock struct {
	Seq     uint64
	ID      string
	Space   string
	Entries []*journal.Entry // the accepted drafts
	Results []journal.Result
}

// position is how far the replica covers a stream: up to message Seq, of the
// stream created at that time. A stream that was deleted and recreated has
// another creation time.
type position struct {
	Created int64 // nanoseconds since 1970; 0: no stream yet
	Seq     uint64
	Time    int64 // when the stream stored message Seq, nanoseconds since 1970
	Digest  digest
}

func (p position) encode() []byte {
	b := binary.AppendVarint(nil, p.Created)
	b = binary.AppendUvarint(b, p.Seq)
	return p.Digest.append(binary.AppendVarint(b, p.Time))
}

func decodePosition(b []byte) (p position, err error) {
	if len(b) == 0 {
		return p, nil
	}
	r := bytes.NewReader(b)
	var errs [4]error
	p.Created, errs[0] = binary.ReadVarint(r)
	p.Seq, errs[1] = binary.ReadUvarint(r)
	p.Time, errs[2] = binary.ReadVarint(r)
	digest := make([]byte, digestBytes)
	_, errs[3] = io.ReadFull(r, digest)
	if err := errors.Join(errs[:]...); err != nil || r.Len() > 0 {
		return position{}, errors.Join(errors.New("position cannot be read"), err)
	}
	p.Digest = decodeDigest(digest)
	return p, nil
}

func metaPosition(stream string) string { return "position/" + stream }
func metaEpoch(stream string) string    { return "epoch/" + stream }
func metaHold(stream string) string     { return "hold/" + stream }

// metaHadEpoch is the key of an epoch that the stream has or had.
func metaHadEpoch(stream, epoch string) string { return "had/" + stream + "/" + epoch }

// replicaStream applies the messages of one stream to the replica: it decides the drafts
// of the messages, and passes on to a [replicaSink] what they have to cause elsewhere. One goroutine at a
// time uses it; Marks and LogID are safe for concurrent use.
type replicaStream struct {
	Pos   position
	Epoch string // the name of the current epoch, "" before the first one
	Hold  hold   // Seq is 0 unless the stream is held back
	Marks marks

	r      *replica
	name   string
	log    *slog.Logger
	sink   replicaSink
	logID  atomic.Pointer[string]
	hasher entryHasher
	// comparable is the position from which on the digest equals the digest of all
	// gateways. After a gap it is unknown at first: the messages were purged
	// because of a trim that comes later in the stream.
	comparable uint64
}

const notComparable = math.MaxUint64

// NewStream returns the stream with this name. Load has to be called first.
func (r *replica) NewStream(name string, log *slog.Logger, sink replicaSink) *replicaStream {
	return &replicaStream{r: r, name: name, log: log, sink: sink, comparable: notComparable}
}

// Load reads the position from the replica, which may be another one than
// before.
func (s *replicaStream) Load() error {
	data, err := s.r.db.Meta(metaPosition(s.name))
	if err != nil {
		return err
	}
	s.Pos, err = decodePosition(data)
	if err != nil {
		return err
	}
	data, err = s.r.db.Meta(metaEpoch(s.name))
	if err != nil {
		return err
	}
	s.Epoch = string(data)
	s.Hold = hold{}
	data, err = s.r.db.Meta(metaHold(s.name))
	if err != nil {
		return err
	}
	if len(data) > 0 {
		b, err := decodeBlock(data)
		if err != nil {
			return fmt.Errorf("hold: %w", err)
		}
		s.Hold = b.Hold
	}
	s.comparable = notComparable
	s.Marks.clear()
	return nil
}

// HadEpoch reports whether the replica has applied the beginning of an epoch.
func (s *replicaStream) HadEpoch(epoch string) (bool, error) {
	if epoch == s.Epoch { // of replicas that kept only this one, too
		return true, nil
	}
	data, err := s.r.db.Meta(metaHadEpoch(s.name, epoch))
	return len(data) > 0, err
}

// Spaces returns the spaces that a function selects, also while the replica is
// incomplete.
func (s *replicaStream) Spaces(mine func(space string) bool) ([]string, error) {
	spaces, err := s.r.db.Spaces()
	slices.Sort(spaces)
	return slices.DeleteFunc(spaces, func(space string) bool { return !mine(space) }), err
}

// Entries yields the entries of a space from a message on, at most limit (0: all), also
// while the replica is incomplete.
func (s *replicaStream) Entries(ctx context.Context, space string, from uint64, limit int) iter.Seq2[*journal.Entry, error] {
	return s.r.db.Range(ctx, space, journal.Query{After: blockSeq(from, 0) - 1, Limit: limit})
}

// LastState returns the newest state entry of these spaces, and its space; nil: there is
// none.
func (s *replicaStream) LastState(ctx context.Context, spaces []string) (space string, last *journal.Entry, err error) {
	for _, name := range spaces {
		for e, err := range s.r.db.Range(ctx, name, journal.Query{StateOnly: true, Backwards: true, Limit: 1}) {
			if err != nil {
				return "", nil, err
			}
			if last == nil || e.Envelope.Seq > last.Envelope.Seq {
				space, last = name, e
			}
		}
	}
	return space, last, nil
}

// Trims returns the base of a space, and the Seq below which it was trimmed, also while
// the replica is incomplete.
func (s *replicaStream) Trims(space string) (base journal.Base, below protocol.Seq, err error) {
	base, err = s.r.db.Base(space)
	if err != nil {
		return base, 0, err
	}
	below, err = floorOf(s.r.db, space)
	return base, below, err
}

// Identified records that the replica has a part of the stream that was created
// at this time.
func (s *replicaStream) Identified(created int64) {
	s.Pos.Created = created
	s.setLogID()
}

// LogID returns the id of the logs of the stream's spaces: the creation time of
// the stream and its epoch. It is nil until the stream was identified.
func (s *replicaStream) LogID() *string { return s.logID.Load() }

func (s *replicaStream) setLogID() {
	id := strconv.FormatInt(s.Pos.Created, 36)
	if s.Epoch != "" {
		id += "-" + s.Epoch
	}
	s.logID.Store(&id)
}

// Gap records that the next message does not follow the position.
func (s *replicaStream) Gap() { s.comparable = notComparable }

// MarkComparable makes the stream comparable from its last message on. That was
// requested after the last gap, so the trims of all gaps come before it.
func (s *replicaStream) MarkComparable(last uint64) {
	if s.comparable == notComparable {
		s.comparable = last
		s.recordMarks(nil)
	}
}

// recordMarks publishes the digest at the position, and the ones before it. It
// does not while the digest may legitimately differ from other gateways.
func (s *replicaStream) recordMarks(passed []mark) {
	if s.Pos.Seq >= s.comparable && s.Pos.Seq > 0 {
		s.Marks.record(*s.logID.Load(), passed, mark{s.Pos.Seq, s.Pos.Digest})
	}
}

// errReset is returned by [replicaStream.Apply] if all messages that the replica has
// are void: it has to be built from the beginning.
var errReset = errors.New("an epoch begins with an empty log")

// Apply decides the drafts of messages, in the order of the stream, and writes
// the accepted ones to the replica. All gateways share the rules, which depend
// on nothing but the stream, so all make the same decisions:
//
//   - the id was used by the same sender: a retry; by another sender: a
//     duplicate;
//   - the proposal is settled, or CheckedAtStateSeq is older than the space's
//     last state entry: rejected; after a stale draft, with all later drafts of
//     the same Append;
//   - otherwise the draft is an entry.
//
// The messages follow the position. After an error the position is unchanged,
// or after a part of the messages. Err: errNewerBlock, errReset, or an error of
// the database.
func (s *replicaStream) Apply(messages []appliedMessage) error {
	p := s.newPass()
	for _, m := range messages {
		if m.Block.Trim == 0 || m.Err != nil {
			err := p.add(m)
			if errors.Is(err, errNewerBlock) {
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
		if err := s.trim(m.Space, m.Block.Trim); err != nil {
			return err
		}
		p = s.newPass()
		p.advance(m)
		p.batch.SetMeta(metaFloor(m.Space), binary.AppendUvarint(nil, uint64(m.Block.Trim)))
	}
	return p.commit()
}

// trim applies a trim of a space.
func (s *replicaStream) trim(space string, before protocol.Seq) error {
	// The digest and the entries that it covers change in one batch, or an
	// interrupted trim would make it wrong.
	n, err := s.r.db.Trim(space, before, entrydb.TrimHooks{
		Dropped: func(encoded []byte) { s.Pos.Digest = s.Pos.Digest.sub(s.hasher.sum(space, encoded)) },
		Commit:  func(b *entrydb.Batch) { b.SetMeta(metaPosition(s.name), s.Pos.encode()) },
	})
	if err != nil {
		return err
	}
	if n > 0 {
		s.log.Debug("trimmed", "space", space, "below", before, "entries", n)
	}
	below := blockMessage(before-1) + 1
	for e, err := range s.r.db.Range(context.Background(), space, journal.Query{After: before - 1, Limit: 1}) {
		if err != nil {
			return err
		}
		// The block in which the trim ends may have later entries.
		below = min(below, blockMessage(e.Envelope.Seq))
	}
	s.sink.Trimmed(space, below)
	return nil
}

// pass applies some messages in one batch. Its decisions apply to later
// messages of the same pass, although the database does not show them before
// the commit.
type pass struct {
	s     *replicaStream
	batch *entrydb.Batch

	pos    position
	state  map[string]protocol.Seq // last state entry by space
	marks  []mark
	epoch  string // begun by the last message
	hold   hold
	guards guards
	blocks []appliedBlock

	proposals map[spaceID]*journal.Entry // of the batch
}

func (s *replicaStream) newPass() *pass {
	return &pass{s: s, batch: s.r.db.NewBatch(), pos: s.Pos, hold: s.Hold, state: make(map[string]protocol.Seq), guards: make(guards), proposals: make(map[spaceID]*journal.Entry)}
}

// add decides the drafts of a message.
func (p *pass) add(m appliedMessage) error {
	switch {
	case errors.Is(m.Err, errNewerBlock):
		return fmt.Errorf("message %d: %w", m.Seq, m.Err)
	case m.Err != nil:
		p.s.log.Warn("message is no block and is skipped", "sequence", m.Seq, "error", m.Err)
		p.advance(m)
		return nil
	case m.Block.Reset && p.pos.Seq > 0:
		return errReset
	case m.Block.Base.Before > 0:
		p.batch.PutBase(m.Space, m.Block.Base)
		p.advance(m)
		return nil
	case m.Block.Epoch != "":
		p.advance(m)
		p.epoch = m.Block.Epoch
		p.batch.SetMeta(metaEpoch(p.s.name), []byte(p.epoch))
		p.batch.SetMeta(metaHadEpoch(p.s.name, p.epoch), []byte{1})
		p.hold = hold{}
		p.batch.DeleteMeta(metaHold(p.s.name))
		return nil
	case m.Block.Hold.Seq > 0:
		p.advance(m)
		p.hold = m.Block.Hold
		p.batch.SetMeta(metaHold(p.s.name), encodeHold(p.hold))
		return nil
	}
	out := appliedBlock{Seq: m.Seq, ID: m.ID, Space: m.Space}
	for _, call := range m.Block.Calls {
		stale := false
		for _, d := range call {
			r := journal.Result{Err: journal.ErrStale}
			if !stale {
				var err error
				r, err = p.decide(m, d, blockSeq(m.Seq, len(out.Results)))
				if err != nil {
					return err
				}
			}
			stale = stale || errors.Is(r.Err, journal.ErrStale)
			if r.Err == nil && !r.Retry {
				out.Entries = append(out.Entries, d)
			}
			out.Results = append(out.Results, r)
		}
	}
	p.blocks = append(p.blocks, out)
	p.advance(m)
	return nil
}

// advance records that a message was applied.
func (p *pass) advance(m appliedMessage) {
	p.pos.Seq, p.pos.Time = m.Seq, m.Time
	if m.Seq%markEvery == 0 && m.Block.Epoch == "" && m.Seq >= p.s.comparable {
		p.marks = append(p.marks, mark{m.Seq, p.pos.Digest})
	}
}

// decide applies the rules to a draft and adds it to the batch if it is
// accepted.
func (p *pass) decide(m appliedMessage, d *journal.Draft, seq protocol.Seq) (journal.Result, error) {
	last, known := p.state[m.Space]
	if !known {
		var err error
		last, err = p.s.r.db.LastState(m.Space)
		if err != nil {
			return journal.Result{}, fmt.Errorf("last state entry of %s: %w", m.Space, err)
		}
		p.state[m.Space] = last
	}
	r, earlier, err := p.batch.Decide(m.Space, d, last)
	if err != nil {
		return journal.Result{}, err
	}
	if earlier.Seq > 0 {
		p.guards.record(m.Space, blockMessage(earlier.Seq), m.Seq, d.State)
	}
	if r.Err != nil || r.Retry {
		return r, nil
	}
	d.Envelope.Seq, d.CheckedAtStateSeq = seq, 0
	if err := p.settle(m, d); err != nil {
		return journal.Result{}, err
	}
	if err := p.batch.Put(m.Space, d); err != nil {
		return journal.Result{}, err
	}
	p.pos.Digest = p.pos.Digest.add(p.s.hasher.sum(m.Space, p.batch.Encoded()))
	if d.State {
		p.state[m.Space] = seq
	}
	return journal.Result{Seq: seq}, nil
}

// commit writes the batch with the position and passes its outcome to the sink.
func (p *pass) commit() error {
	s := p.s
	if p.pos.Seq == s.Pos.Seq {
		return nil
	}
	p.batch.SetMeta(metaPosition(s.name), p.pos.encode())
	if err := p.guards.write(s.r.db, p.batch); err != nil {
		return err
	}
	if err := p.batch.Commit(false); err != nil {
		return err
	}
	s.Pos, s.Hold = p.pos, p.hold
	if p.epoch != "" {
		s.Epoch = p.epoch
		s.setLogID()
	}
	s.recordMarks(p.marks)
	s.sink.Applied(s.Pos.Seq, p.blocks, p.epoch != "")
	return nil
}

// spaceID is an id in a space.
type spaceID struct {
	space string
	id    protocol.ID
}

// settle makes an entry name the proposal that it settles. Entries of earlier versions do
// not, and a decision on the same proposal would follow them. The proposal's message is kept
// as long as the entry's, so that all gateways find it.
func (p *pass) settle(m appliedMessage, e *journal.Entry) error {
	env := &e.Envelope
	if env.Kind == protocol.KindMCPProposal {
		p.proposals[spaceID{m.Space, env.ID}] = e
	}
	if !exchange.IsDecision(env.Kind) || e.Settles != "" {
		return nil
	}
	of, err := exchange.ProposalAmong(env.Correlation.IDs, func(id protocol.ID) (*protocol.Envelope, error) {
		if e := p.proposals[spaceID{m.Space, id}]; e != nil {
			return &e.Envelope, nil
		}
		e, err := p.s.r.db.Lookup(m.Space, id)
		if errors.Is(err, journal.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return &e.Envelope, nil
	})
	if err != nil || of == nil || exchange.Settles(of, env) == exchange.Pending {
		return err
	}
	earlier, err := p.batch.Settled(m.Space, of.ID)
	if err != nil || earlier.Seq > 0 {
		return err
	}
	e.Settles = of.ID
	p.guards.record(m.Space, blockMessage(of.Seq), m.Seq, false)
	return nil
}
