package gateway_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/meuptest"
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
	yaml.WriteString("spaces: {lab: {participants: {\n")
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
	// The average welcome is 220 kB here.
	each := (heap() - before) / connections
	t.Logf("%d bytes for each connection", each)
	if each > 100<<10 {
		t.Errorf("a connection holds %d bytes", each)
	}
}
