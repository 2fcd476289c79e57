package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Invites looks up the invitations of spaces. Its methods are called
// concurrently.
type Invites interface {
	// InvitedTo returns the space of the invitation with this token digest, and
	// its expiry (zero: never). It is called for every token that is not in the
	// configuration. Therefore it must do no I/O, and its cost must not grow
	// with the number of spaces. The error is set while the invitations are not
	// loaded.
	InvitedTo(tokenHash [32]byte) (space string, expires time.Time, ok bool, err error)
	// LookupInvite returns an open invitation to a space. It may read the
	// space's log: it is called only for tokens that InvitedTo has found. The
	// error is the log's.
	LookupInvite(ctx context.Context, space string, tokenHash [32]byte) (i Invitation, ok bool, err error)
}

// Invitation describes an open invitation.
type Invitation struct {
	Participant protocol.ParticipantID
	Expires     time.Time    // zero: never
	At          protocol.Seq // position of the invitation in the space's log
}

// TokenOptions configures a TokenAuthenticator. The zero value supports static tokens
// and JWTs.
type TokenOptions struct {
	Invites Invites      // nil: no invitations
	Client  *http.Client // for issuers; nil: newKeyClient()
	Log     *slog.Logger // nil: no log
}

// TokenAuthenticator authenticates tokens: it maps a token to a participant of a space,
// by section 4 of docs/protocol.md. Its methods may be called concurrently.
//
// There are three types of tokens. Static tokens are in the configuration, which
// contains only their SHA-256. Invitations are in the log of their space and are
// looked up through [Invites]. JWTs come from an OpenID Connect issuer that the space
// trusts. Its keys are fetched when the first of its tokens arrives, so that the
// gateway starts even if an issuer is down.
type TokenAuthenticator struct {
	invites Invites
	client  *http.Client
	log     *slog.Logger
	table   atomic.Pointer[table]
}

// NewTokenAuthenticator returns a TokenAuthenticator that uses a table.
func NewTokenAuthenticator(t TokenTable, o TokenOptions) *TokenAuthenticator {
	if o.Client == nil {
		o.Client = newKeyClient()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &TokenAuthenticator{invites: o.Invites, client: o.Client, log: o.Log}
	a.Replace(t)
	return a
}

// Replace replaces the table for later calls. Issuers in both tables keep their
// keys.
func (a *TokenAuthenticator) Replace(from TokenTable) {
	t := &table{
		find: from.Find, spaces: from.Spaces,
		jwts: make(map[string]JWT), issuers: make(map[string]*issuer), known: make(map[member]bool), owners: make(map[Digest][]owner),
	}
	rand.Read(t.key[:])
	for _, s := range from.Spaces {
		if s.JWT != nil {
			t.jwts[s.Name] = *s.JWT
			t.issuers[s.JWT.Issuer] = nil // set below
		}
		for _, id := range s.Reserved {
			t.known[member{s.Name, id}] = true
		}
		for _, token := range s.Tokens {
			m := member{s.Name, token.Participant}
			t.known[m] = true
			slot := t.slot(token.Hash)
			t.owners[slot] = append(t.owners[slot], owner{m, token.Hash, token.Expires})
		}
	}
	old := a.table.Load()
	for url := range t.issuers {
		if old != nil && old.issuers[url] != nil {
			t.issuers[url] = old.issuers[url]
			continue
		}
		i := &issuer{url: url, client: a.client, log: a.log, fetching: make(chan struct{}, 1)}
		i.keys.Store(&keySet{})
		t.issuers[url] = i
	}
	a.table.Store(t)
}

// Close closes idle connections to issuers.
func (a *TokenAuthenticator) Close() { a.client.CloseIdleConnections() }

// Authenticate returns the identity of a token in a space. The error wraps
// ErrUnknownToken, ErrOtherSpace, ErrExpired or ErrUnavailable. The caller
// checks that the space exists: for a space that is not configured, a token
// that is valid elsewhere returns ErrOtherSpace.
func (a *TokenAuthenticator) Authenticate(ctx context.Context, space, token string, now time.Time) (Identity, error) {
	t := a.table.Load()
	name, _ := t.find(space)
	hash := Hash(token)

	owners := t.lookup(hash)
	for _, o := range owners {
		switch {
		case o.space != name:
		case !o.valid(now):
			return Identity{}, fmt.Errorf("token of %s: %w", o.id, ErrExpired)
		default:
			return Identity{Participant: o.id, Space: space, Expires: o.expires, Via: ViaToken, hash: hash}, nil
		}
	}
	invitedTo, expires, invited, invitesErr := a.invitedTo(hash)
	if invited && invitedTo == space {
		return a.bearerOfInvite(ctx, space, hash, now)
	}
	// Only the bearer of a token learns that it is valid elsewhere.
	if invited && (expires.IsZero() || now.Before(expires)) || slices.ContainsFunc(owners, func(o owner) bool { return o.valid(now) }) {
		return Identity{}, ErrOtherSpace
	}
	id, err := a.bearerOfJWT(ctx, t, name, space, token, now)
	if err != nil && invitesErr != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrUnavailable, invitesErr)
	}
	return id, err
}

