package main

import (
	"log/slog"
	"os"
	"time"
)

// reloads returns a channel that receives when the file has to be read again:
// at each SIGHUP, and with --watch when the file has changed. Pending signals
// are merged into one.
func reloads(hup <-chan os.Signal, f serveFlags, log *slog.Logger) (<-chan struct{}, func()) {
	reload := make(chan struct{}, 1)
	done := make(chan struct{})
	go func() { // ends with done; stop does not wait, since the file may be on a mounted file system that hangs
		var tick <-chan time.Time // nil without --watch
		if f.watch {
			ticker := time.NewTicker(watchEvery)
			defer ticker.Stop()
			tick = ticker.C
		}
		last := stamp(f.config)
		for {
			select {
			case <-hup:
			case <-tick:
				now := stamp(f.config)
				if now == last || now == (fileStamp{}) {
					continue
				}
				last = now
				log.Debug("configuration file changed", "file", f.config)
			case <-done:
				return
			}
			select {
			case reload <- struct{}{}:
			default:
			}
		}
	}()
	return reload, func() { close(done) }
}

// watchEvery is the interval at which --watch checks the file. Unlike
// notifications, polling also detects changes on a mounted file system or by an
// editor that replaces the file.
const watchEvery = time.Second

// fileStamp distinguishes two states of a file.
type fileStamp struct {
	size int64
	time time.Time
}

func stamp(path string) fileStamp {
	info, err := os.Stat(path)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{info.Size(), info.ModTime()}
}
