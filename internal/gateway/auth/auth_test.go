package auth_test

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/meup-protocol/meup/internal/gateway/auth"
	"github.com/meup-protocol/meup/internal/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// invitations maps tokens to the invitations of spaces.
type invitations map[auth.Digest]struct {
	space   string
	id      protocol.ParticipantID
	expires time.Time
}

func (i invitations) InvitedTo(hash [32]byte) (space string, expires time.Time, ok bool, err error) {
	found, ok := i[hash]
	return found.space, found.expires, ok, nil
}

func (i invitations) LookupInvite(_ context.Context, space string, hash [32]byte) (auth.Invitation, bool, error) {
	found, ok := i[hash]
	return auth.Invitation{Participant: found.id, Expires: found.expires, At: 7}, ok && found.space == space, nil
}

func staticTable() auth.Table {
	return auth.Table{
		Spaces: []auth.Space{
			{Name: "lab", Tokens: []auth.Token{
				{Participant: "alice", Hash: auth.Hash("alice-token")},
				{Participant: "bob", Hash: auth.Hash("bob-token")},
			}},
			{Name: "team-*", Tokens: []auth.Token{{Participant: "al", Hash: auth.Hash("alice-token")}}},
		},
		Find: func(space string) (string, bool) {
			if strings.HasPrefix(space, "team-") {
				return "team-*", true
			}
			return space, space == "lab"
		},
	}
}

func TestStaticTokens(t *testing.T) {
	a := auth.New(staticTable(), auth.Options{})
	for _, c := range []struct {
		space, token string
		who          protocol.ParticipantID
		err          error
	}{
		{"lab", "alice-token", "alice", nil},
		{"lab", "bob-token", "bob", nil},
		{"team-red", "alice-token", "al", nil},
		{"team-red", "bob-token", "", auth.ErrOtherSpace},
		{"nowhere", "bob-token", "", auth.ErrOtherSpace},
		{"lab", "alice-toke", "", auth.ErrUnknownToken},
		{"lab", "", "", auth.ErrUnknownToken},
		{"nowhere", "x", "", auth.ErrUnknownToken},
		{"", "alice-token", "", auth.ErrOtherSpace},
	} {
		id, err := a.Authenticate(t.Context(), c.space, c.token, start)
		if id.Participant != c.who || !errors.Is(err, c.err) {
			t.Errorf("%q in %s: got %+v, %v, want %s, %v", c.token, c.space, id, err, c.who, c.err)
		}
		if err == nil && (id.Via != auth.ViaToken || id.Space != c.space || !id.Expires.IsZero()) {
			t.Errorf("got %+v", id)
		}
	}
}

func TestInvitations(t *testing.T) {
	token, hash := auth.NewToken()
	late, lateHash := auth.NewToken()
	open := invitations{
		hash:     {"lab", "guest", start.Add(time.Minute)},
		lateHash: {"lab", "late", start},
	}
	a := auth.New(staticTable(), auth.Options{Invites: open})
	id, err := a.Authenticate(t.Context(), "lab", token, start)
	if err != nil || id.Participant != "guest" || id.Via != auth.ViaInvite || !id.Expires.Equal(start.Add(time.Minute)) {
		t.Fatalf("got %+v, %v", id, err)
	}
	if _, err := a.Authenticate(t.Context(), "lab", late, start); !errors.Is(err, auth.ErrExpired) {
		t.Errorf("late: %v", err)
	}
	for _, elsewhere := range []string{"team-red", "nowhere"} {
		if _, err := a.Authenticate(t.Context(), elsewhere, token, start); !errors.Is(err, auth.ErrOtherSpace) {
			t.Errorf("in %s: %v", elsewhere, err)
		}
		if _, err := a.Authenticate(t.Context(), elsewhere, late, start); !errors.Is(err, auth.ErrUnknownToken) {
			t.Errorf("late, in %s: %v", elsewhere, err)
		}
	}
	if err := a.Recheck(id, start); err != nil {
		t.Errorf("recheck: %v", err)
	}
	if err := a.Recheck(id, start.Add(time.Minute)); !errors.Is(err, auth.ErrExpired) {
		t.Errorf("recheck after its end: %v", err)
	}
	delete(open, hash)
	if err := a.Recheck(id, start); !errors.Is(err, auth.ErrUnknownToken) {
		t.Errorf("recheck when taken back: %v", err)
	}
}

