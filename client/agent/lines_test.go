package agent

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
)

// A gateway that stops is two records, of its end and of the first attempt that fails, and
// one line.
func TestLines_LostOnce(t *testing.T) {
	var out strings.Builder
	log := slog.New(lines{out: &out, lost: new(atomic.Bool)}).With("gateway", "G")
	for range 2 {
		log.Info(msgLost, "err", "it is going\u202e away")
		log.Warn(msgLost, "err", "connection refused")
		log.Info(msgRegained)
	}
	lost, regained := "meup: the connection to the gateway at G is lost, trying again: it is going  away\n", "meup: the gateway at G is reached again\n"
	if got, want := out.String(), strings.Repeat(lost+regained, 2); got != want {
		t.Errorf("it writes\n%swant\n%s", got, want)
	}
}
