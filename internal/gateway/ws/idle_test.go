package ws

import (
	"net"
	"testing"
	"time"
)

// The silence of a connection is measured by times since the process started,
// which do not change with the clock.
func TestSilence_IsMonotonic(t *testing.T) {
	if epoch == epoch.Round(0) {
		t.Error("epoch has no monotonic reading")
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	c := newConn(a, nil)
	now := time.Since(epoch)
	if at := time.Duration(c.lastRead.Load()); at < 0 || at > now {
		t.Errorf("the last read is at %v, now it is %v", at, now)
	}
	if got := c.silence(now + time.Minute); got < time.Minute || got > time.Minute+now {
		t.Errorf("silent for %v", got)
	}
}
