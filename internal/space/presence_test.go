package space_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// run runs the hub until the test ends.
func (r *room) run(every time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.hub.Run(ctx, every) })
	r.t.Cleanup(func() { cancel(); running.Wait() })
}

// presence returns the events that the member received about a participant.
func (m *member) presence(id protocol.ParticipantID) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var events []string
	for _, e := range m.got {
		if e.Kind == protocol.KindSystemPresence && presenceAbout(m.t, e) == id {
			events = append(events, presenceOf(m.t, e))
		}
	}
	return events
}

func TestPresence_FlappingIsBounded(t *testing.T) {
	for _, stays := range []bool{false, true} {
		t.Run(fmt.Sprint("stays ", stays), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := open(t, rights{"alice": {"*"}, "bob": {"chat"}}, nil)
				r.run(time.Second)
				alice := r.join(space.JoinOptions{ID: "alice"})
				defer alice.leave()
				for range 20 { // two seconds
					for range 50 {
						r.join(space.JoinOptions{ID: "bob"}).leave()
					}
					time.Sleep(100 * time.Millisecond)
				}
				want := protocol.PresenceLeave
				if stays {
					bob := r.join(space.JoinOptions{ID: "bob"})
					defer bob.leave()
					want = protocol.PresenceJoin
				}
				time.Sleep(5 * time.Second)
				synctest.Wait()
				events := alice.presence("bob")
				if n := len(events); n > 20 {
					t.Errorf("%d presence frames for 1000 joins and leaves within 2 s", n)
				}
				for i, e := range events {
					if e != []string{protocol.PresenceJoin, protocol.PresenceLeave}[i%2] {
						t.Fatalf("events %v do not take turns", events)
					}
				}
				if last := events[len(events)-1]; last != want {
					t.Errorf("the last event is %s, want %s", last, want)
				}
			})
		})
	}
}

// listed reports whether a participant is in the first welcome of the member.
func (m *member) listed(id protocol.ParticipantID) bool {
	m.t.Helper()
	var w protocol.Welcome
	if err := json.Unmarshal(m.frames("system.welcome")[0].Payload, &w); err != nil {
		m.t.Fatal(err)
	}
	return slices.ContainsFunc(w.Participants, func(p protocol.Participant) bool { return p.ID == id })
}

// A connection that is opened while a frame about another participant is delayed knows
// its presence in the end, whether or not the change is undone before.
func TestPresence_WelcomeWhileDelayed(t *testing.T) {
	for _, present := range []bool{false, true} {
		for _, undone := range []bool{false, true} {
			t.Run(fmt.Sprintf("present %v undone %v", present, undone), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := open(t, rights{"alice": {"*"}, "bob": {"chat"}}, nil)
					r.run(time.Second)
					bob := r.join(space.JoinOptions{ID: "bob"})
					for range 50 { // frames are delayed from the sixth time on
						bob.leave()
						bob = r.join(space.JoinOptions{ID: "bob"})
					}
					if !present {
						time.Sleep(1100 * time.Millisecond) // one frame: bob is announced as present
						bob.leave()
					}
					alice := r.join(space.JoinOptions{ID: "alice"})
					defer alice.leave()
					synctest.Wait()
					end := present != undone
					if undone && present {
						bob.leave()
					} else if undone {
						bob = r.join(space.JoinOptions{ID: "bob"})
					}
					if end {
						defer bob.leave()
					}
					time.Sleep(5 * time.Second)
					synctest.Wait()
					seen := alice.listed("bob")
					for _, e := range alice.presence("bob") {
						seen = e == protocol.PresenceJoin
					}
					if seen != end {
						t.Errorf("alice knows %v, bob is present: %v", seen, end)
					}
				})
			})
		}
	}
}

// rosters counts reports to other gateways.
type rosters struct {
	mu            sync.Mutex
	calls, listed int
	last          []space.Connected
}

func (p *rosters) Publish(string, []byte) error { return nil }

