package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/journal"
)

// errForeignReplica means that the folder has a copy of another log.
var errForeignReplica = errors.New("the data folder belongs to another log")

// errComparing keeps the local copy in its place while other streams need it.
var errComparing = errors.New("the local copy is needed until each stream is compared with it")

// errReplaced means that the local copy of a stream is not a copy of the stream
// on NATS.
var errReplaced = errors.New("the local copy is built anew")

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
		return fmt.Errorf("%w: NATS has log %q, and the copy is one of log %s", errForeignReplica, found, o)
	}
	mine, hasEntries, err := j.replica.Name()
	if err != nil {
		return err
	}
	if hasEntries && found != mine && (found != "" || !j.opts.RestoreLog) {
		reason := fmt.Errorf("%w: no stream %s is there, and %s has a copy of log %s. %s", errLost, j.names.Stream(0), j.replica.Dir(), mine, remedies)
		if found != "" {
			reason = fmt.Errorf("%w: %s has a copy of log %s, and NATS at %s has log %s. If that log is new and this copy is to be put back: "+
				"stop all gateways, remove its streams (nats stream rm), and start this gateway first, with --restore-log",
				errForeignReplica, j.replica.Dir(), mine, j.nc.ConnectedUrlRedacted(), found)
		}
		if !j.opts.AcceptLoss {
			return reason
		}
		if err := j.setAside(reason); err != nil {
			return err
		}
	}
	if found == "" {
		j.logName = uuid.NewString()
		if hasEntries && j.opts.RestoreLog {
			j.logName = mine
		}
		if _, err := j.streams[0].ensure(ctx); err != nil {
			return err
		}
		return errAgain // another gateway may have created it
	}
	j.logName = found
	return j.replica.SetName(found)
}

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
		return fmt.Errorf("%w: %s has a copy of log %s, and the stream is a part of log %s", errForeignReplica, s.j.replica.Dir(), s.j.logName, name)
	}
	if s.local.Pos.Seq == 0 {
		s.announce = s.announce || s.local.Pos.Created != 0 && s.local.Pos.Created != created
	} else if why, err := s.compare(ctx, info); s.j.replica.ForeignFormat() && errors.Is(err, journal.ErrDamaged) {
		return s.startOver("it has another format, and cannot be compared: " + err.Error())
	} else if err != nil {
		return err
	} else if why != "" {
		return s.startOver(why)
	}
	s.shorter = time.Time{}
	if s.j.replica.ForeignFormat() {
		return s.makeAgain("it has another format", false)
	}
	switch {
	case s.sinkCreated == 0:
		// The sink does not receive the entries that the replica had when the journal
		// was opened.
		s.sinkCreated, s.sinkSeq = created, s.local.Pos.Seq
	case s.sinkCreated != created:
		s.sinkCreated, s.sinkSeq = created, 0
	}
	s.local.Identified(created)
	s.use.Store(unneeded)
	return nil
}

