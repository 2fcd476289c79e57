package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/kit/natsconn"
)

const (
	// watchEvery is the interval at which readiness is checked.
	watchEvery = 500 * time.Millisecond
	// repairMin and repairMax bound the pauses between two repairs of the replica;
	// after calm they start at repairMin again.
	repairMin = 100 * time.Millisecond
	repairMax = 30 * time.Second
	calm      = time.Minute
	// defaultIsolation is how long a server may fail to serve most streams before another
	// one is tried; it doubles up to maxIsolation with each server that also fails.
	defaultIsolation, maxIsolation = 10 * time.Second, 5 * time.Minute
	// outage is the time without a connection after which no server was there: all gateways
	// then meet at the first one that is.
	outage = 2 * time.Second
)

// repair is a request to repair the replica.
type repair struct {
	reason error
	stream string // the stream that noticed the failure
	wipe   bool   // the replica is wrong, not only damaged

	// positions has the positions of a second copy that replaces the replica; nil:
	// there is none. These streams differed.
	positions []position
	differs   map[int]bool
	done      chan struct{} // closed when the second copy is no longer in use; may be nil
}

func (r *repair) finish() {
	if r.done != nil {
		close(r.done)
	}
}

// repair requests that all streams stop and the replica is repaired. It does
// not block.
func (j *Journal) repair(r repair) {
	select {
	case j.repairs <- r:
	default: // a repair is pending; if it does not help, the caller fails again
		r.finish()
	}
}

// supervise waits until it is known which log NATS has, then runs the streams and repairs
// the replica when they cannot use it.
func (j *Journal) supervise() {
	for pause := restartMin; ; pause = min(2*pause, restartMax) {
		err := j.identifyLog(j.life)
		if err == nil {
			break
		}
		if errors.Is(err, errAgain) {
			continue
		}
		for _, s := range j.streams {
			s.setHealth(err)
		}
		if errors.Is(err, errForeignReplica) || errors.Is(err, errUnsuitable) {
			j.failOpen(err)
		}
		if !j.sleep(pause) {
			return
		}
	}
	pause := repairMin
	for {
		start := time.Now()
		r, ok := j.runStreams()
		if !ok {
			return
		}
		j.mu.Lock() // the replica has to be filled again
		for _, s := range j.streams {
			j.lagging[s] = true
			s.setHealth(errCatchingUp)
		}
		j.mu.Unlock()
		if time.Since(start) > calm {
			pause = repairMin
		}
		for repaired := false; !repaired; repaired = j.repairReplica(r) {
			if !j.sleep(pause) {
				return // the replica may be closed by now
			}
			pause = min(2*pause, repairMax)
		}
		r.finish()
	}
}

