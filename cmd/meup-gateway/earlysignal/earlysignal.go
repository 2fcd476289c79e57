// Package earlysignal receives signals from the first milliseconds of a program
// on. The initialization of a program's packages before main takes tens of
// milliseconds on a busy machine. Without this package, a signal that arrives
// in that time would end the program.
//
// Packages are initialized in the order of their paths, after their imports.
// This package imports as little as possible, so that it is among the first. It
// must stay so.
package earlysignal

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

var (
	hangup = make(chan os.Signal, 1)
	stop   = make(chan os.Signal, 1)
)

func init() {
	signal.Notify(hangup, syscall.SIGHUP)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
}

// Hangup receives each SIGHUP since the start of the program; several may be
// merged into one.
func Hangup() <-chan os.Signal { return hangup }

// ResetHangup restores the default: SIGHUP ends the program.
func ResetHangup() { signal.Reset(syscall.SIGHUP) }

// StopContext returns a context that ends with SIGINT or SIGTERM, including one
// received before the call. Call it once.
func StopContext() (context.Context, context.CancelFunc) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	signal.Stop(stop)
	select {
	case <-stop:
		cancel()
	default:
	}
	return ctx, cancel
}