func TestReplace_Recheck(t *testing.T) {
	a := auth.New(staticTable(), auth.Options{})
	alice, err := a.Authenticate(t.Context(), "lab", "alice-token", start)
	if err != nil {
		t.Fatal(err)
	}
	red, err := a.Authenticate(t.Context(), "team-red", "alice-token", start)
	if err != nil {
		t.Fatal(err)
	}
	next := staticTable()
	next.Spaces[0].Tokens[0].Hash = auth.Hash("new-token")
	a.Replace(next)
	if err := a.Recheck(alice, start); !errors.Is(err, auth.ErrUnknownToken) {
		t.Errorf("alice in lab: %v", err)
	}
	if err := a.Recheck(red, start); err != nil {
		t.Errorf("alice in team-red: %v", err)
	}
	if _, err := a.Authenticate(t.Context(), "lab", "new-token", start); err != nil {
		t.Errorf("new token: %v", err)
	}
	if _, err := a.Authenticate(t.Context(), "lab", "alice-token", start); !errors.Is(err, auth.ErrOtherSpace) {
		t.Errorf("old token: %v", err)
	}
}

func TestRecheck_JWT(t *testing.T) {
	i, key := newIssuer(t), ecKey(t)
	i.publish("k1", key.Public())
	a := trusting(t, i)
	id, err := a.Authenticate(t.Context(), "lab", i.sign(t, jwt.SigningMethodES256, "k1", key, nil), start)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Recheck(id, start); err != nil {
		t.Error(err)
	}
	if err := a.Recheck(id, id.Expires); !errors.Is(err, auth.ErrExpired) {
		t.Errorf("at its end: %v", err)
	}
	a.Replace(staticTable())
	if err := a.Recheck(id, start); !errors.Is(err, auth.ErrUnknownToken) {
		t.Errorf("issuer not trusted any more: %v", err)
	}
}

func TestSpaces(t *testing.T) {
	i, key := newIssuer(t), ecKey(t)
	i.publish("k1", key.Public())
	jwts := trusting(t, i)
	static := auth.New(staticTable(), auth.Options{})
	for _, c := range []struct {
		a     *auth.Authenticator
		token string
		want  []string
		err   error
	}{
		{static, "alice-token", []string{"lab", "team-*"}, nil},
		{static, "bob-token", []string{"lab"}, nil},
		{static, "x", nil, auth.ErrUnknownToken},
		{jwts, "alice-token", []string{"lab"}, nil},
		{jwts, i.sign(t, jwt.SigningMethodES256, "k1", key, jwt.MapClaims{"aud": []string{"meup", "other"}}), []string{"lab", "other"}, nil},
		{jwts, i.sign(t, jwt.SigningMethodES256, "k1", key, jwt.MapClaims{"exp": 1}), nil, auth.ErrUnknownToken},
	} {
		got, err := c.a.Spaces(t.Context(), c.token, start)
		if !slices.Equal(got, c.want) || (err == nil) != (c.err == nil) {
			t.Errorf("got %v, %v, want %v, %v", got, err, c.want, c.err)
		}
	}
}

func TestNewToken(t *testing.T) {
	token, hash := auth.NewToken()
	again, _ := auth.NewToken()
	if token == again || !auth.ValidToken(token) || auth.Hash(token) != hash {
		t.Errorf("got %q and %q", token, again)
	}
	random, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "meup_"))
	if err != nil || len(random) != 32 {
		t.Errorf("%q: %d bytes, %v", token, len(random), err)
	}
}
