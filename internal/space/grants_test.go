package space_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// Three grants of 64 long globs, delegated 16 times, are cheap: when they are
// made, when the configuration is reloaded and when the space is opened again.
func TestGrants_LongGlobsAreCheap(t *testing.T) {
	who := rights{"alice": {"*"}, "bob": {"capability.grant"}}
	for i := range 16 {
		who[protocol.ParticipantID(fmt.Sprint("p", i))] = []string{"chat"}
	}
	grant := func(id, to string, round int) string {
		var globs []string
		for i := range 64 {
			globs = append(globs, fmt.Sprintf(`{"kind":"x.tool","payload":{"a":"%d-%02d%s"}}`, round, i, strings.Repeat("a*", 120)))
		}
		return fmt.Sprintf(`{"id":%q,"kind":"capability.grant","payload":{"recipient":%q,"capabilities":[%s]}}`, id, to, strings.Join(globs, ","))
	}
	log := journal.NewMemory(journal.MemoryOptions{})
	service := func(s *space.Services) { s.Journal = log }
	start := testkit.CPUTime(t)
	r := open(t, who, service)
	for i := range 16 {
		defer r.join(space.JoinOptions{ID: protocol.ParticipantID(fmt.Sprint("p", i))}).leave()
	}
	admit := func(who protocol.ParticipantID, frame string) {
		if o := r.say(who, frame)[0]; o.Err != nil {
			t.Fatalf("%s grants: %v", who, o.Err)
		}
	}
	for round := range 3 {
		admit("alice", grant(fmt.Sprint("g", round), "bob", round))
	}
	for i := range 16 {
		admit("bob", grant(fmt.Sprint("d", i), fmt.Sprint("p", i), i%3))
	}
	cfg := who.config(t)
	r.hub.Reload(func(name string) (*authority.Config, bool) { return cfg, true })
	again := open(t, who, service)
	for _, x := range []*room{r, again} {
		x.must("p0", fmt.Sprintf(`{"kind":"x.tool","payload":{"a":"0-00%s"}}`, strings.Repeat("a", 120)))
		if o := x.say("p0", `{"kind":"x.tool","payload":{"a":"b"}}`)[0]; o.Err == nil || o.Err.Code != protocol.CodeCapabilityViolation {
			t.Errorf("what no glob matches: %+v", o)
		}
	}
	used := testkit.CPUTime(t) - start
	t.Logf("%v of processor time", used)
	if testkit.IsSlow() && used > 4*time.Second {
		t.Error("that is more than 4 s")
	}
}
