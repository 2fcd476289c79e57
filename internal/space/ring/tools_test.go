package ring

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

// listing makes Tools learn the tools of a host.
func listing(t *Tools, host protocol.ParticipantID, tools string) {
	t.Apply(NewEntry(&journal.Entry{Envelope: protocol.Envelope{ID: "q", From: "ann", To: []protocol.ParticipantID{host}, Kind: protocol.KindMCPRequest,
		Payload: []byte(`{"method":"tools/list"}`)}}))
	t.Apply(NewEntry(&journal.Entry{Envelope: protocol.Envelope{From: host, Kind: protocol.KindMCPResponse, Correlation: protocol.CorrelateTo("q"),
		Payload: []byte(`{"result":{"tools":[` + tools + `]}}`)}}))
}

func toolOf(name string, values int) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"enum":[1%s]}}`, name, strings.Repeat(",1", values))
}

// TestTools_Bounds: tools beyond the bounds are not known, and those that are dropped make room.
func TestTools_Bounds(t *testing.T) {
	var total atomic.Int64
	space, other := &Tools{Total: &total}, &Tools{Total: &total}
	listing(space, "files", toolOf("fits", 1)+","+toolOf(strings.Repeat("n", maxToolName+1), 1)+`,{"name":"large","inputSchema":{"a":"`+strings.Repeat("a", schemas.MaxToolSchema)+`"}}`)
	if space.Find("files", "fits") == nil || space.Find("files", strings.Repeat("n", maxToolName+1)) != nil || space.Find("files", "large") != nil {
		t.Error("the bounds of one tool")
	}
	fill := func(s *Tools, host string) (known int) {
		var list []string
		for i := range 20 {
			list = append(list, toolOf(fmt.Sprint("t", i), 1_000))
		}
		listing(s, protocol.ParticipantID(host), strings.Join(list, ","))
		for i := range 20 {
			if s.Find(protocol.ParticipantID(host), fmt.Sprint("t", i)) != nil {
				known++
			}
		}
		return known
	}
	if n := fill(space, "files"); n != maxHostTools/(1_000*toolValueSize+1) {
		t.Errorf("%d of a host", n)
	}
	for i := range 10 {
		fill(space, fmt.Sprint("h", i))
	}
	if space.size > maxSpaceTools || space.size < maxSpaceTools-maxHostTools || total.Load() != space.size {
		t.Errorf("%d bytes of a space, %d in all", space.size, total.Load())
	}
	if fill(space, "late") != 0 {
		t.Error("known beyond the bound of a space")
	}
	space.Forget("h0")
	if fill(space, "late") == 0 {
		t.Error("what was forgotten makes no room")
	}
	total.Add(maxHubTools)
	if fill(other, "files") != 0 {
		t.Error("known beyond the bound of all spaces")
	}
	total.Add(-maxHubTools)
	space.Drop()
	other.Drop()
	if total.Load() != 0 || space.Find("late", "t0") != nil {
		t.Errorf("%d bytes are left", total.Load())
	}
	for i := range maxAsked + 1 {
		space.ask(protocol.ID(fmt.Sprint(i)), toolsQuestion{host: "files"})
	}
	if len(space.asked) != 1 {
		t.Errorf("%d requests are kept", len(space.asked))
	}
}