func (p *rosters) SetRoster(_ string, here []space.Connected) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls, p.listed, p.last = p.calls+1, p.listed+len(here), here
}

func (p *rosters) Remote(string) []space.Connected { return nil }

// A mass reconnect reports the roster at intervals, not once per participant.
func TestPresence_MassReconnect(t *testing.T) {
	const many = 2000
	synctest.Test(t, func(t *testing.T) {
		peers := &rosters{}
		cfg := rights{}.config(t)
		cfg.Guests = &authority.ParticipantConfig{}
		r := openWith(t, cfg, func(s *space.Services) { s.Peers = peers })
		r.run(time.Second)
		var joined []*space.Member
		for i := range many {
			m, refused := r.Join(t.Context(), space.JoinOptions{ID: protocol.ParticipantID(fmt.Sprint("g", i))})
			if refused != nil {
				t.Fatal(refused)
			}
			joined = append(joined, m)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		peers.mu.Lock()
		if len(peers.last) != many {
			t.Errorf("the last report has %d participants", len(peers.last))
		}
		if peers.calls > 20 || peers.listed > 20*many {
			t.Errorf("%d reports list %d participants", peers.calls, peers.listed)
		}
		peers.mu.Unlock()
		for _, m := range joined {
			m.MarkClosed()
			r.Leave(m)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		peers.mu.Lock()
		defer peers.mu.Unlock()
		if len(peers.last) != 0 {
			t.Errorf("%d participants are left", len(peers.last))
		}
	})
}

// A participant serves tools while one of its connections has declared it, on any
// gateway.
func TestPresence_Serves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := &rosters{}
		cfg := rights{"alice": {"*"}, "files": {"mcp.response"}, "afar": {"mcp.response"}}.config(t)
		r := openWith(t, cfg, func(s *space.Services) { s.Peers = peers })
		r.run(time.Second)
		alice := r.join(space.JoinOptions{ID: "alice"})
		defer alice.leave()
		serving := func(want string) {
			t.Helper()
			time.Sleep(2 * time.Second)
			synctest.Wait()
			var got []string
			for _, p := range r.Participants() {
				got = append(got, fmt.Sprint(p.ID, p.Serves))
			}
			if fmt.Sprint(got) != want {
				t.Errorf("participants %v, want %s", got, want)
			}
		}
		plain := r.join(space.JoinOptions{ID: "files"})
		serving("[alice[] files[]]")
		host := r.join(space.JoinOptions{ID: "files", Tools: true})
		serving("[alice[] files[tools]]")
		peers.mu.Lock()
		if !slices.Contains(peers.last, space.Connected{ID: "files", Connections: 2, Tools: true}) {
			t.Errorf("the other gateways were told %v", peers.last)
		}
		peers.mu.Unlock()
		host.leave()
		serving("[alice[] files[]]")
		plain.leave()
		r.hub.SetRemote(r.Name(), []space.Connected{{ID: "afar", Tools: true}})
		serving("[afar[tools] alice[]]")
		var joined protocol.Presence
		alice.mu.Lock()
		for _, e := range alice.got {
			if e.Kind == protocol.KindSystemPresence && presenceAbout(t, e) == "afar" {
				if err := json.Unmarshal(e.Payload, &joined); err != nil {
					t.Fatal(err)
				}
			}
		}
		alice.mu.Unlock()
		if !slices.Equal(joined.Participant.Serves, []string{protocol.ServesTools}) {
			t.Errorf("the presence is %+v", joined)
		}
	})
}

