package authority

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/internal/kit/pmap"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of claims.
const (
	defaultClaim = 10 * time.Minute
	maxClaim     = 24 * time.Hour

	maxClaimed      = 256   // paths and names of one participant
	maxClaimedTotal = 4_096 // in a space
	maxClaimItems   = 64    // of one claim
	maxClaimName    = 256   // bytes
	maxClaimReason  = 512   // bytes that are kept
)

// Claim is a path or a name that a participant works on.
type Claim struct {
	Path, Name  string // one of them; the path is cleaned
	By          protocol.ParticipantID
	ID          protocol.ID // of the envelope that claimed it last
	At, Expires time.Time
	Reason      string
}

// claims are the claims of a space. The zero value has none.
type claims struct {
	items  pmap.Map[string, Claim]                  // by claimKey
	expiry pmap.Map[string, string]                 // keys of items, by pmap.TimeKey
	counts pmap.Map[protocol.ParticipantID, uint64] // of items; without zeros
}

// A path is claimed by its canonical form, and a name behind a mark that no path begins with.
const nameMark = "="

// readClaimed reads the paths and names of a claim or a release, with their keys. The error has the code
// invalid_payload.
func readClaimed(payload protocol.Value) (keys []string, items []Claim, err error) {
	refused := func(field string, i int, what string) error {
		e := protocol.Errorf(protocol.CodeInvalidPayload, "The %s number %d cannot be claimed: %s.", field, i+1, what)
		e.Path, e.Detail = "/payload/"+field+"s", what
		return e
	}
	i := 0
	for x := range payload.Get("paths").Elements {
		path, ok := argument.Absolute(x.Text(), argument.Place{})
		if !ok {
			return nil, nil, refused("path", i, "expected an absolute path without anything that tools may read otherwise")
		}
		key, _ := argument.Canonical(path, argument.Place{})
		keys, items = append(keys, key), append(items, Claim{Path: path})
		i++
	}
	i = 0
	for x := range payload.Get("names").Elements {
		name := x.Text()
		if name == "" || len(name) > maxClaimName {
			return nil, nil, refused("name", i, "expected a text of 1 to 256 bytes")
		}
		keys, items = append(keys, nameMark+name), append(items, Claim{Name: name})
		i++
	}
	if len(keys) > maxClaimItems {
		return nil, nil, protocol.Errorf(protocol.CodeInvalidPayload, "An envelope has at most %d paths and names; send several.", maxClaimItems)
	}
	return keys, items, nil
}

// CheckClaim checks that nobody else holds what a claim names, and that it is within the bounds. The error
// is a *protocol.Error.
func (st *State) CheckClaim(e *protocol.Envelope, payload protocol.Value) error {
	keys, items, err := readClaimed(payload)
	if err != nil {
		return err
	}
	added := make(map[string]struct{}, len(keys))
	for i, key := range keys {
		other, below, found := st.conflict(key, e.From, e.TS)
		if found {
			what := cmp.Or(other.Path, other.Name)
			if below { // no text of its own choice
				what = "something in " + items[i].Path
			}
			err := protocol.Errorf(protocol.CodeClaimed, "%s holds %s until %s; wait for its release, or ask for it.", other.By, what, other.Expires.Format(time.RFC3339))
			err.By, err.ExpiresAt = other.By, other.Expires.Format(time.RFC3339)
			return err
		}
		if _, held := st.holding(key, e.TS); !held {
			added[key] = struct{}{}
		}
	}
	own, all := st.countClaims(e.From, e.TS)
	if own+len(added) > maxClaimed || all+len(added) > maxClaimedTotal {
		err := protocol.Errorf(protocol.CodeRateLimited, "You hold %d paths and names, and the space has %d; release some first.", own, all)
		err.Limit, err.RetryAfterMS = "claims", 1000
		return err
	}
	return nil
}

// countClaims returns how many claims of a participant, and of all, have not ended.
func (st *State) countClaims(id protocol.ParticipantID, at time.Time) (own, all int) {
	n, _ := st.claims.counts.Get(id)
	own, all = int(n), st.claims.items.Len()
	now := pmap.TimeKey(at, "")
	for end, key := range st.claims.expiry.All() {
		if end >= now {
			break
		}
		c, _ := st.claims.items.Get(key)
		if c.By == id {
			own--
		}
		all--
	}
	return own, all
}

// CheckRelease checks the form of a release.
func (st *State) CheckRelease(e *protocol.Envelope, payload protocol.Value) error {
	keys, _, err := readClaimed(payload)
	if err == nil && len(keys) == 0 && len(e.Correlation.IDs) == 0 {
		err = protocol.Errorf(protocol.CodeInvalidPayload, "The release names nothing: add paths, names, or the id of a claim as correlationId.")
	}
	return err
}

// conflict returns a claim of somebody else than by that a key is in conflict with: of the same, of a folder that it is in,
// or of something below it.
func (st *State) conflict(key string, by protocol.ParticipantID, at time.Time) (c Claim, below, found bool) {
	for k := range around(key) {
		c, held := st.holding(k, at)
		if held && c.By != by {
			return c, false, true
		}
	}
	for k := range st.below(key) {
		c, held := st.holding(k, at)
		if held && c.By != by {
			return c, true, true
		}
	}
	return Claim{}, false, false
}

// holding returns the claim of a key that is in force.
func (st *State) holding(key string, at time.Time) (Claim, bool) {
	c, ok := st.claims.items.Get(key)
	return c, ok && at.Before(c.Expires) && !st.IsGone(c.By)
}

// around yields a key and the keys of the folders that its path is in, the inner first.
func around(key string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for yield(key) && !strings.HasPrefix(key, nameMark) && key != "/" {
			i := strings.LastIndexByte(key, '/')
			switch {
			case i < 0 || i == len(key)-1 && key[i-1] == ':': // a drive
				return
			case i == 0:
				key = "/"
			case key[i-1] == ':':
				key = key[:i+1]
			default:
				key = key[:i]
			}
		}
	}
}

