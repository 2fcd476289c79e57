package authority

import (
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

func TestState_ForgetsGuests(t *testing.T) {
	l := newStateLog(t)
	begun := l.at
	for _, id := range []string{"away", "back", "kicked", "late"} {
		l.add(KindSystemMember, `{"participant_id":"`+id+`"}`)
	}
	l.add(protocol.KindSpaceKick, `{"participant_id":"kicked"}`)
	if st := l.fold(); st.IsGuestDue("away", begun.Add(GuestAge/3-1)) || !st.IsGuestDue("away", begun.Add(GuestAge/3)) || st.IsGuestDue("nobody", begun.Add(GuestAge)) {
		t.Error("a guest is recorded again too soon or too late")
	}
	l.at = begun.Add(GuestAge / 3)
	l.add(KindSystemMember, `{"participant_id":"back"}`)
	l.at = begun.Add(GuestAge - 1)
	l.invite(1)
	if st := l.fold(); !st.IsKnown("away") || st.Member("away").Origin != guest {
		t.Error("a guest is forgotten too soon")
	}
	l.at = begun.Add(GuestAge)
	l.invite(2)
	l.add(protocol.KindSpaceKick, `{"participant_id":"late"}`) // after it was forgotten
	folded := l.fold()
	restored, err := restore(folded.encode("log", later), "log", l.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for name, st := range map[string]*State{"folded": folded, "restored": restored} {
		for id, want := range map[protocol.ParticipantID]Origin{"away": 0, "back": guest, "kicked": guest, "late": 0, "guest-1": invited} {
			if got := st.Member(id).Origin; got != want || st.IsKnown(id) != (want != 0) {
				t.Errorf("%s: %s has origin %d, want %d", name, id, got, want)
			}
		}
		if !st.IsKicked("kicked") || !st.IsKicked("late") {
			t.Errorf("%s: a kick is forgotten", name)
		}
	}
}

// An entry of a gateway whose clock was ahead deletes no guest from the next snapshot.
func TestSnapshot_KeepsGuestsWhenAClockIsAhead(t *testing.T) {
	l, log := newStateLog(t), newCountedLog()
	l.add(KindSystemMember, `{"participant_id":"gina"}`)
	now := l.at
	l.at = now.Add(2 * GuestAge)
	l.invite(1)
	log.add(t, l.entries...)
	st, stored, _ := log.load(t, l.cfg)
	if st.IsKnown("gina") {
		t.Error("it is not forgotten by the clock of the log")
	}
	if err := stored.Save(st, now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	l.at = now.Add(time.Minute)
	log.add(t, l.invite(2))
	st, stored, _ = log.load(t, l.cfg)
	if stored.folded != 2 || !st.IsKnown("gina") {
		t.Errorf("known: %v, from a snapshot of %d entries", st.IsKnown("gina"), stored.folded)
	}
}

// agedGuest returns the states, folded and restored, of a log in which a guest was granted
// a capability and not recorded for 91 days. mallory may invite and kick.
func agedGuest(t *testing.T) (states map[string]*State, grant protocol.ID) {
	t.Helper()
	l := newStateLog(t)
	invites, err := capability.ParseJSON([]byte(`"space.*"`))
	if err != nil {
		t.Fatal(err)
	}
	l.cfg.Participants["mallory"] = ParticipantConfig{Capabilities: []*capability.Capability{invites}}
	l.add(KindSystemMember, `{"participant_id":"gina"}`)
	grant = l.add(protocol.KindCapabilityGrant, `{"recipient":"gina","capabilities":["x.secret"]}`).Envelope.ID
	l.at = l.at.Add(GuestAge + 24*time.Hour)
	l.invite(1)
	folded := l.fold()
	restored, err := restore(folded.encode("log", later), "log", l.cfg)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*State{"folded": folded, "restored": restored}, grant
}

// envelope returns an envelope in the form that the checks need.
func envelope(t *testing.T, st *State, from protocol.ParticipantID, payload string) (*protocol.Envelope, protocol.Value) {
	t.Helper()
	e := &protocol.Envelope{ID: "next", From: from, TS: st.clock, Payload: []byte(payload)}
	return e, e.ParsePayload()
}

// The grants of a guest that has not been seen for long can be revoked; then it is forgotten.
func TestState_GrantsOfAnAbsentGuestAreRevoked(t *testing.T) {
	states, grant := agedGuest(t)
	for name, st := range states {
		e, payload := envelope(t, st, "alice", `{"recipient":"gina","grant_id":"`+string(grant)+`"}`)
		e.Kind = protocol.KindCapabilityRevoke
		if err := st.CheckRevoke(e, payload); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, kick := envelope(t, st, "alice", `{"participant_id":"gina"}`); st.CheckKick(kick) != nil {
			t.Errorf("%s: it cannot be kicked", name)
		}
		next, err := st.Apply(&journal.Entry{State: true, Envelope: *e})
		if err != nil || next.IsKnown("gina") || next.Ledger.HasGrants("gina") {
			t.Errorf("%s: known after the revocation: %v, %v", name, next.IsKnown("gina"), err)
		}
	}
}

// An invitation does not transfer the grants of another participant, present or past.
func TestState_IdentityWithGrantsIsNotInvited(t *testing.T) {
	states, _ := agedGuest(t)
	without := *states["folded"].Config
	states["of a past configuration"] = func() *State {
		l := newStateLog(t)
		l.add(protocol.KindCapabilityGrant, `{"recipient":"gina","capabilities":["x.secret"]}`)
		return l.fold().WithConfig(&without)
	}()
	for name, st := range states {
		e, payload := envelope(t, st, "mallory", `{"participant_id":"gina","initial_capabilities":[]}`)
		if _, _, err := st.CheckInvite(e, payload); protocol.AsError(err) == nil || protocol.AsError(err).Code != protocol.CodeCannotDelegate {
			t.Errorf("%s: %v", name, err)
		}
		e, payload = envelope(t, st, "mallory", `{"participant_id":"nobody","initial_capabilities":[]}`)
		if _, _, err := st.CheckInvite(e, payload); err != nil {
			t.Errorf("%s: an id without grants: %v", name, err)
		}
	}
}
