package mcptools

import (
	"context"
	"math/rand/v2"
	"time"
)

// stableUptime is the uptime after which the backoff of a server is reset.
const stableUptime = 30 * time.Second

// supervise restarts the server whenever it ends, until ctx ends.
func (s *server) supervise(ctx context.Context) {
	defer s.retired.Wait()
	pause := s.opts.MinBackoff
	for {
		started := time.Now()
		rest, ended := s.watch(ctx)
		if ctx.Err() != nil {
			rest()
			return
		}
		if time.Since(started) > stableUptime {
			pause = s.opts.MinBackoff
		}
		again := s.restart(ctx, &pause)
		s.retired.Go(rest)
		if !again {
			return
		}
		s.opts.OnRestart()
		if ended { // the new process may be another version
			s.notice(toolsChanged, nil)
			s.notice(promptsChanged, nil)
			s.notice(resourcesChanged, nil)
		}
	}
}

// restart starts the server until it runs, and reports whether it does.
func (s *server) restart(ctx context.Context, pause *time.Duration) bool {
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

// watch returns when a new session is needed. It reports whether the current
// session has ended; the server is then marked as gone. A session that only no
// longer receives notifications is used until its replacement is ready; rest
// closes it.
func (s *server) watch(ctx context.Context) (rest func(), ended bool) {
	session := s.live
	over := make(chan struct{})
	go func() { // ends with the session, which rest waits for
		_ = session.Wait()
		close(over)
	}()
	rest = func() {
		_ = session.Close() // also ends the process
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
		case <-s.noticesEnded:
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
