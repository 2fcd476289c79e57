package main

import (
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/gateway"
)

// reloads returns a channel that receives when the file is to be read again: at
// each SIGHUP, and with --watch when the file has changed. Several at once count
// as one.
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
		log.Error("the configuration was not reloaded; the one in force stays", "file", f.config)
		return
	}
	later := g.Reload(cfg)
	log.Info("configuration reloaded", "file", f.config)
	if len(later) > 0 {
		log.Warn("some changes hold from the next start on only", "keys", later)
	}
}

// watchEvery is how often --watch looks at the file. Polling sees what a
// mounted file system or an editor that replaces the file does, too.
const watchEvery = time.Second

// watchFile returns a channel that says when the configuration file has
// changed; nil, which never does, unless --watch was given.
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

// fileStamp tells two states of a file apart.
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
