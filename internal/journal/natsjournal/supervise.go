package natsjournal

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/nats-io/nats.go"
)

const (
	// watchEvery is how often a change of readiness is looked for.
	watchEvery = 500 * time.Millisecond
	// repairMin and repairMax are the pauses between two repairs of the
	// replica; after calm it begins with the short one again.
	repairMin = 100 * time.Millisecond
	repairMax = 30 * time.Second
	calm      = time.Minute
)

// repair asks for the replica to be brought in order.
type repair struct {
	reason error
	stream string // where it was noticed
	wipe   bool   // it is wrong, not only damaged

	// second is the path of a second copy that is to take the place of the
	// replica; it has these positions, and these streams differed.
	second    string
	positions []position
	differs   map[int]bool
	done      chan struct{} // closed when nothing uses the second copy any more; may be nil
}

func (r *repair) finish() {
	if r.done != nil {
		close(r.done)
	}
}

// repair stops all streams and has the replica repaired. It does not wait.
func (j *Journal) repair(r repair) {
	select {
	case j.repairs <- r:
	default: // one is on its way; if it was the wrong one, this comes again
		r.finish()
	}
}

// supervise runs the streams and repairs the replica when they cannot use it.
func (j *Journal) supervise() {
	if !j.identifyUntilKnown() {
		return
	}
	pause := repairMin
	for {
		start := time.Now()
		r, ok := j.runStreams()
		if !ok {
			return
		}
		j.fallBehind()
		if time.Since(start) > calm {
			pause = repairMin
		}
		for mended := false; !mended; {
			if !j.rest(pause) {
				return // the replica may be closed
			}
			pause = min(2*pause, repairMax)
			mended = j.mend(r)
		}
		r.finish()
	}
}

// identifyUntilKnown runs identifyLog until it succeeds. false: the journal is
// closed instead.
func (j *Journal) identifyUntilKnown() bool {
	for pause := restartMin; ; pause = min(2*pause, restartMax) {
		err := j.identifyLog(j.life)
		if err == nil {
			return true
		}
		if errors.Is(err, errAgain) {
			continue
		}
		for _, s := range j.streams {
			s.setHealth(err)
		}
		if errors.Is(err, ErrForeignReplica) || errors.Is(err, errUnsuitable) {
			j.giveUp(err)
		}
		if !j.rest(pause) {
			return false
		}
	}
}

// rest waits and reports whether to go on.
func (j *Journal) rest(d time.Duration) bool {
	select {
	case <-j.life.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// runStreams follows all streams until one asks for a repair. ok is false when
// the journal is closed instead.
func (j *Journal) runStreams() (r repair, ok bool) {
	ctx, cancel := context.WithCancel(j.life)
	defer cancel()
	var running sync.WaitGroup
	if err := j.replica.setLogName(j.logName); err != nil {
		j.repair(repair{reason: err})
	}
	for _, s := range j.streams {
		if err := s.load(); err != nil {
			j.repair(repair{reason: err, stream: s.name})
			break
		}
	}
	if len(j.repairs) == 0 {
		for _, s := range j.streams {
			running.Go(func() { s.run(ctx) })
		}
	}
	select {
	case r = <-j.repairs:
		ok = true
	case <-ctx.Done():
	}
	cancel()
	running.Wait()
	select {
	case same := <-j.repairs: // of the same trouble
		same.finish()
	default:
	}
	return r, ok
}

// mend brings the replica in order. false: to be tried again.
func (j *Journal) mend(r repair) bool {
	log := j.log.With("folder", j.replica.dir, "stream", r.stream, "reason", r.reason)
	if broken := j.replica.db == nil || j.replica.db.Err() != nil; broken && !r.wipe {
		err := j.replica.reopen()
		if err == nil {
			log.Info("replica is open again")
			return true
		}
		if !pebble.IsCorruptionError(err) {
			log.Warn("replica cannot be written", "error", err)
			return false
		}
	}
	if r.second != "" {
		if err := j.adopt(r); err != nil {
			log.Error("the second copy of the log is not used", "error", err)
			return j.replica.db != nil
		}
		return true
	}
	if r.wipe {
		if err := j.setAside(r.reason); err != nil {
			log.Error("replica cannot be made", "error", err)
			return false
		}
		return true
	}
	log.Warn("replica is made again from NATS")
	if err := j.replica.wipe(); err != nil {
		log.Error("replica cannot be made", "error", err)
		return false
	}
	return true
}

// setAside keeps a replica that is good but not of the log on NATS, and begins
// an empty one.
func (j *Journal) setAside(reason error) error {
	name, err := j.replica.setAside(time.Now())
	if err != nil {
		return err
	}
	j.log.Error("the local copy of the log differs from NATS: it is kept aside, and a new one is made from NATS",
		"reason", reason, "kept", name)
	return nil
}

// watch follows the connection and says when readiness changes.
func (j *Journal) watch() {
	changes := j.nc.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
	defer func(c chan nats.Status) { j.nc.RemoveStatusListener(c) }(changes)
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	j.noteConnection(j.nc.IsConnected())
	ready := true
	for {
		select {
		case <-j.life.Done():
			return
		case status, ok := <-changes:
			if !ok { // the connection was closed for good
				changes = nil
			}
			j.noteConnection(status == nats.CONNECTED && ok)
		case <-ticker.C:
			ready = j.noteReadiness(ready)
		}
	}
}

// noteConnection starts all streams anew after a reconnect: what was delivered
// meanwhile is lost to this gateway.
func (j *Journal) noteConnection(connected bool) {
	j.mu.Lock()
	wasDown := !j.downSince.IsZero()
	switch {
	case connected:
		j.downSince = time.Time{}
	case !wasDown:
		j.downSince = time.Now()
	}
	j.mu.Unlock()
	if !connected || !wasDown {
		return
	}
	for _, s := range j.streams {
		signal(s.resync)
	}
}

// retryAll ends the pauses of the streams that wait to be followed anew: what
// works for one stream again may work for the others.
func (j *Journal) retryAll() {
	for _, s := range j.streams {
		signal(s.retries)
	}
}

// noteReadiness logs a change of readiness and returns what it is now.
func (j *Journal) noteReadiness(before bool) bool {
	reason := j.notReady()
	if errors.Is(reason, errClosed) {
		return before
	}
	switch {
	case before && reason != nil:
		j.log.Warn("log is not available", "reason", reason)
	case !before && reason == nil:
		j.log.Info("log is available")
	}
	return reason == nil
}