// compare returns the reason why the local copy of the stream is invalid; "" if
// it is valid. An error means that the comparison must be retried, or needs the
// operator: a stream that lacks entries of the copy does not go on by itself.
func (s *stream) compare(ctx context.Context, info *jetstream.StreamInfo) (why string, err error) {
	st := info.State
	replaced := s.local.Pos.Created != info.Created.UnixNano()
	empty := st.Msgs == 0 // retention keeps at least its own control block
	allPurged := empty && st.LastSeq > 0
	purged := allPurged
	switch {
	case empty:
	case st.LastSeq < s.local.Pos.Seq:
		if elapsedSince(&s.shorter) < s.j.opts.shorterWait { // a new leader may lag for a moment
			return "", errShorter
		}
	default:
		m, err := s.getMsg(ctx, s.local.Pos.Seq)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			var has bool
			has, purged, err = s.hasState(ctx)
			if err != nil {
				return "", err
			}
			if !replaced && has {
				return "", nil // retention removed it
			}
		case err != nil:
			return "", fmt.Errorf("look at message %d: %w", s.local.Pos.Seq, err)
		case s.local.Pos.Time == m.Time.UnixNano(), s.local.Pos.Time == 0 && !replaced:
			s.announce = s.announce || replaced // NATS has restored it, and its log has another id now
			return "", nil
		}
	}
	last, after, err := s.lastDecision(ctx)
	if err != nil {
		return "", err
	}
	if decided, err := s.isDecision(last); err != nil {
		return "", err
	} else if decided {
		return "it was decided how the log goes on without messages that NATS has lost", nil
	}
	l, err := s.findLoss(ctx, info)
	if err != nil {
		return "", err
	}
	if l.entries == 0 && last.Hold.Seq != s.local.Pos.Seq { // with a hold, an epoch has to follow
		return "NATS has lost messages, but no entry", nil
	}
	if last.Hold.Seq < s.local.Pos.Seq && !allPurged && s.j.opts.copyOf == "" {
		if err := s.holdBack(ctx, info, after); err != nil {
			return "", err
		}
		return "", errAgain // the stream has one more message
	}
	switch {
	case !s.j.decides():
		return "", s.describeLoss(l, info)
	case !s.j.opts.RestoreLog:
		return "the loss of messages on NATS was accepted", s.decide(ctx, allPurged)
	case purged && !replaced:
		// Copies could not tell its new messages from the ones that they had read.
		return "", fmt.Errorf("%w: the stream was purged. Remove it (nats stream rm %s), and the entries are put into a new one", errLost, s.name)
	case last.Hold.Seq > s.local.Pos.Seq && !s.j.opts.AcceptLoss:
		if err := s.needCopy(restored); err != nil {
			return "", err
		}
		return "", fmt.Errorf("%w: the copy at %s has messages of it up to %d, this one up to %d. Start that gateway with --restore-log, too; "+
			"or this one with --restore-log and --accept-loss, if that copy is lost", errLonger, last.Hold.By, last.Hold.Seq, s.local.Pos.Seq)
	}
	if s.use.Load() != restored {
		if err := s.restore(ctx, l); err != nil {
			return "", err
		}
	}
	// No gateway goes on before each stream has its entries.
	if err := s.needCopy(restored); err != nil {
		return "", err
	}
	return "the entries that NATS had lost were put back", s.decide(ctx, false)
}

// startOver sets the replica aside, which is not a copy of the stream.
func (s *stream) startOver(why string) error {
	s.announce = true
	return s.makeAgain(why, true)
}

// makeAgain requests that the replica is rebuilt from the streams, when each of them is
// valid or an operator has decided on its loss. wipe means that the replica is wrong. One that
// is wrong for any stream is kept.
func (s *stream) makeAgain(why string, wipe bool) error {
	use := unneeded
	if wipe {
		use = wrong
	}
	if err := s.needCopy(use); err != nil {
		return err
	}
	for _, other := range s.j.streams {
		wipe = wipe || other.use.Load() == wrong
	}
	err := fmt.Errorf("%w: %s", errReplaced, why)
	s.j.repair(repair{reason: err, stream: s.name, wipe: wipe})
	return err
}

// The local copy of all streams is used until a loss was decided on in each of them.
const (
	needed   int32 = iota // it was not compared with the stream yet, or awaits a decision
	restored              // the stream has everything of it, but no epoch yet
	unneeded              // it is a copy of the stream on NATS, or will be made again
	wrong                 // it is no copy of the stream on NATS, and will be made again
)

// needCopy records the use of the copy for this stream. An error means that another stream
// has not come as far.
func (s *stream) needCopy(use int32) error {
	s.use.Store(use)
	for _, other := range s.j.streams {
		if other.use.Load() < min(use, unneeded) {
			return fmt.Errorf("%w: %s", errComparing, other.name)
		}
	}
	return nil
}

// decides reports whether the operator has decided on a loss before this start: accept
// or restore.
func (j *Journal) decides() bool {
	select {
	case <-j.complete:
		return false
	default:
		return j.opts.AcceptLoss || j.opts.RestoreLog
	}
}

// LogID implements [journal.Journal]. All gateways see the same creation time
// and epoch of a stream. The id changes for all spaces of a stream at once.
func (j *Journal) LogID(_ context.Context, space string) (string, error) {
	if err := j.replica.Ready(); err != nil {
		return "", err
	}
	id := j.streamOf(space).local.LogID()
	if id == nil {
		return "", journal.Unavailable(errIncomplete)
	}
	return *id, nil
}
