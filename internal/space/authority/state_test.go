package authority

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// TestConfig_Place checks whose folders count for the paths of a call: those of the
// participant that runs it.
func TestConfig_Place(t *testing.T) {
	c := &Config{Participants: map[protocol.ParticipantID]ParticipantConfig{"files": {Root: "/srv"}, "coder": {Root: "/repo"}}}
	for name, x := range map[string]struct {
		kind    protocol.Kind
		from    protocol.ParticipantID
		to      []protocol.ParticipantID
		payload string
		want    argument.Place
	}{
		"a tool server":              {"mcp.request", "coder", []protocol.ParticipantID{"files"}, `{}`, argument.Place{Root: "/srv", Dir: "/srv"}},
		"the folder of a stranger":   {"mcp.request", "coder", []protocol.ParticipantID{"files"}, `{"params":{"_meta":{"meup/cwd":"/etc"}}}`, argument.Place{Root: "/srv", Dir: "/srv"}},
		"its own folder":             {"mcp.request", "coder", []protocol.ParticipantID{"coder"}, `{"params":{"_meta":{"meup/cwd":"/repo/web"}}}`, argument.Place{Root: "/repo", Dir: "/repo/web"}},
		"its own folder, no root":    {"mcp.request", "guest", []protocol.ParticipantID{"guest"}, `{"params":{"_meta":{"meup/cwd":"/home"}}}`, argument.Place{Root: "/home", Dir: "/home"}},
		"a folder that is no text":   {"mcp.request", "coder", []protocol.ParticipantID{"coder"}, `{"params":{"_meta":{"meup/cwd":null}}}`, argument.Place{Root: "/repo", Dir: "\x00"}},
		"an empty folder, no root":   {"mcp.request", "guest", []protocol.ParticipantID{"guest"}, `{"params":{"_meta":{"meup/cwd":""}}}`, argument.Place{Root: "\x00", Dir: "\x00"}},
		"its links":                  {"mcp.request", "coder", []protocol.ParticipantID{"coder"}, `{"params":{"_meta":{"meup/real_paths":{"docs/a":"/etc/a"}}}}`, argument.Place{Root: "/repo", Dir: "/repo", Real: map[string]string{"docs/a": "/etc/a"}}},
		"no root":                    {"mcp.request", "coder", []protocol.ParticipantID{"guest"}, `{}`, argument.Place{}},
		"several":                    {"mcp.request", "coder", []protocol.ParticipantID{"files", "coder"}, `{}`, argument.Place{}},
		"all":                        {"mcp.request", "coder", nil, `{"params":{"_meta":{"meup/cwd":"/etc"}}}`, argument.Place{}},
		"a proposal":                 {"mcp.proposal", "coder", []protocol.ParticipantID{"alice"}, `{"participant_id":"files"}`, argument.Place{Root: "/srv", Dir: "/srv"}},
		"a proposal of its own call": {"mcp.proposal", "coder", nil, `{"participant_id":"coder","params":{"_meta":{"meup/cwd":"/x"}}}`, argument.Place{Root: "/repo", Dir: "/x"}},
		"a chat":                     {"chat", "coder", []protocol.ParticipantID{"files"}, `{}`, argument.Place{}},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := protocol.ParseJSON([]byte(x.payload), protocol.MaxDepth)
			if err != nil {
				t.Fatal(err)
			}
			got := c.Request(x.from, &protocol.Envelope{Kind: x.kind, To: x.to}, doc.Root()).Place
			if !reflect.DeepEqual(got, x.want) {
				t.Errorf("got %+v, want %+v", got, x.want)
			}
		})
	}
}

// stateLog is a log of state entries that it makes one after the other.
type stateLog struct {
	t       testing.TB
	cfg     *Config
	at      time.Time
	entries []*journal.Entry
}

func newStateLog(t testing.TB) *stateLog {
	everything, err := capability.ParseJSON([]byte(`"*"`))
	if err != nil {
		t.Fatal(err)
	}
	return &stateLog{t: t, at: time.Unix(1000, 0), cfg: &Config{Name: "lab", Participants: map[protocol.ParticipantID]ParticipantConfig{
		"alice": {Capabilities: []*capability.Capability{everything}},
	}}}
}

// add appends an entry from alice.
func (l *stateLog) add(kind protocol.Kind, payload string, to ...protocol.ParticipantID) *journal.Entry {
	n := len(l.entries) + 1
	e := &journal.Entry{State: true, Envelope: protocol.Envelope{
		ID: protocol.ID(fmt.Sprintf("e%d", n)), Seq: protocol.Seq(n), TS: l.at, From: "alice", To: to, Kind: kind, Payload: []byte(payload),
	}}
	if kind == protocol.KindSpaceInvite {
		hash := hashOf(n)
		e.Private = []byte(hex.EncodeToString(hash[:]))
	}
	l.entries = append(l.entries, e)
	return e
}

func hashOf(n int) [32]byte { return [32]byte{byte(n), byte(n >> 8), byte(n >> 16)} }

