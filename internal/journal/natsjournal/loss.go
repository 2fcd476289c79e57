package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// errLost means that NATS has less than a local copy, and that only an operator can
// decide how to go on.
var errLost = errors.New("NATS has lost a part of the log")

// errLonger means that the copy of another gateway has more of a stream than this one.
var errLonger = errors.New("another gateway's copy has more")

// remedies is the end of the texts of errLost.
const remedies = "No entry was changed. Do one of: restore the store of NATS; start the gateways that have a copy with --restore-log " +
	"(puts the missing entries back); start one with --accept-loss (goes on without them, and keeps the copy in a folder of its own)"

// loss is the part of the local copy that the stream lacks.
type loss struct {
	created, upTo uint64 // the stream and the messages that were compared
	common        uint64 // the last message with the same entries on both sides; 0: none
	entries       int    // in the local copy after it
}

// describeLoss returns an error that wraps errLost and describes the stream and the local
// copy. info is nil if the stream is not there.
func (s *stream) describeLoss(l loss, info *jetstream.StreamInfo) error {
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	there := "the stream is not there"
	switch {
	case info == nil:
	case info.State.Msgs == 0:
		there = "the stream is empty"
	default:
		there = fmt.Sprintf("the stream ends at message %d (%s)", info.State.LastSeq, stamp(info.State.LastTime))
	}
	common := "none of its messages is the same"
	if l.common > 0 {
		common = fmt.Sprintf("they are the same up to message %d", l.common)
	}
	return fmt.Errorf("%w: %s, the copy in %s at message %d (%s); %s. Entries of the copy that are missing on NATS: %d. %s", errLost,
		there, s.j.replica.Dir(), s.local.Pos.Seq, stamp(time.Unix(0, s.local.Pos.Time)), common, l.entries, remedies)
}

// findLoss compares the local copy with the stream; nil: there is no stream. Both are the
// same up to a message, so a few requests find it.
func (s *stream) findLoss(ctx context.Context, info *jetstream.StreamInfo) (loss, error) {
	var l loss
	if info != nil && info.State.Msgs > 0 {
		l.created, l.upTo = uint64(info.Created.UnixNano()), min(info.State.LastSeq, s.local.Pos.Seq)
	}
	if f := s.foundLoss; f != nil && f.created == l.created && f.upTo == l.upTo {
		return *f, nil
	}
	spaces, err := s.spaces()
	if err != nil {
		return l, err
	}
	for end := l.upTo + 1; l.common+1 < end; {
		middle := l.common + (end-l.common)/2
		space, e, err := s.firstEntry(ctx, spaces, middle)
		if err != nil {
			return l, err
		}
		if e == nil || blockMessage(e.Envelope.Seq) >= end {
			end = middle
			continue
		}
		same, err := s.hasEntry(ctx, space, e)
		if err != nil {
			return l, err
		}
		if same {
			l.common = blockMessage(e.Envelope.Seq)
		} else {
			end = middle
		}
	}
	for _, space := range spaces {
		for _, err := range s.local.Entries(ctx, space, l.common+1, 0) {
			if err != nil {
				return l, err
			}
			l.entries++
		}
	}
	s.foundLoss = &l
	return l, nil
}

// spaces returns the spaces of the stream in the local copy.
func (s *stream) spaces() ([]string, error) {
	return s.local.Spaces(func(space string) bool { return s.j.names.Bucket(space) == s.index })
}

// firstEntry returns the first entry of the local copy from a message on; nil: there is
// none.
func (s *stream) firstEntry(ctx context.Context, spaces []string, from uint64) (space string, first *journal.Entry, err error) {
	for _, name := range spaces {
		for e, err := range s.local.Entries(ctx, name, from, 1) {
			if err != nil {
				return "", nil, err
			}
			if first == nil || e.Envelope.Seq < first.Envelope.Seq {
				space, first = name, e
			}
		}
	}
	return space, first, nil
}

