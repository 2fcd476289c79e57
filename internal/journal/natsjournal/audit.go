package natsjournal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// defaultAuditEvery is the pause between two reports of a gateway.
	defaultAuditEvery = 5 * time.Second
	// defaultVerifyAgain is the minimum time between two verifications of a
	// stream.
	defaultVerifyAgain = 10 * time.Minute
	// auditQueue bounds the reports in the queue; further ones are dropped.
	auditQueue = 64
	// auditConfirm is the number of consecutive reports of one gateway that must
	// differ.
	auditConfirm = 2
	// maxSuspicions bounds the number of unconfirmed differences.
	maxSuspicions = 1024
	// verifyWait bounds each wait of a verification for a common position.
	verifyWait = time.Minute
	// verifyPoll is the interval at which compareCopies looks for a common
	// position.
	verifyPoll = 50 * time.Millisecond
)

var errDiverged = errors.New("the local copy differs from the stream")

// report is the message with which a gateway publishes the digests of its
// copies.
type report struct {
	Format  string         `json:"format"` // other formats are not comparable
	Gateway string         `json:"gateway"`
	Streams []streamReport `json:"streams"`
}

type streamReport struct {
	Index int    `json:"index"`
	Log   string `json:"log"`
	Marks []mark `json:"marks"`
}

// auditor compares the copy of this gateway with the copies of the others. A
// difference does not show which copy is wrong, so each gateway that sees one
// makes a second copy from NATS, and replaces its own if they differ.
type auditor struct {
	j        *Journal
	incoming chan report

	// Owned by audit.
	suspicions map[suspect]int // consecutive reports that differed
	verified   map[int]time.Time

	// For tests.
	compared      atomic.Int64 // marks that were equal
	verifications atomic.Int64
}

// suspect identifies a pair of copies of a stream: this one and another
// gateway's.
type suspect struct {
	stream  int
	gateway string
}

// audit sends and compares reports until the journal is closed.
func (a *auditor) audit() {
	sub, err := a.j.nc.Subscribe(a.j.names.Audit(), a.receive)
	if err != nil {
		a.j.log.Warn("copies of the log are not compared", "error", err)
		return
	}
	defer func() { _ = sub.Unsubscribe() }() // only fails on a closed connection
	ticker := time.NewTicker(a.j.opts.auditEvery)
	defer ticker.Stop()
	for {
		select {
		case <-a.j.life.Done():
			return
		case <-ticker.C:
			a.send()
		case r := <-a.incoming:
			for _, s := range r.Streams {
				a.compare(r.Gateway, s)
			}
		}
	}
}

// receive handles one report. nats.go calls it; it does not block.
func (a *auditor) receive(m *nats.Msg) {
	var r report
	if json.Unmarshal(m.Data, &r) != nil || r.Format != replicaFormat || r.Gateway == a.j.gateway {
		return
	}
	select {
	case a.incoming <- r:
	default: // a later report replaces it
	}
}

// send publishes the digests of all streams.
func (a *auditor) send() {
	r := report{Format: replicaFormat, Gateway: a.j.gateway}
	for i, s := range a.j.streams {
		if log, list := s.local.Marks.Latest(); log != "" && s.use.Load() == unneeded {
			r.Streams = append(r.Streams, streamReport{i, log, list})
		}
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = a.j.nc.Publish(a.j.names.Audit(), data)
	}
	if err != nil {
		a.j.log.Debug("report is not sent", "error", err)
	}
}

// compare compares another gateway's digests with the digests of this copy.
// When they differ repeatedly, it verifies this copy.
func (a *auditor) compare(gateway string, r streamReport) {
	if r.Index < 0 || r.Index >= len(a.j.streams) {
		return
	}
	s := a.j.streams[r.Index]
	theirs, mine, ok := s.local.Marks.Compare(r.Log, r.Marks)
	if !ok || s.use.Load() != unneeded { // NATS may have lost messages that the copy has
		return
	}
	key := suspect{r.Index, gateway}
	if mine == theirs.Digest {
		a.compared.Add(1)
		delete(a.suspicions, key)
		return
	}
	if len(a.suspicions) >= maxSuspicions {
		clear(a.suspicions)
	}
	a.suspicions[key]++
	if a.suspicions[key] < auditConfirm {
		return
	}
	if last, ok := a.verified[r.Index]; ok && time.Since(last) < a.j.opts.verifyAgain {
		return
	}
	s.log.Error("the copies of a stream differ between gateways: this one is compared with a second copy from NATS",
		"sequence", theirs.Seq, "digest", mine, "other_gateway", gateway, "other_digest", theirs.Digest)
	a.verifications.Add(1)
	if err := a.verify(s); err != nil && a.j.life.Err() == nil {
		s.log.Error("the copy of a stream is not verified", "error", err)
	}
	a.verified[r.Index] = time.Now()
	clear(a.suspicions)
}