func (l *stateLog) invite(n int) *journal.Entry {
	return l.add(protocol.KindSpaceInvite, fmt.Sprintf(`{"participant_id":"guest-%d","initial_capabilities":["chat"]}`, n))
}

// mixed appends about n state entries of all kinds.
func (l *stateLog) mixed(n int) {
	for i := 0; len(l.entries) < n; i++ {
		id := fmt.Sprintf("guest-%d", i)
		l.invite(i)
		g := l.add(protocol.KindCapabilityGrant, `{"recipient":"`+id+`","capabilities":["x.tool",{"kind":"mcp.request","payload":{"params":{"name":"read_*"}}}],"ttl_seconds":3600}`)
		l.add(protocol.KindParticipantPause, `{}`, protocol.ParticipantID(id))
		switch i % 3 {
		case 0:
			l.add(protocol.KindCapabilityRevoke, `{"recipient":"`+id+`","capabilities":["x.tool"]}`)
		case 1:
			l.add(protocol.KindCapabilityRevoke, `{"recipient":"`+id+`","grant_id":"`+string(g.Envelope.ID)+`"}`)
		case 2:
			l.add(protocol.KindSpaceKick, `{"participant_id":"`+id+`"}`)
		}
	}
}

func (l *stateLog) fold() *State {
	st := NewState(l.cfg)
	for _, e := range l.entries {
		if err := st.Fold(e); err != nil {
			l.t.Fatal(err)
		}
	}
	return st
}

// The cost of one more entry hardly depends on the number of entries.
func TestState_ApplyIsCheapWhenLarge(t *testing.T) {
	bytesPerEntry := func(size int) uint64 {
		l := newStateLog(t)
		l.mixed(size)
		st := l.fold()
		const n = 64
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range n {
			next, err := st.Apply(l.invite(size + i))
			if err != nil {
				t.Fatal(err)
			}
			st = next
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / n
	}
	small, large := bytesPerEntry(500), bytesPerEntry(16_000)
	t.Logf("%d bytes for each entry after 500, %d after 16,000", small, large)
	if large > 4*small || large > 128<<10 {
		t.Errorf("an entry allocates %d bytes after 500 others and %d after 16,000", small, large)
	}
}

func TestState_OpensManyEntries(t *testing.T) {
	l := newStateLog(t)
	l.mixed(28_000)
	start := testkit.CPUTime(t)
	st := l.fold()
	if used := testkit.CPUTime(t) - start; testkit.IsSlow() && used > 4*time.Second {
		t.Errorf("28,000 state entries took %v of processor time", used)
	}
	if n := st.members.Len(); n != 7_000 {
		t.Errorf("%d participants are known", n)
	}
}

func TestState_DropsExpiredInvitations(t *testing.T) {
	l := newStateLog(t)
	for i := range 1000 {
		l.add(protocol.KindSpaceInvite, fmt.Sprintf(`{"participant_id":"brief-%d","initial_capabilities":["chat"],"ttl_seconds":60}`, i))
		l.at = l.at.Add(time.Second)
	}
	keep := l.invite(0)
	st := l.fold()
	if n := st.invitations.Len(); n > 62 || st.expiry.Len() != n-1 {
		t.Errorf("%d invitations are left, %d of them will expire", n, st.expiry.Len())
	}
	st.DropExpired(l.at.Add(time.Hour))
	hash := hashOf(int(keep.Envelope.Seq))
	if i, ok := st.invitations.Get(string(hash[:])); !ok || i.Participant != "guest-0" || st.invitations.Len() != 1 || st.expiry.Len() != 0 {
		t.Errorf("%d invitations are left, %v", st.invitations.Len(), ok)
	}
}

// An older state does not change.
func TestState_IsImmutable(t *testing.T) {
	l := newStateLog(t)
	l.mixed(40)
	var states []*State
	st := NewState(l.cfg)
	for _, e := range l.entries {
		next, err := st.Apply(e)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, st)
		st = next
	}
	again := NewState(l.cfg)
	for i, e := range l.entries {
		old := states[i]
		for n := range 10 {
			id := protocol.ParticipantID(fmt.Sprintf("guest-%d", n))
			if old.HasJoined(id) != again.HasJoined(id) || old.IsKicked(id) != again.IsKicked(id) || old.IsPaused(id, l.at) != again.IsPaused(id, l.at) ||
				!old.SameRights(l.at, id, again, l.at) || old.invitations.Len() != again.invitations.Len() {
				t.Fatalf("%s differs in the state before %s", id, e.Envelope.ID)
			}
		}
		if err := again.Fold(e); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkState_Apply16000(b *testing.B) {
	l := newStateLog(b)
	for i := range 16_000 {
		l.invite(i)
	}
	st, next := l.fold(), l.invite(16_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := st.Apply(next); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkState_Open28000(b *testing.B) {
	l := newStateLog(b)
	l.mixed(28_000)
	for b.Loop() {
		l.fold()
	}
}