// hasEntry reports whether the stream has an entry of the local copy in the same place.
func (s *stream) hasEntry(ctx context.Context, space string, e *journal.Entry) (bool, error) {
	seq := blockMessage(e.Envelope.Seq)
	m, err := s.getMsg(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at message %d: %w", seq, err)
	}
	there, ok := s.j.names.Space(s.index, m.Subject)
	b, err := decodeBlock(m.Data)
	if errors.Is(err, errNewerBlock) {
		return false, fmt.Errorf("message %d: %w", seq, err)
	}
	if !ok || there != space || err != nil {
		return false, nil //nolint:nilerr // a message that is no block has no entry
	}
	at := int(e.Envelope.Seq - blockSeq(seq, 0))
	for _, call := range b.Calls {
		if at < len(call) {
			return call[at].Envelope.ID == e.Envelope.ID && call[at].Envelope.From == e.Envelope.From, nil
		}
		at -= len(call)
	}
	return false, nil
}

// hasState reports whether the stream has the newest state entry of the local copy, which
// retention keeps. A copy without state entries shows nothing. purged means that the message
// was removed.
func (s *stream) hasState(ctx context.Context) (has, purged bool, err error) {
	spaces, err := s.spaces()
	if err != nil {
		return false, false, err
	}
	space, e, err := s.local.LastState(ctx, spaces)
	if err != nil || e == nil {
		return err == nil, false, err
	}
	has, err = s.hasEntry(ctx, space, e)
	if has || err != nil {
		return has, false, err
	}
	_, err = s.getMsg(ctx, blockMessage(e.Envelope.Seq))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, true, nil
	}
	return false, false, err
}

// restore publishes the entries that the stream lacks, after the messages that it has.
// They get another Seq, so an epoch has to follow. Entries that the stream has received
// already, from an attempt that was interrupted or from another gateway, are retries,
// which all gateways reject.
func (s *stream) restore(ctx context.Context, l loss) error {
	spaces, err := s.spaces()
	if err != nil {
		return err
	}
	for _, space := range spaces {
		if err := s.restoreSpace(ctx, space, l.common+1); err != nil {
			return fmt.Errorf("put the entries of %s back: %w", space, err)
		}
	}
	s.log.Warn("entries that NATS had lost were put back", "entries", l.entries)
	return nil
}

// restoreSpace publishes the entries of a space from a message on, one block for each
// message that had them, after the base and the trim of the space.
func (s *stream) restoreSpace(ctx context.Context, space string, from uint64) error {
	base, floor, err := s.local.Trims(space)
	if err != nil {
		return err
	}
	before := min(floor, blockSeq(from, 0)) // the entries that follow get Seqs from there on
	if base.Before > 0 && before > 0 {
		base.Before = min(base.Before, before)
		if err := s.sendAgain(ctx, pendingMessage{Space: space, Data: encodeBase(base)}); err != nil {
			return err
		}
	}
	if before > 0 {
		if err := s.sendAgain(ctx, pendingMessage{Space: space, Data: encodeTrim(before)}); err != nil {
			return err
		}
	}
	var together []*journal.Entry
	for e, err := range s.local.Entries(ctx, space, from, 0) {
		if err != nil {
			return err
		}
		if len(together) > 0 && blockMessage(together[0].Envelope.Seq) != blockMessage(e.Envelope.Seq) {
			if err := s.sendEntries(ctx, space, together); err != nil {
				return err
			}
			together = together[:0]
		}
		together = append(together, e)
	}
	return s.sendEntries(ctx, space, together)
}

func (s *stream) sendEntries(ctx context.Context, space string, entries []*journal.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	var body, scratch []byte
	for _, e := range entries {
		d := *e
		d.CheckedAtStateSeq = protocol.Seq(math.MaxInt64) // it was admitted: no state entry makes it stale
		body, scratch = appendDraft(body, scratch, &d)
	}
	data := encodeDrafts([][]byte{encodeSection(len(entries), body)}, s.Limit())
	return s.sendAgain(ctx, pendingMessage{Space: space, State: entries[0].State, Data: data})
}