func (a *TokenAuthenticator) invitedTo(hash Digest) (space string, expires time.Time, ok bool, err error) {
	if a.invites == nil {
		return "", time.Time{}, false, nil
	}
	return a.invites.InvitedTo(hash)
}

// bearerOfInvite returns the identity of an invitation in its space.
func (a *TokenAuthenticator) bearerOfInvite(ctx context.Context, space string, hash Digest, now time.Time) (Identity, error) {
	i, ok, err := a.invites.LookupInvite(ctx, space, hash)
	switch {
	case err != nil:
		return Identity{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case !ok:
		return Identity{}, ErrUnknownToken
	case !i.Expires.IsZero() && !now.Before(i.Expires):
		return Identity{}, fmt.Errorf("invitation: %w", ErrExpired)
	}
	return Identity{Participant: i.Participant, Space: space, Expires: i.Expires, InvitedAt: i.At, Via: ViaInvite, hash: hash}, nil
}

// bearerOfJWT checks a JWT against the settings of the space, and otherwise
// against the settings of other spaces, to distinguish a wrong space from a bad
// token.
func (a *TokenAuthenticator) bearerOfJWT(ctx context.Context, t *table, name, space, token string, now time.Time) (Identity, error) {
	jwt, err := a.verifyJWT(ctx, t, token, now)
	if err != nil {
		return Identity{}, err
	}
	err = ErrOtherSpace
	if accepts, has := t.jwts[name]; has {
		var id Identity
		id, err = t.claimed(jwt, name, space, accepts, now)
		if err == nil {
			return id, nil
		}
	}
	for other, accepts := range t.jwts {
		if _, otherErr := t.claimed(jwt, other, space, accepts, now); otherErr == nil {
			return Identity{}, ErrOtherSpace
		}
	}
	if errors.Is(err, ErrOtherSpace) {
		return Identity{}, ErrUnknownToken
	}
	return Identity{}, err
}

// verifyJWT verifies the signature of a JWT, if any space trusts its issuer.
func (a *TokenAuthenticator) verifyJWT(ctx context.Context, t *table, token string, now time.Time) (*parsedJWT, error) {
	jwt, err := parseJWT(token)
	if err != nil {
		return nil, err
	}
	issuer := t.issuers[jwt.issuer]
	if issuer == nil {
		return nil, fmt.Errorf("%w: no space trusts its issuer", ErrUnknownToken)
	}
	if err := issuer.verify(ctx, jwt, now); err != nil {
		return nil, err
	}
	return jwt, nil
}

// claimed returns the identity of a verified JWT in a space, by its claims.
func (t *table) claimed(jwt *parsedJWT, name, space string, accepts JWT, now time.Time) (Identity, error) {
	participant, expires, err := jwt.check(accepts, now)
	if err != nil {
		return Identity{}, err
	}
	// An issuer lets its users choose names, and must not assign the names of
	// configured participants.
	if t.known[member{name, participant}] {
		return Identity{}, fmt.Errorf("%w: the claim %s names a participant that the configuration knows by another token",
			ErrUnknownToken, accepts.ParticipantClaim)
	}
	return Identity{Participant: participant, Space: space, Expires: expires, Via: ViaJWT, jwt: accepts}, nil
}

// Recheck checks an identity against the current table and invitations, for
// example for connected members after a reload. It returns nil, or an error
// that wraps ErrUnknownToken or ErrExpired.
func (a *TokenAuthenticator) Recheck(id Identity, now time.Time) error {
	if !id.Expires.IsZero() && !now.Before(id.Expires) {
		return ErrExpired
	}
	t := a.table.Load()
	name, _ := t.find(id.Space)
	holds := false
	switch id.Via {
	case ViaToken:
		for _, o := range t.lookup(id.hash) {
			if o.member == (member{name, id.Participant}) {
				holds = o.valid(now)
				if !holds {
					return ErrExpired
				}
			}
		}
	case ViaJWT:
		accepts, has := t.jwts[name]
		holds = has && accepts == id.jwt && !t.known[member{name, id.Participant}]
	case ViaInvite:
		again, err := a.bearerOfInvite(context.Background(), id.Space, id.hash, now)
		if err != nil {
			return err
		}
		holds = again.Participant == id.Participant
	}
	if !holds {
		return ErrUnknownToken
	}
	return nil
}

// Spaces lists the configured spaces, including globs, that a token is valid
// for, in the order of the table. It does not include invitations, which belong
// to an existing space. If the list is empty, the error is one of
// Authenticate's.
func (a *TokenAuthenticator) Spaces(ctx context.Context, token string, now time.Time) ([]string, error) {
	t := a.table.Load()
	owners := t.lookup(Hash(token))
	jwt, err := a.verifyJWT(ctx, t, token, now)
	var names []string
	for _, s := range t.spaces {
		if slices.ContainsFunc(owners, func(o owner) bool { return o.space == s.Name && o.valid(now) }) {
			names = append(names, s.Name)
			continue
		}
		if s.JWT == nil || jwt == nil {
			continue
		}
		_, err = t.claimed(jwt, s.Name, s.Name, *s.JWT, now)
		if err == nil {
			names = append(names, s.Name)
		}
	}
	if len(names) > 0 {
		return names, nil
	}
	return nil, cmp.Or(err, ErrUnknownToken)
}
