package mcptools

import (
	"bufio"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// Close ends a program that ignores the end of its input and the signal to
// terminate, with its child, and Explain has the end of its standard error.
func TestProcess_Close(t *testing.T) {
	p, err := StartProcess(ProcessOptions{
		Command: []string{"sh", "-c", `trap "" TERM; echo "bad key" >&2; sleep 1000 & echo ready; while :; do sleep 1000; done`},
		Grace:   10 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(p.Stdout)
	if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	testkit.Eventually(t, "its standard error is read", func() bool { // Close waits for it only for the grace period
		return strings.Contains(p.Explain(errors.New("it runs")).Error(), "bad key")
	})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if got := p.Explain(errors.New("it ended")); !strings.Contains(got.Error(), "bad key") {
		t.Error(got)
	}
}
