package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/natsjournal/block"
	"github.com/meup-protocol/meup/internal/journal/natsjournal/replica"
)

// ErrForeignReplica means that the folder has a copy of another log.
var ErrForeignReplica = errors.New("the data folder belongs to another log")

// errLost means that NATS has less than the local copy and that only an
// operator can decide which of them to keep.
var errLost = errors.New("NATS has lost the log, or a part of it, that the local copy has. " +
	"Restore the streams of NATS, or accept the loss by a start with --accept-loss, which keeps the copy in a folder of its own")

// errReplaced means that the local copy of a stream is not a copy of the stream
// on NATS.
var errReplaced = errors.New("the local copy is built anew")

// logMetadata is the key of a stream's metadata that names its log.
const logMetadata = "meup-log"

// logName returns the name of the log that a stream belongs to. Streams without
// metadata, which were created before it was introduced, use their creation
// time.
func logName(info *jetstream.StreamInfo) string {
	if name := info.Config.Metadata[logMetadata]; name != "" {
		return name
	}
	return strconv.FormatInt(info.Created.UnixNano(), 36)
}

// identifyLog compares the log on NATS with the local copy, before any stream
// is followed. It creates the first stream if it does not exist, so that
// gateways that start concurrently agree on the log's name.
func (j *Journal) identifyLog(ctx context.Context) error {
	if !j.nc.IsConnected() {
		return errDisconnected
	}
	found, err := j.findLog(ctx)
	if err != nil {
		return err
	}
	if o := j.opts.copyOf; o != "" && found != o {
		return fmt.Errorf("%w: NATS has log %q, and the copy is one of log %s", ErrForeignReplica, found, o)
	}
	mine, hasEntries, err := j.replica.Name()
	if err != nil {
		return err
	}
	if hasEntries && found != mine {
		reason := fmt.Errorf("%w: no stream %s is there, and %s has a copy of log %s", errLost, j.names.Stream(0), j.replica.Dir(), mine)
		if found != "" {
			reason = fmt.Errorf("%w: %s has a copy of log %s, and NATS at %s has log %s",
				ErrForeignReplica, j.replica.Dir(), mine, j.nc.ConnectedUrlRedacted(), found)
		}
		if !j.opts.AcceptLoss {
			return reason
		}
		if err := j.setAside(reason); err != nil {
			return err
		}
	}
	if found == "" {
		j.logName = nuid.Next()
		if _, err := j.streams[0].ensure(ctx); err != nil {
			return err
		}
		return errAgain // another gateway may have created it
	}
	j.logName = found
	return j.replica.SetName(found)
}

// findLog returns the name of the log on NATS; "" if no stream exists.
func (j *Journal) findLog(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*apiWait)
	defer cancel()
	name, first := "", j.names.Streams()
	list := j.js.ListStreams(ctx, jetstream.WithStreamListSubject(j.names.Everything()))
	for info := range list.Info() {
		for i := range first {
			if info.Config.Name == j.names.Stream(i) {
				name, first = logName(info), i
			}
		}
	}
	return name, noAnswer(list.Err())
}

// identify checks that the replica was built from this stream, and that the
// stream still has the messages that were read from it.
func (s *stream) identify(ctx context.Context, info *jetstream.StreamInfo) error {
	created := info.Created.UnixNano()
	s.missing = time.Time{}
	if name := logName(info); info.Config.Metadata[logMetadata] != "" && name != s.j.logName {
		return fmt.Errorf("%w: %s has a copy of log %s, and the stream is a part of log %s", ErrForeignReplica, s.j.replica.Dir(), s.j.logName, name)
	}
	if s.local.Pos.Seq == 0 {
		s.announce = s.announce || s.local.Pos.Created != 0 && s.local.Pos.Created != created
	} else if why, err := s.compare(ctx, info, created); err != nil {
		return err
	} else if why != "" {
		return s.startOver(why)
	}
	s.shorter = time.Time{}
	switch {
	case s.sinkCreated == 0:
		// The sink does not receive the entries that the replica had when the journal
		// was opened.
		s.sinkCreated, s.sinkSeq = created, s.local.Pos.Seq
	case s.sinkCreated != created:
		s.sinkCreated, s.sinkSeq = created, 0
	}
	s.local.Identified(created)
	return nil
}

