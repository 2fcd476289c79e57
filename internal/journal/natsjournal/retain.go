package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/natsjournal/block"
	"github.com/meup-protocol/meup/protocol"
)

// retainer holds the pending work of retention.
type retainer struct {
	wake chan struct{} // runs the requested purges

	mu     sync.Mutex
	purges map[string]uint64 // by space: messages below this one
}

// add requests a purge, to run with the next ones.
func (r *retainer) add(space string, below uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.purges == nil {
		r.purges = make(map[string]uint64)
	}
	r.purges[space] = max(r.purges[space], below)
}

// drain removes and returns the requested purges.
func (r *retainer) drain() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	purges := r.purges
	r.purges = nil
	return purges
}

// retain proposes trims, and purges the messages that were trimmed.
func (j *Journal) retain() {
	next := time.NewTimer(jitter(j.opts.RetainEvery))
	defer next.Stop()
	clock, jumped := journal.NewRetentionClock(j.opts.Now, nil), false
	for {
		select {
		case <-j.life.Done():
			return
		case <-j.retainer.wake:
			j.purgeAll(j.life)
		case <-next.C:
			now, ahead := clock.Now()
			if jumps := ahead > journal.ClockJump; jumps != jumped {
				jumped = jumps
				j.log.Warn("the system clock jumped; retention follows it slowly", "ahead", ahead)
			}
			if err := j.propose(j.life, now); err != nil {
				j.log.Warn("retention", "error", err)
			}
			j.purgeAll(j.life) // retry failed purges
			next.Reset(jitter(j.opts.RetainEvery))
		}
	}
}

// propose publishes a control block for each space above its limits. If several
// gateways do, the later blocks trim nothing.
func (j *Journal) propose(ctx context.Context, now time.Time) error {
	if j.opts.Retention == (journal.Retention{}) || j.notReady() != nil {
		return nil
	}
	plan, err := j.replica.TrimPlan(j.opts.Retention, now)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	for space, before := range plan {
		if err := j.publishTrim(ctx, space, before); err != nil {
			return fmt.Errorf("trim %s: %w", space, err)
		}
	}
	return nil
}

func (j *Journal) publishTrim(ctx context.Context, space string, before protocol.Seq) error {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	msg := &nats.Msg{Subject: j.names.subject(space, false), Data: block.EncodeTrim(before)}
	_, err := j.js.PublishMsg(ctx, msg, jetstream.WithMsgID("trim."+space+"."+before.String()))
	return err
}

// purgeAll purges trimmed messages from the streams. All gateways do; only the
// first finds any.
func (j *Journal) purgeAll(ctx context.Context) {
	for space, below := range j.retainer.drain() {
		err := j.purge(ctx, space, below)
		if err == nil {
			continue
		}
		j.log.Debug("purge is tried again later", "space", space, "error", err)
		j.retainer.add(space, below)
	}
}

// purge removes the blocks without state entries of a space up to (exclusive) a
// message, as far as the guards allow.
func (j *Journal) purge(ctx context.Context, space string, below uint64) error {
	s := j.streams[j.names.bucket(space)]
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
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) && !isGone(err) {
			return fmt.Errorf("delete message %d: %w", seq, err)
		}
	}
	err = handle.Purge(ctx, jetstream.WithPurgeSubject(j.names.subject(space, false)), jetstream.WithPurgeSequence(safe))
	if err != nil {
		return err
	}
	return j.replica.Purged(space, safe, remove)
}

// isGone reports whether err means that the message to delete was already
// deleted by another gateway.
func isGone(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeNoMessage
}