// A participant whose connections linger is announced once while it connects again and
// again, and leaves a while after the last one; or at once if it is kicked.
func TestPresence_Linger(t *testing.T) {
	for _, test := range []struct {
		name          string
		alone, kicked bool
	}{{"stays away", false, false}, {"kicked", false, true}, {"one gateway", true, false}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				peers := &rosters{}
				r := openWith(t, rights{"alice": {"*"}, "bob": {"chat"}}.config(t), func(s *space.Services) {
					if !test.alone {
						s.Peers = peers
					}
				})
				r.run(time.Second)
				alice := r.join(space.JoinOptions{ID: "alice"})
				defer alice.leave()
				for range 30 { // ten minutes
					bob := r.join(space.JoinOptions{ID: "bob", Linger: true})
					time.Sleep(time.Second)
					bob.leave()
					time.Sleep(19 * time.Second)
				}
				synctest.Wait()
				if events := alice.presence("bob"); !slices.Equal(events, []string{protocol.PresenceJoin}) || !r.IsPresent("bob") || len(r.Present()) != 2 {
					t.Errorf("after short connections: %v, %v", events, r.Present())
				}
				peers.mu.Lock()
				if !test.alone && !slices.Contains(peers.last, space.Connected{ID: "bob"}) {
					t.Errorf("other gateways have %v", peers.last)
				}
				peers.mu.Unlock()
				if test.kicked {
					r.must("alice", `{"id":"k","kind":"space.kick","payload":{"participant_id":"bob"}}`)
					time.Sleep(2 * time.Second)
				} else {
					time.Sleep(time.Minute)
				}
				synctest.Wait()
				if events := alice.presence("bob"); !slices.Equal(events, []string{protocol.PresenceJoin, protocol.PresenceLeave}) || r.IsPresent("bob") {
					t.Errorf("in the end: %v", events)
				}
				peers.mu.Lock()
				defer peers.mu.Unlock()
				if !test.alone && len(peers.last) != 1 {
					t.Errorf("other gateways have %v", peers.last)
				}
			})
		})
	}
}

// A welcome has the number of the participant's connections at all gateways, but not for MEW.
func TestWelcome_Connections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := openWith(t, rights{"alice": {"*"}}.config(t), func(s *space.Services) { s.Peers = &rosters{} })
		r.run(time.Second)
		for i, c := range []struct {
			dialect protocol.Dialect
			remote  int
			want    int
		}{{protocol.DialectMEUP01, 0, 1}, {protocol.DialectMEUP02, 0, 2}, {protocol.DialectMEUP01, 2, 5}, {protocol.DialectMEW04, 2, 0}} {
			r.hub.SetRemote(r.Name(), []space.Connected{{ID: "alice", Connections: c.remote}})
			alice := r.join(space.JoinOptions{ID: "alice", Dialect: c.dialect})
			defer alice.leave()
			synctest.Wait()
			var w protocol.Welcome
			if err := json.Unmarshal(alice.own[0].Payload, &w); err != nil {
				t.Fatal(err)
			}
			if w.You.Connections != c.want {
				t.Errorf("welcome %d: %d connections, want %d", i, w.You.Connections, c.want)
			}
		}
	})
}

func TestTracker_LingersWithinBound(t *testing.T) {
	var tracker space.PresenceTracker
	start := time.Unix(1_000_000, 0)
	id := func(i int) protocol.ParticipantID { return protocol.ParticipantID(fmt.Sprint("p", i)) }
	for i := range 1025 {
		tracker.Linger(id(i), start)
	}
	if n := len(tracker.Lingering()); n != 1024 || tracker.Lingers(id(1024)) {
		t.Errorf("%d participants linger", n)
	}
	tracker.Linger(id(0), start.Add(time.Second)) // one that lingers can go on
	noOne := func(protocol.ParticipantID) bool { return false }
	if due := tracker.Due(start.Add(space.PresenceLinger-1), noOne); len(due) != 0 {
		t.Errorf("%d are due before the end", len(due))
	}
	if due := tracker.Due(start.Add(space.PresenceLinger), noOne); len(due) != 1023 || !tracker.Lingers(id(0)) {
		t.Errorf("%d are due at the end", len(due))
	}
	everyone := func(protocol.ParticipantID) bool { return true }
	if due := tracker.Due(start.Add(space.PresenceLinger), everyone); len(due) != 1 || tracker.Lingers(id(0)) {
		t.Errorf("%d are due that were removed", len(due))
	}
}