// compare returns the reason why the local copy of the stream is invalid; "" if
// it is valid. An error means that the comparison must be retried, or needs the
// operator.
func (s *stream) compare(ctx context.Context, info *jetstream.StreamInfo, created int64) (why string, err error) {
	st := info.State
	replaced, shorter := s.local.Pos.Created != created, st.LastSeq < s.local.Pos.Seq
	if st.Msgs == 0 {
		// Retention keeps at least its own control block, so no gateway purged all of
		// this.
		if !s.j.acceptsLoss() {
			return "", fmt.Errorf("%w: the stream is empty, the copy in %s has messages up to %d", errLost, s.j.replica.Dir(), s.local.Pos.Seq)
		}
		return "the stream is empty, and the loss was accepted", s.publishEpoch(ctx, true)
	}
	switch {
	case replaced:
		return "the stream was deleted and made again", nil
	case shorter && elapsedSince(&s.shorter) < s.j.opts.shorterWait: // a new leader may lag for a moment
		return "", errShorter
	case shorter:
		return "the stream lost messages", s.publishEpoch(ctx, false)
	}
	same, err := s.hasLastRead(ctx)
	if err != nil || same {
		return "", err
	}
	return "the stream lost messages and has others in their place", s.publishEpoch(ctx, false)
}

// hasLastRead reports whether the stream has the last message that was read, or
// may have had it before retention removed it.
func (s *stream) hasLastRead(ctx context.Context) (bool, error) {
	if s.local.Pos.Time == 0 {
		return true, nil
	}
	m, err := s.getMsg(ctx, s.local.Pos.Seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at message %d: %w", s.local.Pos.Seq, err)
	}
	return m.Time.UnixNano() == s.local.Pos.Time, nil
}

// acceptsLoss reports whether the operator has accepted the loss of messages on
// NATS before this start.
func (j *Journal) acceptsLoss() bool {
	select {
	case <-j.complete:
		return false
	default:
		return j.opts.AcceptLoss
	}
}

// startOver requests that the replica is rebuilt from the streams.
func (s *stream) startOver(why string) error {
	s.announce = true
	err := fmt.Errorf("%w: %s", errReplaced, why)
	s.j.repair(repair{reason: err, stream: s.name, wipe: true})
	return err
}

// publishEpoch begins a new epoch of a stream that has lost messages, unless
// another gateway has begun an epoch that the local copy does not have. reset
// means that all earlier messages are void.
func (s *stream) publishEpoch(ctx context.Context, reset bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*apiWait)
	defer cancel()
	subject := s.j.names.Epoch(s.index)
	last, err := s.handle.GetLastMsgForSubject(ctx, subject)
	var after uint64
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
	case err != nil:
		return fmt.Errorf("look for the epoch: %w", err)
	default:
		if b, err := block.Decode(last.Data); err == nil && b.Epoch != s.local.Epoch {
			return nil
		}
		after = last.Sequence
	}
	_, err = s.j.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: block.EncodeEpoch(nuid.Next(), reset)},
		jetstream.WithExpectStream(s.name), jetstream.WithExpectLastSequencePerSubject(after))
	firstElsewhere := hasCode(err, jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant)
	if err != nil && !firstElsewhere {
		return fmt.Errorf("begin a new epoch: %w", err)
	}
	return nil
}

// LogID implements [journal.Journal]. All gateways see the same creation time
// and epoch of a stream. The id changes for all spaces of a stream at once.
func (j *Journal) LogID(_ context.Context, space string) (string, error) {
	if err := j.replica.Ready(); err != nil {
		return "", err
	}
	id := j.streamOf(space).local.LogID()
	if id == nil {
		return "", journal.Unavailable(replica.ErrIncomplete)
	}
	return *id, nil
}
