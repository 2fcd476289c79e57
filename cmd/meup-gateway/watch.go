package main

import (
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/gateway"
)

// reloads returns a channel that receives when the file has to be read again:
// at each SIGHUP, and with --watch when the file has changed. Pending signals
// are merged into one.
func reloads(hup <-chan os.Signal, f serveFlags, log *slog.Logger) (<-chan struct{}, func()) {
	reload := make(chan struct{}, 1)
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { // ends with done; stop waits
		watched := watchFile(f, done, log)
		for {
			select {
			case <-hup:
			case <-watched:
			case <-done:
				return
			}
			select {
			case reload <- struct{}{}:
			default:
			}
		}
	})
	return reload, func() {
		close(done)
		running.Wait()
	}
}

func reloadConfig(f serveFlags, g *gateway.Gateway, log *slog.Logger) {
	cfg, err := f.load(logFaults(log))
	if err != nil {
		log.Error("configuration not reloaded; the current one stays in effect", "file", f.config)
		return
	}
	later := g.Reload(cfg)
	log.Info("configuration reloaded", "file", f.config)
	if len(later) > 0 {
		log.Warn("some changes take effect after a restart", "keys", later)
	}
}

// watchEvery is the interval at which --watch checks the file. Unlike
// notifications, polling also detects changes on a mounted file system or by an
// editor that replaces the file.
const watchEvery = time.Second

// watchFile returns a channel that receives when the configuration file has
// changed; without --watch it is nil and never receives.
func watchFile(f serveFlags, done <-chan struct{}, log *slog.Logger) <-chan struct{} {
	if !f.watch {
		return nil
	}
	changed := make(chan struct{})
	last := stamp(f.config)
	go func() { // ends with done
		t := time.NewTicker(watchEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
			case <-done:
				return
			}
			now := stamp(f.config)
			if now == last || now == (fileStamp{}) {
				continue
			}
			last = now
			log.Debug("configuration file changed", "file", f.config)
			select {
			case changed <- struct{}{}:
			case <-done:
				return
			}
		}
	}()
	return changed
}

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