// verify makes a second copy of the log from NATS and compares it with this
// one, which remains in use meanwhile. If the stream differs, the second copy
// replaces the first.
func (a *auditor) verify(s *stream) error {
	j := a.j
	dir := j.replica.SecondDir()
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove an earlier second copy: %w", err)
	}
	second, err := Open(j.life, Options{
		Conn: j.nc, Prefix: j.opts.Prefix, Replicas: j.opts.Replicas, ReplicaDir: dir,
		Logger: j.log.With("copy", "second"), reasonEvery: verifyWait, streams: j.opts.streams, copyOf: j.logName,
	})
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	differs, err := a.compareCopies(s, second)
	err = errors.Join(err, second.Close()) // its streams have stopped now
	if err == nil && differs[s.index] {
		return a.replace(s, second, differs)
	}
	if err == nil {
		s.log.Warn("this gateway's copy of the stream is right: another gateway's is wrong")
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// compareCopies returns the streams of the journal that differ from a second
// copy. It waits until s can be compared.
func (a *auditor) compareCopies(s *stream, second *Journal) (differs map[int]bool, err error) {
	ctx, cancel := context.WithTimeout(a.j.life, verifyWait)
	defer cancel()
	ticker := time.NewTicker(verifyPoll)
	defer ticker.Stop()
	for {
		differs = make(map[int]bool)
		comparable := false
		for i, own := range a.j.streams {
			log, list := second.streams[i].local.Marks.Latest()
			theirs, mine, ok := own.local.Marks.Compare(log, list)
			comparable = comparable || ok && own == s
			if ok && mine != theirs.Digest {
				differs[i] = true
				own.log.Error("the copy of a stream differs from NATS", "sequence", theirs.Seq, "digest", mine, "right_digest", theirs.Digest)
			}
		}
		if comparable {
			return differs, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("no common position: %w", ctx.Err())
		case <-ticker.C:
		}
	}
}

// replace requests that the second copy, which is closed, replaces the local
// one, and waits for that: the next verification uses the same folder. The sink
// must first receive everything that the second copy has, since it would never
// receive it later.
func (a *auditor) replace(s *stream, second *Journal, differs map[int]bool) error {
	ctx, cancel := context.WithTimeout(a.j.life, verifyWait)
	defer cancel()
	defer func() { _ = os.RemoveAll(second.replica.Dir()) }() // the next verification tries again
	r := repair{reason: errDiverged, stream: s.name, done: make(chan struct{})}
	for i, own := range a.j.streams {
		pos := second.streams[i].local.Pos
		if err := own.progress.Wait(ctx, pos.Seq); err != nil {
			return fmt.Errorf("wait for message %d of %s: %w", pos.Seq, own.name, err)
		}
		r.positions = append(r.positions, pos)
	}
	r.differs = differs
	a.j.repair(r)
	select {
	case <-r.done:
	case <-a.j.life.Done(): // the supervisor ends as well
	}
	return nil
}

// adopt replaces the replica with the second copy. The streams are stopped.
// Only the streams that differed are announced as replaced; the others
// continue. A copy with messages that NATS may have lost is not replaced.
func (j *Journal) adopt(r repair) error {
	for i, s := range j.streams {
		if s.use.Load() != unneeded {
			return fmt.Errorf("the copy of %s was not compared with NATS yet", s.name)
		}
		if p := r.positions[i]; p.Seq > s.sinkSeq || p.Seq > 0 && p.Created != s.sinkCreated {
			return fmt.Errorf("the second copy is ahead of this one at %s", s.name)
		}
	}
	kept, err := j.replica.Adopt()
	if err != nil {
		return err
	}
	for i, s := range j.streams {
		s.announce = s.announce || r.differs[i]
	}
	j.log.Error("the local copy of the log differed from NATS and was replaced by a second copy", "stream", r.stream, "kept", kept)
	return nil
}
