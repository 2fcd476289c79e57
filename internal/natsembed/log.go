package natsembed

import (
	"fmt"
	"log/slog"
	"sync"
)

// logger hands what the server says to a slog.Logger. Its notices are about
// itself and go to Debug.
type logger struct {
	log *slog.Logger

	mu  sync.Mutex
	bad string // why it cannot run
}

// Noticef is told of what the server does.
func (l *logger) Noticef(format string, v ...any) { l.log.Debug(say(format, v)) }

// Warnf is told of what somebody should look at.
func (l *logger) Warnf(format string, v ...any) { l.log.Warn(say(format, v)) }

// Errorf is told of what went wrong.
func (l *logger) Errorf(format string, v ...any) { l.log.Error(say(format, v)) }

// Fatalf is told why the server cannot run. It does not end the process; Start
// returns what was said.
func (l *logger) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bad = fmt.Sprintf(format, v...)
}

// Debugf and Tracef show messages and are not used.
func (l *logger) Debugf(string, ...any) {}

// Tracef shows messages and is not used.
func (l *logger) Tracef(string, ...any) {}

func say(format string, v []any) string { return "NATS server: " + fmt.Sprintf(format, v...) }

func (l *logger) fatal() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bad
}
