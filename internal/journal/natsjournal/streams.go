package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/kit/natsconn"
)

const (
	maxReplicas = 5
	// defaultMissingWait is how long a stream that the replica knows must be
	// missing before it counts as lost: a starting cluster may not have loaded it
	// yet.
	defaultMissingWait = 5 * time.Second
	// defaultShorterWait is the same for a stream that ends before the position.
	defaultShorterWait = 3 * time.Second
	// defaultPeersWait is the time that a cluster has to place all replicas.
	defaultPeersWait = 5 * time.Second
	// dedupWindow is how long JetStream remembers the id of a block. Blocks are
	// resent only for seconds.
	dedupWindow = 2 * time.Minute
)

// Error codes of JetStream without a name in its client.
const (
	codeNoPeers      jetstream.ErrorCode = 10005 // no suitable peers for placement
	codeNotClustered jetstream.ErrorCode = 10074 // replicas > 1 in non-clustered mode
	codeNoMessage    jetstream.ErrorCode = 10057 // the message to delete does not exist
	codeNotAvailable jetstream.ErrorCode = 10008 // the cluster has no leader
	codeNoResources  jetstream.ErrorCode = 10023 // for example no disk space
	codeTooLarge     jetstream.ErrorCode = 10054 // message exceeds the stream's maximum
	codeOtherStream  jetstream.ErrorCode = 10060 // another stream has the subject
)

// hasCode reports whether err is JetStream's error with one of the codes.
func hasCode(err error, codes ...jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && slices.Contains(codes, api.ErrorCode)
}

var (
	errMissing = errors.New("the stream is not there")
	errShorter = errors.New("the stream ends before what was read of it")
	// errUnsuitable means that the stream belongs to another application. Retries
	// do not help.
	errUnsuitable = errors.New("the stream was made with settings that lose entries")
)

// replicas is the number of replicas of new streams: the configured number, or
// as many as NATS can host.
type replicas struct {
	mu    sync.Mutex
	n     int
	wait  time.Duration // that a cluster has to place all replicas
	tried time.Time     // when the cluster first had too few peers
}

func (r *replicas) get() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// fewer returns the number of replicas to try after err, or n if fewer do not
// help. A majority of 2 or 4 is as large as one of 3 or 5.
func fewer(n int, err error) int {
	switch {
	case hasCode(err, codeNotClustered):
		return 1
	case hasCode(err, codeNoPeers):
		return max(1, (n-2)|1)
	}
	return n
}

// reduce handles an error from creating a stream with from replicas, and reports
// whether to retry with fewer.
func (r *replicas) reduce(from int, err error) bool {
	n := fewer(from, err)
	if n == from {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n != from {
		return r.n < from // another stream lowered it
	}
	if r.tried.IsZero() {
		r.tried = time.Now()
	}
	if hasCode(err, codeNoPeers) && time.Since(r.tried) < r.wait {
		return false
	}
	r.n, r.tried = n, time.Time{}
	return true
}

// ensure returns the stream's info, and creates the stream if it does not
// exist.
func (s *stream) ensure(ctx context.Context) (*jetstream.StreamInfo, error) {
	handle, err := s.open(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		handle, err = s.create(ctx)
	}
	if err != nil {
		return nil, err
	}
	info := handle.CachedInfo()
	s.handle, s.first = handle, info.State.FirstSeq
	if err := s.checkConfig(info.Config); err != nil {
		return nil, err
	}
	s.replicas.Store(int32(info.Config.Replicas))
	return info, nil
}

// create creates the stream. Several gateways may do so concurrently.
func (s *stream) create(ctx context.Context) (jetstream.Stream, error) {
	if s.j.opts.copyOf != "" {
		return nil, errMissing
	}
	if s.local.Pos.Seq > 0 {
		if elapsedSince(&s.missing) < s.j.opts.missingWait {
			return nil, errMissing
		}
		if l, err := s.findLoss(ctx, nil); err != nil {
			return nil, err
		} else if l.entries > 0 && !s.j.decides() {
			return nil, s.describeLoss(l, nil)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*apiWait)
	defer cancel()
	n := s.j.replicas.get()
	handle, err := s.j.js.CreateStream(ctx, s.config(n))
	switch {
	case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse):
		return s.open(ctx)
	case err != nil && s.j.replicas.reduce(n, err):
		s.j.warnReplicas(s.j.replicas.get(), err)
		return nil, errAgain
	case err != nil:
		return nil, fmt.Errorf("make stream: %w", err)
	}
	return handle, nil
}

func (s *stream) config(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        s.name,
		Description: "The log of a part of the spaces of a MEUP gateway. Its messages must not be removed by hand.",
		Subjects:    []string{s.j.names.All(s.index)},
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardNew,
		Duplicates:  dedupWindow,
		Replicas:    replicas,
		Metadata:    map[string]string{logMetadata: s.j.logName},
	}
}

// checkConfig returns an error if an existing stream cannot hold a log.
func (s *stream) checkConfig(c jetstream.StreamConfig) error {
	var fault string
	switch {
	case len(c.Subjects) != 1 || c.Subjects[0] != s.j.names.All(s.index):
		fault = fmt.Sprintf("its subjects are %q", c.Subjects)
	case c.Retention != jetstream.LimitsPolicy:
		fault = "its retention is " + c.Retention.String()
	case c.MaxAge > 0 || c.Discard == jetstream.DiscardOld && (c.MaxMsgs > 0 || c.MaxBytes > 0) || c.MaxMsgsPerSubject > 0:
		fault = "it drops old messages by itself"
	case c.NoAck || c.DenyPurge || c.Sealed:
		fault = "it takes no acknowledged messages, or cannot be purged"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", errUnsuitable, fault)
}

// addReplicas adds replicas to streams that have fewer than configured, as soon
// as the cluster has the servers. Having too few is no reason to reject a stream.
func (j *Journal) addReplicas() {
	for j.sleep(natsconn.Jitter(j.opts.addEvery)) {
		most := j.opts.Replicas
		var noPlace error
		for _, s := range j.streams {
			n, err := s.addReplicas(j.life, most)
			if fewer(most, err) < most {
				most, noPlace = n, err // the cluster has no place for the others either
			}
			if err != nil {
				j.log.Debug("replicas are added later", "stream", s.name, "error", err)
			}
		}
		if noPlace != nil {
			j.warnReplicas(most, noPlace)
		}
	}
}

// addReplicas gives the stream up to most replicas and returns how many it has
// then, with the error of NATS if it has no place for most.
func (s *stream) addReplicas(ctx context.Context, most int) (n int, noPlace error) {
	n = int(s.replicas.Load())
	if n == 0 || n >= most {
		return n, nil
	}
	handle, err := s.open(ctx)
	if err != nil {
		return n, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*apiWait)
	defer cancel()
	c := handle.CachedInfo().Config
	from := c.Replicas
	for c.Replicas = most; c.Replicas > from; {
		_, err = s.j.js.UpdateStream(ctx, c)
		if err == nil {
			s.log.Info("stream gets more replicas", "from", from, "to", c.Replicas)
			break
		}
		next := fewer(c.Replicas, err)
		if next == c.Replicas {
			return from, err
		}
		c.Replicas, noPlace = next, err
	}
	n = max(from, c.Replicas)
	s.replicas.Store(int32(n))
	return n, noPlace
}

// elapsedSince returns the time since *since, which it sets to now if it is zero.
func elapsedSince(since *time.Time) time.Duration {
	if since.IsZero() {
		*since = time.Now()
	}
	return time.Since(*since)
}
