package admission

import (
	"log/slog"
	"sync"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Failures logs envelopes that the log did not take, at most one a second: while the log is
// unavailable, it takes none. The next line has the number of the others; after the last
// one, it is not logged.
type Failures struct {
	mu         sync.Mutex
	logged     time.Time
	suppressed int // since then
}

func (f *Failures) warn(log *slog.Logger, id protocol.ID, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.logged) < time.Second {
		f.suppressed++
		return
	}
	log.Warn("append envelope", "envelope", id, "error", err, "suppressed", f.suppressed)
	f.logged, f.suppressed = time.Now(), 0
}
