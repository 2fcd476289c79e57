// Package earlysignal receives signals from the first milliseconds of a program
// on. Before main runs, the packages of a program are initialized, which takes
// tens of milliseconds on a busy machine; a signal that arrives in that time
// ends a program that has not asked for it.
//
// Packages are initialized in the order of their paths, after those that they
// import. This one imports as little as it can, so that it is among the first.
// It must stay so.
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

// Hangup receives each SIGHUP since the start of the program; several at once
// count as one.
func Hangup() <-chan os.Signal { return hangup }

// ResetHangup restores the default: SIGHUP ends the program.
func ResetHangup() { signal.Reset(syscall.SIGHUP) }

// StopContext returns a context that ends with SIGINT or SIGTERM, also with one
// that was received before. Call it once.
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
