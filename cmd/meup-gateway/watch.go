package main

import (
	"log/slog"
	"os"
	"time"
)

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
