package gateway_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// An idle connection retains no memory for the frames that were written to it,
// even for a large welcome, which lists all participants with their
// capabilities.
func TestIdleConnection_HoldsNoWelcome(t *testing.T) {
	const connections = 100
	capabilities := make([]string, 100)
	for i := range capabilities {
		capabilities[i] = fmt.Sprintf("x.%040d", i)
	}
	var yaml strings.Builder
	yaml.WriteString("idle_timeout: 0\nspaces: {lab: {participants: {\n")
	for i := range connections {
		fmt.Fprintf(&yaml, "  p%d: {token: token-%d, capabilities: [%s]},\n", i, i, strings.Join(capabilities, ", "))
	}
	yaml.WriteString("}}}\n")
	g := meuptest.Start(t, yaml.String())
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // the second collection frees the contents of pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range connections {
		ws, status, code := connect(t, g, "lab&kinds=chat", fmt.Sprintf("token-%d", i))
		if ws == nil {
			t.Fatal(status, code)
		}
		ws.SetReadLimit(-1)
		if _, _, err := ws.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// The average welcome is 220 kB here. Memory that others use for a moment is not counted.
	testkit.Eventually(t, "a connection holds less than 100 kB", func() bool { return heap() < before+connections*100<<10 })
}
