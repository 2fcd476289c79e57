package httpapi

import (
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/protocol"
)

// A session lasts as long as its user chose, and never longer than its token.
func TestLifetimeOf(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		remember bool
		expires  time.Time
		ends     time.Duration
		age      time.Duration
	}{
		{false, time.Time{}, sessionFor, 0},
		{false, now.Add(time.Hour), time.Hour, 0},
		{true, time.Time{}, rememberFor, rememberFor},
		{true, now.Add(time.Hour), time.Hour, time.Hour},
		{true, now.Add(2 * rememberFor), rememberFor, rememberFor},
		{true, now.Add(-time.Hour), time.Second, time.Second},
	} {
		ends, age := lifetimeOf(&session{expires: c.expires}, c.remember, now)
		if ends.Sub(now) != c.ends || age != c.age {
			t.Errorf("%+v: ends after %v, the cookie after %v", c, ends.Sub(now), age)
		}
	}
}

// The participant is set while it is the same in all spaces; the earliest
// expiry ends the session.
func TestSession_Add(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var s session
	for i, c := range []struct {
		id      access.Identity
		who     protocol.ParticipantID
		expires time.Time
	}{
		{access.Identity{Participant: "alice"}, "alice", time.Time{}},
		{access.Identity{Participant: "alice", Expires: noon}, "alice", noon},
		{access.Identity{Participant: "alice", Expires: noon.Add(time.Hour)}, "alice", noon},
		{access.Identity{Participant: "eve", Expires: noon.Add(-time.Hour)}, "", noon.Add(-time.Hour)},
		{access.Identity{Participant: "eve"}, "", noon.Add(-time.Hour)},
		{access.Identity{Participant: "alice"}, "", noon.Add(-time.Hour)},
	} {
		s.add("space", c.id)
		if s.Participant != c.who || !s.expires.Equal(c.expires) || len(s.Spaces) != i+1 {
			t.Errorf("after %d: %+v", i+1, s)
		}
	}
}

// FuzzParseSignIn checks that a body is rejected with an error that repeats
// nothing of it, or has either a valid token or a code.
func FuzzParseSignIn(f *testing.F) {
	f.Add([]byte(`{"token": "meup_x", "space": "lab", "remember": true}`))
	f.Add([]byte(`{"code": "ABC", "more": [{}]}`))
	f.Add([]byte(`{"token": "SECRET", "SECRET": 1, "space": "SECRET/"}`))
	f.Add([]byte(`{"token": "SECRET"`))
	f.Add([]byte(`{"token": ["SECRET"]}`))
	f.Add([]byte(`{"token": "x\u0020y"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		in, refused := parseSignIn(body)
		if refused != nil {
			if protocol.AsError(refused).Code != protocol.CodeBadRequest || in != (signInRequest{}) {
				t.Errorf("%v with %+v", refused, in)
			}
			if strings.Contains(protocol.AsError(refused).Message, "SECRET") {
				t.Errorf("repeats the body: %s", protocol.AsError(refused).Message)
			}
			return
		}
		if (in.token == "") == (in.code == "") || in.token != "" && !access.ValidToken(in.token) || in.space != "" && !protocol.ValidSpaceName(in.space) {
			t.Errorf("%q: %+v", body, in)
		}
	})
}
