package access_test

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/protocol"
)

// invitations maps tokens to the invitations of spaces.
type invitations map[access.Digest]struct {
	space   string
	id      protocol.ParticipantID
	expires time.Time
}

func (i invitations) InvitedTo(hash [32]byte) (space string, expires time.Time, ok bool, err error) {
	found, ok := i[hash]
	return found.space, found.expires, ok, nil
}

func (i invitations) LookupInvite(_ context.Context, space string, hash [32]byte) (access.Invitation, bool, error) {
	found, ok := i[hash]
	return access.Invitation{Participant: found.id, Expires: found.expires, At: 7}, ok && found.space == space, nil
}

func staticTable() access.TokenTable {
	return access.TokenTable{
		Spaces: []access.SpaceTokens{
			{Name: "lab", Tokens: []access.Token{
				{Participant: "alice", Hash: access.Hash("alice-token")},
				{Participant: "bob", Hash: access.Hash("bob-token")},
			}},
			{Name: "team-*", Tokens: []access.Token{{Participant: "al", Hash: access.Hash("alice-token")}}},
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
	a := access.NewTokenAuthenticator(staticTable(), access.TokenOptions{})
	for _, c := range []struct {
		space, token string
		who          protocol.ParticipantID
		err          error
	}{
		{"lab", "alice-token", "alice", nil},
		{"lab", "bob-token", "bob", nil},
		{"team-red", "alice-token", "al", nil},
		{"team-red", "bob-token", "", access.ErrOtherSpace},
		{"nowhere", "bob-token", "", access.ErrOtherSpace},
		{"lab", "alice-toke", "", access.ErrUnknownToken},
		{"lab", "", "", access.ErrUnknownToken},
		{"nowhere", "x", "", access.ErrUnknownToken},
		{"", "alice-token", "", access.ErrOtherSpace},
	} {
		id, err := a.Authenticate(t.Context(), c.space, c.token, start)
		if id.Participant != c.who || !errors.Is(err, c.err) {
			t.Errorf("%q in %s: got %+v, %v, want %s, %v", c.token, c.space, id, err, c.who, c.err)
		}
		if err == nil && (id.Via != access.ViaToken || id.Space != c.space || !id.Expires.IsZero()) {
			t.Errorf("got %+v", id)
		}
	}
}

func TestInvitations(t *testing.T) {
	token, hash := access.NewToken()
	late, lateHash := access.NewToken()
	open := invitations{
		hash:     {"lab", "guest", start.Add(time.Minute)},
		lateHash: {"lab", "late", start},
	}
	a := access.NewTokenAuthenticator(staticTable(), access.TokenOptions{Invites: open})
	id, err := a.Authenticate(t.Context(), "lab", token, start)
	if err != nil || id.Participant != "guest" || id.Via != access.ViaInvite || !id.Expires.Equal(start.Add(time.Minute)) {
		t.Fatalf("got %+v, %v", id, err)
	}
	if _, err := a.Authenticate(t.Context(), "lab", late, start); !errors.Is(err, access.ErrExpired) {
		t.Errorf("late: %v", err)
	}
	for _, elsewhere := range []string{"team-red", "nowhere"} {
		if _, err := a.Authenticate(t.Context(), elsewhere, token, start); !errors.Is(err, access.ErrOtherSpace) {
			t.Errorf("in %s: %v", elsewhere, err)
		}
		if _, err := a.Authenticate(t.Context(), elsewhere, late, start); !errors.Is(err, access.ErrUnknownToken) {
			t.Errorf("late, in %s: %v", elsewhere, err)
		}
	}
	if err := a.Recheck(id, start); err != nil {
		t.Errorf("recheck: %v", err)
	}
	if err := a.Recheck(id, start.Add(time.Minute)); !errors.Is(err, access.ErrExpired) {
		t.Errorf("recheck after its end: %v", err)
	}
	delete(open, hash)
	if err := a.Recheck(id, start); !errors.Is(err, access.ErrUnknownToken) {
		t.Errorf("recheck when taken back: %v", err)
	}
}

func TestReplace_Recheck(t *testing.T) {
	a := access.NewTokenAuthenticator(staticTable(), access.TokenOptions{})
	alice, err := a.Authenticate(t.Context(), "lab", "alice-token", start)
	if err != nil {
		t.Fatal(err)
	}
	red, err := a.Authenticate(t.Context(), "team-red", "alice-token", start)
	if err != nil {
		t.Fatal(err)
	}
	next := staticTable()
	next.Spaces[0].Tokens[0].Hash = access.Hash("new-token")
	a.Replace(next)
	if err := a.Recheck(alice, start); !errors.Is(err, access.ErrUnknownToken) {
		t.Errorf("alice in lab: %v", err)
	}
	if err := a.Recheck(red, start); err != nil {
		t.Errorf("alice in team-red: %v", err)
	}
	if _, err := a.Authenticate(t.Context(), "lab", "new-token", start); err != nil {
		t.Errorf("new token: %v", err)
	}
	if _, err := a.Authenticate(t.Context(), "lab", "alice-token", start); !errors.Is(err, access.ErrOtherSpace) {
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
	if err := a.Recheck(id, id.Expires); !errors.Is(err, access.ErrExpired) {
		t.Errorf("at its end: %v", err)
	}
	a.Replace(staticTable())
	if err := a.Recheck(id, start); !errors.Is(err, access.ErrUnknownToken) {
		t.Errorf("issuer not trusted any more: %v", err)
	}
}

func TestSpaces(t *testing.T) {
	i, key := newIssuer(t), ecKey(t)
	i.publish("k1", key.Public())
	jwts := trusting(t, i)
	static := access.NewTokenAuthenticator(staticTable(), access.TokenOptions{})
	for _, c := range []struct {
		a     *access.TokenAuthenticator
		token string
		want  []string
		err   error
	}{
		{static, "alice-token", []string{"lab", "team-*"}, nil},
		{static, "bob-token", []string{"lab"}, nil},
		{static, "x", nil, access.ErrUnknownToken},
		{jwts, "alice-token", []string{"lab"}, nil},
		{jwts, i.sign(t, jwt.SigningMethodES256, "k1", key, jwt.MapClaims{"aud": []string{"meup", "other"}}), []string{"lab", "other"}, nil},
		{jwts, i.sign(t, jwt.SigningMethodES256, "k1", key, jwt.MapClaims{"exp": 1}), nil, access.ErrUnknownToken},
	} {
		got, err := c.a.Spaces(t.Context(), c.token, start)
		if !slices.Equal(got, c.want) || (err == nil) != (c.err == nil) {
			t.Errorf("got %v, %v, want %v, %v", got, err, c.want, c.err)
		}
	}
}

func TestNewToken(t *testing.T) {
	token, hash := access.NewToken()
	again, _ := access.NewToken()
	if token == again || !access.ValidToken(token) || access.Hash(token) != hash {
		t.Errorf("got %q and %q", token, again)
	}
	random, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "meup_"))
	if err != nil || len(random) != 32 {
		t.Errorf("%q: %d bytes, %v", token, len(random), err)
	}
}
