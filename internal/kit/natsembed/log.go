package natsembed

import (
	"fmt"
	"log/slog"
	"sync"
)

// logger forwards the server's log messages to a slog.Logger. Notices have
// level Debug, since they only concern the server itself.
type logger struct {
	log *slog.Logger

	mu      sync.Mutex
	failure string // the fatal error
}

// Noticef logs information about the server.
func (l *logger) Noticef(format string, v ...any) { l.log.Debug(message(format, v)) }

// Warnf logs a warning for operators.
func (l *logger) Warnf(format string, v ...any) { l.log.Warn(message(format, v)) }

// Errorf logs an error.
func (l *logger) Errorf(format string, v ...any) { l.log.Error(message(format, v)) }

// Fatalf records the error because of which the server cannot run. It does not
// end the process; Start returns the error.
func (l *logger) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = fmt.Sprintf(format, v...)
}

// Debugf discards debug messages.
func (l *logger) Debugf(string, ...any) {}

// Tracef discards trace messages.
func (l *logger) Tracef(string, ...any) {}

func message(format string, v []any) string { return "NATS server: " + fmt.Sprintf(format, v...) }

func (l *logger) fatal() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}
