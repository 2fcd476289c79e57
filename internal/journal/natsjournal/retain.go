package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/kit/natsconn"
	"github.com/meup-protocol/meup/protocol"
)

// retain proposes trims, and purges the messages that were trimmed.
func (j *Journal) retain() {
	next := time.NewTimer(natsconn.Jitter(min(j.opts.RetainEvery, j.opts.firstRetain)))
	defer next.Stop()
	clock := journal.NewRetentionClock(j.opts.Now, j.log)
	for {
		select {
		case <-j.life.Done():
			return
		case <-j.purgeRequests:
			j.purgeAll(j.life)
		case <-next.C:
			if j.notReady() != nil {
				next.Reset(natsconn.Jitter(min(j.opts.RetainEvery, j.opts.firstRetain)))
				continue
			}
			now := clock.Now()
			if j.opts.Retention.Age > 0 {
				var err error
				now, err = j.retentionTime(now)
				if err != nil {
					j.log.Warn("retention by age waits", "error", err)
				}
			}
			if err := j.propose(j.life, j.opts.Retention, now); err != nil {
				j.log.Warn("retention", "error", err)
			}
			j.purgeAll(j.life) // retry failed purges
			next.Reset(natsconn.Jitter(j.opts.RetainEvery))
		}
	}
}

// retentionTime returns the earlier one of the times of this gateway and of the leader of the
// first stream: one clock that is ahead must not drop the log of all gateways. It is zero
// with an error.
func (j *Journal) retentionTime(own time.Time) (time.Time, error) {
	ctx, cancel := context.WithTimeout(j.life, apiWait)
	defer cancel()
	handle, err := j.js.Stream(ctx, j.names.Stream(0))
	if err == nil {
		err = j.opts.natsTimeFault
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("ask NATS for its time: %w", noAnswer(err))
	}
	server := handle.CachedInfo().TimeStamp
	ahead := own.Sub(server)
	if ahead > time.Minute && !j.clockAhead {
		j.log.Warn("the clock of this gateway is ahead of NATS; retention follows NATS: correct the clock that is wrong", "ahead", ahead)
	}
	j.clockAhead = ahead > time.Minute
	return own.Add(-max(0, ahead)), nil
}

// propose publishes a control block for each space above its limits. If several
// gateways do, the later blocks trim nothing.
func (j *Journal) propose(ctx context.Context, limits journal.Retention, now time.Time) error {
	plan, err := j.replica.TrimPlan(limits, now)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	var failed error // of some spaces, which keep their entries
	for space, before := range plan {
		if failed != nil && j.notReady() != nil {
			break
		}
		base, err := j.replica.NextBase(ctx, space, before, j.opts.Fold)
		if size := int64(len(base.Data)); size+controlOverhead > j.nc.MaxPayload() {
			j.log.Warn("the base of a space is larger than a message of NATS; a new gateway will count its turns anew", "space", space, "bytes", size)
		} else if err == nil && base.Before > 0 {
			err = j.publishControl(ctx, "base", space, before, encodeBase(base))
		}
		if err == nil {
			err = j.publishControl(ctx, "trim", space, before, encodeTrim(before))
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("trim %s: %w", space, err))
		}
	}
	return failed
}

// publishControl publishes a control block, once for each Seq of a space. The purge
// that follows a trim keeps both, since they follow the trimmed entries.
func (j *Journal) publishControl(ctx context.Context, name, space string, before protocol.Seq, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	msg := &nats.Msg{Subject: j.names.Subject(space, false), Data: data}
	_, err := j.js.PublishMsg(ctx, msg, jetstream.WithMsgID(name+"."+space+"."+before.String()))
	return err
}

// addPurge adds the messages of a space below this one to the next purge.
func (j *Journal) addPurge(space string, below uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.purges[space] = max(j.purges[space], below)
}

// purgeAll purges trimmed messages from the streams. All gateways do; only the
// first finds any.
func (j *Journal) purgeAll(ctx context.Context) {
	j.mu.Lock()
	purges := j.purges
	j.purges = make(map[string]uint64)
	j.mu.Unlock()
	for space, below := range purges {
		if err := j.purge(ctx, space, below); err != nil {
			j.log.Debug("purge is tried again later", "space", space, "error", err)
			j.addPurge(space, below)
		}
	}
}

// purge removes the blocks without state entries of a space up to (exclusive) a
// message, as far as the guards allow.
func (j *Journal) purge(ctx context.Context, space string, below uint64) error {
	s := j.streamOf(space)
	if s.use.Load() != unneeded {
		return errComparing // the stream may be another one than the one that was trimmed
	}
	safe, remove, err := j.replica.PurgeBound(space, below)
	if err != nil {
		return fmt.Errorf("read guards: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*apiWait)
	defer cancel()
	handle, err := j.js.Stream(ctx, s.name)
	if err != nil {
		return err
	}
	for _, seq := range remove {
		err := handle.DeleteMsg(ctx, seq)
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) && !hasCode(err, codeNoMessage) {
			return fmt.Errorf("delete message %d: %w", seq, err)
		}
	}
	err = handle.Purge(ctx, jetstream.WithPurgeSubject(j.names.Subject(space, false)), jetstream.WithPurgeSequence(safe))
	if err != nil {
		return err
	}
	return j.replica.Purged(space, safe, remove)
}