// sleep waits for d and reports whether to continue: false if the journal was
// closed.
func (j *Journal) sleep(d time.Duration) bool {
	select {
	case <-j.life.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// runStreams follows all streams until one requests a repair. ok is false if
// the journal is closed first.
func (j *Journal) runStreams() (r repair, ok bool) {
	ctx, cancel := context.WithCancel(j.life)
	defer cancel()
	var running sync.WaitGroup
	if err := j.replica.SetName(j.logName); err != nil {
		j.repair(repair{reason: err})
	}
	for _, s := range j.streams {
		if err := s.load(); err != nil {
			foreign := j.replica.ForeignFormat()
			if foreign {
				err = fmt.Errorf("it has another format, and cannot be compared: %w", err)
			}
			j.repair(repair{reason: err, stream: s.name, wipe: foreign})
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
	case same := <-j.repairs: // for the same failure
		same.finish()
	default:
	}
	return r, ok
}

// repairReplica repairs the replica. It returns false if it has to be retried.
func (j *Journal) repairReplica(r repair) bool {
	log := j.log.With("folder", j.replica.Dir(), "stream", r.stream, "reason", r.reason)
	if j.replica.Failed() && !r.wipe {
		damaged, err := j.replica.Reopen()
		switch {
		case err == nil:
			log.Info("replica is open again")
			return true
		case !damaged:
			log.Warn("replica cannot be written", "error", err)
			return false
		}
	}
	var err error
	switch {
	case r.positions != nil:
		err = j.adopt(r)
	case r.wipe:
		err = j.setAside(r.reason)
	default:
		log.Warn("replica is made again from NATS")
		err = j.replica.Rebuild()
	}
	if err != nil {
		log.Error("replica cannot be made", "error", err)
	}
	return err == nil || !j.replica.Failed()
}

// setAside keeps a replica that is intact but not a copy of the log on NATS, or cannot be
// compared with it, and creates an empty one.
func (j *Journal) setAside(reason error) error {
	name, err := j.replica.SetAside()
	if err != nil {
		return err
	}
	j.mu.Lock()
	clear(j.purges) // their messages are those of the former streams
	j.mu.Unlock()
	j.log.Error("the local copy of the log differs from NATS, or cannot be compared with it: it is kept aside, and a new one is made from NATS",
		"reason", reason, "kept", name)
	return nil
}

// watch follows the connection and logs changes of readiness.
func (j *Journal) watch() {
	changes := j.nc.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
	defer func(c chan nats.Status) { j.nc.RemoveStatusListener(c) }(changes)
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	j.onConnectionStatus(j.nc.IsConnected())
	ready := true
	var spread time.Time // when to leave the server at which all gateways met, or zero
	leaving := natsconn.Leaving{Min: j.opts.isolation, Max: maxIsolation, Jitter: natsconn.Jitter}
	for {
		select {
		case <-j.life.Done():
			return
		case status, ok := <-changes:
			if !ok { // the connection was closed for good
				changes = nil
			}
			if j.onConnectionStatus(status == nats.CONNECTED && ok) > outage {
				spread = time.Now().Add(natsconn.Jitter(j.opts.isolation))
			}
		case now := <-ticker.C:
			ready = j.logReadiness(ready)
			service := j.service()
			if leaving.Due(now, service) {
				j.log.Warn("the NATS server does not serve the log: another one is tried",
					"server", j.nc.ConnectedServerName(), "reason", j.notReady())
				_ = j.nc.ForceReconnect() // only fails on a closed connection
			} else if !spread.IsZero() && now.After(spread) && service == natsconn.Served {
				spread = time.Time{}
				if rand.IntN(len(j.nc.Servers())) > 0 { // each server keeps its share
					j.log.Info("another NATS server is used, as all gateways may have met at this one", "server", j.nc.ConnectedServerName())
					_ = j.nc.ForceReconnect()
				}
			}
		}
	}
}

// service reports whether the connected server serves the log. One that has lost the
// rest of its cluster does not serve most streams, while the consumers of the others, which
// are on that server, still send heartbeats. Without other servers that is not of interest.
func (j *Journal) service() natsconn.Service {
	if j.opts.copyOf != "" || !j.nc.IsConnected() || len(j.nc.Servers()) < 2 {
		return natsconn.Unknown
	}
	best, unserved := natsconn.Unserved, 0
	for _, s := range j.streams {
		service := s.service()
		best = max(best, service)
		if service == natsconn.Unserved {
			unserved++
		}
	}
	if 2*unserved > len(j.streams) {
		return natsconn.Unserved
	}
	return best
}

// service is Served also while a feed delivers and only checks get no answer
// in time.
func (s *stream) service() natsconn.Service {
	err := s.healthErr()
	switch {
	case err == nil, s.following.Load() && isAny(err, errNoAnswer, context.DeadlineExceeded):
		return natsconn.Served
	case isUnavailable(err):
		return natsconn.Unserved
	}
	return natsconn.Unknown
}

// isUnavailable reports whether err means that JetStream does not respond, or
// has no leader.
func isUnavailable(err error) bool {
	return hasCode(err, codeNotAvailable) || isAny(err,
		errNoAnswer, errNoLeader, errSilence, context.DeadlineExceeded, nats.ErrNoResponders, jetstream.ErrJetStreamNotEnabled)
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// onConnectionStatus restarts all streams after a reconnect, because messages
// delivered meanwhile did not reach this gateway. It returns how long there was no
// connection, 0 unless one was made now.
func (j *Journal) onConnectionStatus(connected bool) (down time.Duration) {
	j.mu.Lock()
	wasDown := !j.downSince.IsZero()
	if connected && wasDown {
		down = time.Since(j.downSince)
	}
	switch {
	case connected:
		j.downSince = time.Time{}
	case !wasDown:
		j.downSince = time.Now()
	}
	j.mu.Unlock()
	if !connected || !wasDown {
		return 0
	}
	for _, s := range j.streams {
		signal(s.resync)
	}
	return down
}

// logReadiness logs a change of readiness and returns the current one.
func (j *Journal) logReadiness(before bool) bool {
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
