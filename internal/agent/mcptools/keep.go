package mcptools

import (
	"context"
	"math/rand/v2"
	"time"
)

// steady is how long a server must have lived for its next death to begin the
// backoff anew.
const steady = 30 * time.Second

// keep restarts the server whenever it ends, until ctx does.
func (s *server) keep(ctx context.Context) {
	defer s.retired.Wait()
	pause := s.opts.MinBackoff
	for {
		started := time.Now()
		rest, ended := s.watch(ctx)
		if ctx.Err() != nil {
			rest()
			return
		}
		if time.Since(started) > steady {
			pause = s.opts.MinBackoff
		}
		again := s.again(ctx, &pause)
		s.retired.Go(rest)
		if !again {
			return
		}
		s.opts.OnRestart()
		if ended { // it may be another version that runs now
			s.notice(toolsChanged, nil)
			s.notice(promptsChanged, nil)
			s.notice(resourcesChanged, nil)
		}
	}
}

// again starts the server until it runs; it reports whether it does.
func (s *server) again(ctx context.Context, pause *time.Duration) bool {
	for {
		s.log.Warn("tool server lost; starting it again", "in", *pause)
		if !sleep(ctx, jitter(*pause)) {
			return false
		}
		*pause = min(2**pause, s.opts.MaxBackoff)
		err := s.start(ctx)
		if err == nil {
			return true
		}
		s.log.Warn("tool server does not start", "err", err)
	}
}

// watch returns when there must be another session, and whether this one has
// ended; the server is then marked as away. A session that merely hears no
// more of what the server says unasked is used until there is another one;
// rest ends it.
func (s *server) watch(ctx context.Context) (rest func(), ended bool) {
	session := s.live
	over := make(chan struct{})
	go func() { // ends with the session, which rest waits for
		_ = session.Wait()
		close(over)
	}()
	rest = func() {
		_ = session.Close() // and with it the process, if it still lives
		<-over
	}
	for {
		select {
		case <-ctx.Done():
			return rest, false
		case <-over:
			s.gone(session)
			rest()
			return func() {}, true
		case <-s.deaf:
			s.log.Info("tool server's notifications have ended")
			return rest, false
		case b := <-s.broken:
			if b == session {
				_ = session.Close()
			}
		case <-s.changed:
			s.relist(ctx, session)
		}
	}
}

func jitter(d time.Duration) time.Duration {
	return d/2 + time.Duration(rand.Int64N(int64(d/2)+1))
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
