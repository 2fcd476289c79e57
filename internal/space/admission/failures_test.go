package admission

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestFailures_OneLineASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out testkit.Log
		log := slog.New(slog.NewTextHandler(&out, nil))
		var f Failures
		for range 100 {
			f.warn(log, "a", errors.New("unavailable"))
		}
		time.Sleep(time.Second)
		f.warn(log, "b", errors.New("unavailable"))
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "envelope=a") || !strings.Contains(lines[0], "suppressed=0") ||
			!strings.Contains(lines[1], "envelope=b") || !strings.Contains(lines[1], "suppressed=99") {
			t.Errorf("want a line for the first envelope and one for the next second, got %q", lines)
		}
	})
}