// below yields the claimed keys of what is below the path of a key.
func (st *State) below(key string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if strings.HasPrefix(key, nameMark) {
			return
		}
		folder := strings.TrimSuffix(key, "/") + "/"
		for k := range st.claims.items.From(folder) {
			if !strings.HasPrefix(k, folder) || !yield(k) {
				return
			}
		}
	}
}

// Held implements [capability.Claims].
func (st *State) Held(path string, by protocol.ParticipantID, at time.Time) (own, others bool) {
	for k := range around(path) {
		if c, held := st.holding(k, at); held && c.By == by {
			own = true
		}
	}
	_, _, others = st.conflict(path, by, at)
	return own, others
}

// everything is held by everybody who asks.
type everything struct{}

func (everything) Held(string, protocol.ParticipantID, time.Time) (own, others bool) {
	return true, false
}

// NeedsClaims returns the absolute paths that a participant has to claim so that its capabilities allow a call; nil: they
// allow it without, or not at all.
func (st *State) NeedsClaims(id protocol.ParticipantID, e *protocol.Envelope, now time.Time) []string {
	payload := e.ParsePayload()
	r := st.Request(id, e, payload, now)
	rights := st.Ledger.Effective(id, now)
	if rights.Decide(&r).Allowed {
		return nil
	}
	r.Claims = everything{}
	if !rights.Decide(&r).Allowed {
		return nil
	}
	paths, _ := capability.PathsOf(payload.Get("params").Get("arguments"), r.Place)
	return paths
}

// Request returns what capabilities match of an envelope that a participant sends, with the claims of the space.
func (st *State) Request(from protocol.ParticipantID, e *protocol.Envelope, payload protocol.Value, now time.Time) capability.Request {
	r := st.Config.Request(from, e, payload)
	r.Sender, r.Now, r.Claims = from, now, st
	return r
}

// Claims returns the claims in force, in the order of their paths and names.
func (st *State) Claims(now time.Time) []Claim {
	list := []Claim{}
	for key := range st.claims.items.All() {
		if c, held := st.holding(key, now); held {
			list = append(list, c)
		}
	}
	return list
}

// Claimants returns the participants that hold something, or did until it expired.
func (st *State) Claimants() []protocol.ParticipantID {
	var list []protocol.ParticipantID
	for id := range st.claims.counts.All() {
		list = append(list, id)
	}
	return list
}

// claim folds a claim. It is the newest of what it names.
func (st *State) claim(e *protocol.Envelope, payload protocol.Value) error {
	keys, items, err := readClaimed(payload)
	if err != nil {
		return err
	}
	st.dropEndedClaims(e.TS)
	ttl := defaultClaim
	if seconds, ok := payload.Get("ttl_seconds").Float(); ok {
		ttl = min(time.Duration(seconds*float64(time.Second)), maxClaim)
	}
	ends := e.TS.Add(ttl).Round(0)
	for i, key := range keys {
		c := items[i]
		c.By, c.ID, c.At, c.Expires = e.From, e.ID, e.TS, ends
		c.Reason = textutil.Shorten(payload.Get("reason").Text(), maxClaimReason)
		st.setClaim(key, c)
	}
	return nil
}

// release folds a release: of its sender, or of the gateway for a participant that left.
func (st *State) release(e *protocol.Envelope, payload protocol.Value) error {
	if e.From == protocol.GatewayID {
		st.dropClaims(protocol.ParticipantIn(payload, "participant_id"))
		return nil
	}
	keys, _, err := readClaimed(payload)
	if err != nil {
		return err
	}
	if !st.claims.counts.Has(e.From) {
		return nil
	}
	for key, c := range st.claims.items.All() {
		named := func(k string) bool { // the key is the same, or of something below the path
			below := !strings.HasPrefix(k, nameMark) && strings.HasPrefix(key, strings.TrimSuffix(k, "/")+"/")
			return below || key == k
		}
		if c.By == e.From && (e.Correlation.Names(c.ID) || slices.ContainsFunc(keys, named)) {
			st.dropClaim(key)
		}
	}
	return nil
}

// dropClaims drops the claims of a participant.
func (st *State) dropClaims(id protocol.ParticipantID) {
	if !st.claims.counts.Has(id) {
		return
	}
	for key, c := range st.claims.items.All() {
		if c.By == id {
			st.dropClaim(key)
		}
	}
}

func (st *State) setClaim(key string, c Claim) {
	st.dropClaim(key)
	st.claims.items = st.claims.items.Set(key, c)
	st.claims.expiry = st.claims.expiry.Set(pmap.TimeKey(c.Expires, key), key)
	n, _ := st.claims.counts.Get(c.By)
	st.claims.counts = st.claims.counts.Set(c.By, n+1)
}

func (st *State) dropClaim(key string) {
	c, ok := st.claims.items.Get(key)
	if !ok {
		return
	}
	st.claims.items = st.claims.items.Delete(key)
	st.claims.expiry = st.claims.expiry.Delete(pmap.TimeKey(c.Expires, key))
	n, _ := st.claims.counts.Get(c.By)
	if n == 1 {
		st.claims.counts = st.claims.counts.Delete(c.By)
	} else {
		st.claims.counts = st.claims.counts.Set(c.By, n-1)
	}
}

// dropEndedClaims drops the claims that ended before now.
func (st *State) dropEndedClaims(now time.Time) {
	for {
		at, key, ok := st.claims.expiry.After("")
		if !ok || at >= pmap.TimeKey(now, "") {
			return
		}
		st.dropClaim(key)
	}
}
