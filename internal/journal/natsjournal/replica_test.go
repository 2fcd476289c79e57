package natsjournal

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// A replica of a later format of Pebble may have entries that NATS has lost.
func TestOpen_NewerStore(t *testing.T) {
	var log testkit.Log
	logger := slog.New(slog.NewTextHandler(&log, nil))
	r, err := openReplica(t.TempDir(), logger)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	markers, err := filepath.Glob(filepath.Join(r.path(), "marker.format-version.*"))
	if err != nil || len(markers) != 1 {
		t.Fatalf("markers %v, %v, want one", markers, err)
	}
	if err := os.Rename(markers[0], filepath.Join(r.path(), "marker.format-version.000099.999")); err != nil {
		t.Fatal(err)
	}
	again, err := openReplica(r.Dir(), logger)
	if err != nil {
		t.Fatalf("%v, want an empty replica", err)
	}
	defer again.Close()
	if kept, err := filepath.Glob(r.path() + ".replaced-*"); err != nil || len(kept) != 1 || !strings.Contains(log.String(), kept[0]) {
		t.Errorf("kept %v, %v, want the newer one, and its path in the log:\n%s", kept, err, log.String())
	}
	if again.ForeignFormat() || again.Failed() {
		t.Error("the new replica cannot be used")
	}
}