// sendAgain sends a block, again until NATS has acknowledged it: the order in the stream
// is the order of the copy.
func (s *stream) sendAgain(ctx context.Context, m pendingMessage) error {
	s.putBack++
	m.ID = s.j.gateway + ".restore." + s.name + "." + strconv.Itoa(s.putBack)
	for {
		_, err := s.Send(ctx, m)
		if !isUnavailable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(restartMin):
		}
	}
}

// lastDecision returns the last message that holds a stream back or begins an epoch, and
// its sequence; 0: there is none.
func (s *stream) lastDecision(ctx context.Context) (b block, seq uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*apiWait)
	defer cancel()
	last, err := s.handle.GetLastMsgForSubject(ctx, s.j.names.Epoch(s.index))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return b, 0, nil
	}
	if err != nil {
		return b, 0, fmt.Errorf("look for the epoch: %w", noAnswer(err))
	}
	b, err = decodeBlock(last.Data)
	if errors.Is(err, errInvalidBlock) {
		err = nil // all gateways skip it
	}
	return b, last.Sequence, err
}

// holdBack stops all gateways that follow a stream until an operator has decided: another
// one may have a copy that is new, or was behind, and would see no loss. The hold names the
// longest copy. after is the last message with a hold or an epoch.
func (s *stream) holdBack(ctx context.Context, info *jetstream.StreamInfo, after uint64) error {
	host, _ := os.Hostname() // for operators
	expect := jetstream.WithExpectLastSequencePerSubject(after)
	if info.State.LastSeq < s.local.Pos.Seq {
		// The sequence proves that the stream is the one that was compared: a server that
		// has lost its cluster shows an older one.
		expect = jetstream.WithExpectLastSequence(info.State.LastSeq)
	}
	hold := hold{Seq: s.local.Pos.Seq, By: host + ":" + s.j.replica.Dir()}
	if err := s.publishDecision(ctx, encodeHold(hold), expect); err != nil {
		return fmt.Errorf("hold the stream back: %w", err)
	}
	return nil
}

// decide begins a new epoch of a stream, unless the stream has one that the local copy
// does not have. reset means that all earlier messages are void; the stream must be empty.
func (s *stream) decide(ctx context.Context, reset bool) error {
	last, after, err := s.lastDecision(ctx)
	if err != nil {
		return err
	}
	if decided, err := s.isDecision(last); decided || err != nil {
		return err
	}
	err = s.publishDecision(ctx, encodeEpoch(uuid.NewString(), reset), jetstream.WithExpectLastSequencePerSubject(after))
	if err != nil {
		return fmt.Errorf("begin a new epoch: %w", err)
	}
	return nil
}

// isDecision reports whether a message begins an epoch that the local copy never had: an
// operator has decided on a loss since. An epoch that it had shows only that the stream
// went back.
func (s *stream) isDecision(b block) (bool, error) {
	if b.Epoch == "" {
		return false, nil
	}
	had, err := s.local.HadEpoch(b.Epoch)
	return !had, err
}

// publishDecision publishes a hold or an epoch. If another message was first, the next
// session finds it: errAgain.
func (s *stream) publishDecision(ctx context.Context, data []byte, expect jetstream.PublishOpt) error {
	ctx, cancel := context.WithTimeout(ctx, 2*apiWait)
	defer cancel()
	_, err := s.j.js.PublishMsg(ctx, &nats.Msg{Subject: s.j.names.Epoch(s.index), Data: data},
		jetstream.WithExpectStream(s.name), expect)
	if hasCode(err, jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant) {
		return errAgain
	}
	return noAnswer(err)
}

// heldError describes the hold of a stream that this gateway follows.
func (s *stream) heldError() error {
	h := s.local.Hold
	return fmt.Errorf("%w: the copy at %s has messages up to %d, which other gateways may not have. %s", errLost, h.By, h.Seq, remedies)
}

// reportLoss logs a loss once: the journal has the reason of one stream only.
func (s *stream) reportLoss(err error) {
	if isAny(err, errLost, errLonger) && err.Error() != s.reported {
		s.reported = err.Error()
		s.log.Error("a stream is not served until an operator decides", "reason", err)
	}
}
