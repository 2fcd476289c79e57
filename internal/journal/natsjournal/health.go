package natsjournal

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// checks asks JetStream from time to time how a stream is, beside the reading:
// an answer that is late must not delay what is delivered. It is owned by
// stream.run.
type checks struct {
	s       *stream
	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup

	ticker  *time.Ticker
	listen  *time.Ticker
	asking  bool
	asked   time.Time
	answers chan streamAnswer // room for one: there is one question at a time
}

type streamAnswer struct {
	info *jetstream.StreamInfo
	gaps int    // that were passed when it was asked
	last uint64 // of the messages that the stream has, if it goes on after the position
	err  error
}

func (s *stream) newChecks(ctx context.Context) *checks {
	c := &checks{s: s, ticker: time.NewTicker(checkEvery), listen: time.NewTicker(listenEvery), answers: make(chan streamAnswer, 1)}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// ask starts a question, unless there was one just now.
func (c *checks) ask() {
	if now := time.Now(); !c.asking && now.Sub(c.asked) >= checkAgain/2 {
		c.asking, c.asked = true, now
		pos, gaps := c.s.pos.seq, c.s.gaps
		c.workers.Go(func() {
			a := streamAnswer{gaps: gaps}
			var handle jetstream.Stream
			if handle, a.err = c.s.open(c.ctx); a.err == nil {
				a.info = handle.CachedInfo()
				if a.info.State.LastSeq > pos {
					a.last, a.err = c.s.lastStored(c.ctx, handle)
				}
			}
			c.answers <- a
		})
	}
}

func (c *checks) stop() {
	c.ticker.Stop()
	c.listen.Stop()
	c.cancel()
	c.workers.Wait()
}

// assess draws the conclusions from an answer. An error: a new feed is needed.
func (s *stream) assess(a streamAnswer, f *feed, c *checks, live bool) error {
	if a.err == nil && (a.info.Created.UnixNano() != s.pos.created || a.info.State.LastSeq < s.pos.seq ||
		a.info.State.Msgs == 0 && s.pos.seq > 0) {
		return errAgain // the next session finds out what that means
	}
	if a.err == nil && a.info.Cluster != nil && a.info.Cluster.Leader == "" {
		a.err = errNoLeader
	}
	if a.err != nil {
		s.setHealth(a.err)
		c.ticker.Reset(checkAgain)
		return nil
	}
	if live {
		s.setHealth(nil)
	}
	if a.gaps == s.gaps {
		s.settle(a.info)
	}
	c.ticker.Reset(checkEvery)
	if a.last <= s.pos.seq || len(f.items) > 0 {
		s.stalled = 0
		return nil
	}
	// The stream has more than was delivered. That may be a matter of moments.
	if s.stalled == s.pos.seq+1 {
		s.stalled = 0
		return errStuck
	}
	s.stalled = s.pos.seq + 1
	c.ticker.Reset(checkAgain)
	return nil
}

// info asks JetStream about the stream.
func (s *stream) info(ctx context.Context) (*jetstream.StreamInfo, error) {
	handle, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	return handle.CachedInfo(), nil
}

// open asks JetStream for the stream, with its current info.
func (s *stream) open(ctx context.Context) (jetstream.Stream, error) {
	if !s.j.nc.IsConnected() {
		return nil, errDisconnected
	}
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	handle, err := s.j.js.Stream(ctx, s.name)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, errNoAnswer
	}
	return handle, err
}
