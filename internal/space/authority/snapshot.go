package authority

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/kit/pmap"
	"github.com/meup-protocol/meup/protocol"
)

// snapshotVersion is the first byte of a snapshot. It changes with the encoding and
// whenever [State.Fold] or the ledger derives another state from the same log:
// snapshots of other versions are not used.
const snapshotVersion = 5

const snapshotHeader = 1 + 4 // the version, and a checksum of everything after it

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Reasons why a snapshot is not used.
var (
	errOtherVersion = errors.New("it has another version")
	errOtherLog     = errors.New("it belongs to another log")
	errDamaged      = errors.New("it is damaged")
)

// Flags of a stored grant or membership.
const (
	storedInvited = 1 << iota
	storedToken   // the token of the invitation is valid
)

// encode encodes the state: the log that it was folded from, its position,
// and everything in it but guests that are forgotten by the clock of the log and by now,
// the time at the gateway: an entry of a gateway whose clock was ahead deletes none for good.
//
//	version checksum
//	log id, seq, id of the last state entry, number of state entries, clock
//	members, kicked, pauses, modes of reviewers
//	claims
//	position of the ledger, holdings
//	directory
//	extensions of budgets
//
// A string begins with its number of bytes. 1 precedes each element of a list, and 0
// ends it.
func (st *State) encode(logID string, now time.Time) []byte {
	w := encoder{dst: []byte{snapshotVersion, 0, 0, 0, 0}}
	start := len(w.dst)
	w.text(logID)
	w.number(uint64(st.Seq))
	w.text(string(st.last))
	w.number(st.folded)
	w.time(st.clock)
	st.appendMembers(&w, now)
	for id := range st.kicked.All() {
		w.element(string(id))
	}
	w.end()
	for id, until := range st.pauses.All() {
		w.element(string(id))
		w.time(until)
	}
	w.end()
	for id, c := range st.modes.All() {
		w.element(string(id))
		w.text(string(c.ID))
		w.number(uint64(c.Seq))
		w.time(c.At)
		w.text(string(c.By))
		w.flag(c.Decides)
		w.text(c.Reason)
		w.text(string(c.Undone))
		w.text(c.entry)
	}
	w.end()
	for key, c := range st.claims.items.All() {
		w.element(key)
		w.text(c.Path)
		w.text(c.Name)
		w.text(string(c.By))
		w.text(string(c.ID))
		w.time(c.At)
		w.time(c.Expires)
		w.text(c.Reason)
	}
	w.end()
	st.appendHoldings(&w)
	w.text(st.Directory.Encode())
	for id, x := range st.extended.All() {
		w.element(string(id))
		w.time(x.Day.Start())
		w.number(uint64(x.Tokens))
		w.number(uint64(x.Calls))
		w.number(uint64(x.Cost))
		w.text(x.Currency)
	}
	w.end()
	binary.LittleEndian.PutUint32(w.dst[start-4:], crc32.Checksum(w.dst[start:], castagnoli))
	return w.dst
}

func (st *State) appendMembers(w *encoder, now time.Time) {
	for id, m := range st.members.All() {
		if st.isForgotten(id, m) && now.Sub(m.seen) >= GuestAge {
			continue
		}
		w.element(string(id))
		if m.Origin == guest {
			w.number(0)
			w.time(m.seen)
			continue
		}
		i, valid := st.invitations.Get(m.token)
		if !valid {
			w.number(storedInvited)
		} else {
			w.number(storedInvited | storedToken)
			w.text(m.token)
			w.time(i.Expires)
		}
		w.text(string(m.Inviter))
		w.number(uint64(m.At))
	}
	w.end()
}

func (st *State) appendHoldings(w *encoder) {
	w.number(st.Ledger.Position())
	for id, h := range st.Ledger.Holdings() {
		w.element(string(id))
		w.flag(h.Invited)
		for _, g := range h.Grants {
			w.element(string(g.ID))
			w.number(g.Position)
			w.text(string(g.Grantor))
			w.time(g.At)
			w.time(g.ExpiresAt)
			w.text(g.Reason)
			w.flag(g.Invitation)
			for _, c := range g.Capabilities {
				w.element(c.String())
			}
			w.end()
		}
		w.end()
		for _, v := range h.Revoked {
			w.element(v.Rule.String())
			w.number(v.Position)
		}
		w.end()
	}
	w.end()
}

// restore returns the state that encode encoded, under a configuration.
func restore(data []byte, logID string, cfg *Config) (*State, error) {
	if len(data) < snapshotHeader || data[0] != snapshotVersion {
		return nil, errOtherVersion
	}
	body := data[snapshotHeader:]
	if binary.LittleEndian.Uint32(data[1:]) != crc32.Checksum(body, castagnoli) {
		return nil, errDamaged
	}
	r := decoder{rest: body}
	if r.text() != logID {
		return nil, errOtherLog
	}
	st := NewState(cfg)
	st.Seq, st.last, st.folded, st.clock = protocol.Seq(r.number()), protocol.ID(r.text()), r.number(), r.time()
	var invitations []pmap.Pair[string, Invitation]
	var expiry []pmap.Pair[string, string]
	st.members = read(&r, func(id protocol.ParticipantID) Membership {
		m, i := r.membership(id)
		if m.token != "" {
			invitations = append(invitations, pmap.Pair[string, Invitation]{Key: m.token, Value: i})
			if !i.Expires.IsZero() {
				expiry = append(expiry, pmap.Pair[string, string]{Key: pmap.TimeKey(i.Expires, m.token), Value: m.token})
			}
		}
		return m
	})
	st.invitations, st.expiry = pmap.Of(invitations), pmap.Of(expiry)
	st.kicked = read(&r, func(protocol.ParticipantID) (none struct{}) { return none })
	st.pauses = read(&r, func(protocol.ParticipantID) time.Time { return r.time() })
	st.modes = read(&r, func(protocol.ParticipantID) ModeChange {
		return ModeChange{
			ID: protocol.ID(r.text()), Seq: protocol.Seq(r.number()), At: r.time(), By: protocol.ParticipantID(r.text()),
			Decides: r.flag(), Reason: r.text(), Undone: protocol.ID(r.text()), entry: r.text(),
		}
	})
	for r.flag() {
		key := r.text()
		c := Claim{Path: r.text(), Name: r.text(), By: protocol.ParticipantID(r.text()), ID: protocol.ID(r.text()), At: r.time(), Expires: r.time(), Reason: r.text()}
		if r.err == nil {
			st.setClaim(key, c)
		}
	}
	st.Ledger = st.Ledger.Restored(r.number(), elements(&r, r.holding))
	directory, err := DecodeDirectory(r.text())
	if err != nil {
		r.fail(err)
	}
	st.Directory = directory
	st.extended = read(&r, func(protocol.ParticipantID) Extension {
		return Extension{Day: DayOf(r.time()), Tokens: int64(r.number()), Calls: int64(r.number()), Cost: Money(r.number()), Currency: r.text()}
	})
	if r.err == nil && len(r.rest) > 0 {
		r.fail(errors.New("data follows its end"))
	}
	if r.err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, r.err)
	}
	return st, nil
}

// read reads a map with an element for each participant.
func read[V any](r *decoder, value func(protocol.ParticipantID) V) pmap.Map[protocol.ParticipantID, V] {
	var pairs []pmap.Pair[protocol.ParticipantID, V]
	for id, v := range elements(r, value) {
		pairs = append(pairs, pmap.Pair[protocol.ParticipantID, V]{Key: id, Value: v})
	}
	return pmap.Of(pairs)
}

// elements reads a list with an element for each participant.
func elements[V any](r *decoder, value func(protocol.ParticipantID) V) iter.Seq2[protocol.ParticipantID, V] {
	return func(yield func(protocol.ParticipantID, V) bool) {
		for r.flag() {
			id := protocol.ParticipantID(r.text())
			if v := value(id); r.err != nil || !yield(id, v) {
				return
			}
		}
	}
}

// encoder appends values to dst.
type encoder struct{ dst []byte }

func (w *encoder) number(n uint64) { w.dst = binary.AppendUvarint(w.dst, n) }

func (w *encoder) text(s string) {
	w.number(uint64(len(s)))
	w.dst = append(w.dst, s...)
}

func (w *encoder) flag(set bool) {
	n := uint64(0)
	if set {
		n = 1
	}
	w.number(n)
}

// time encodes a time to the nanosecond; the zero time is one byte.
func (w *encoder) time(t time.Time) {
	w.flag(!t.IsZero())
	if !t.IsZero() {
		w.dst = binary.AppendVarint(w.dst, t.UnixNano())
	}
}

// element begins an element of a list with a text.
func (w *encoder) element(s string) {
	w.flag(true)
	w.text(s)
}

// end ends a list.
func (w *encoder) end() { w.flag(false) }

// decoder reads values from the front of rest. After an error it returns zeros.
type decoder struct {
	rest []byte
	err  error
}

func (r *decoder) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = nil
}

var errShort = errors.New("it ends early")

func (r *decoder) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.fail(errShort)
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// flag reads a flag. As the beginning of a list's element it reports whether there
// is one.
func (r *decoder) flag() bool { return r.number() != 0 }

func (r *decoder) bytes() []byte {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.fail(errShort)
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *decoder) text() string { return string(r.bytes()) }

func (r *decoder) time() time.Time {
	if !r.flag() {
		return time.Time{}
	}
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.fail(errShort)
		return time.Time{}
	}
	r.rest = r.rest[size:]
	return time.Unix(0, n).UTC()
}

func (r *decoder) capability() *capability.Capability {
	c, err := capability.ParseStored(r.bytes())
	if err != nil {
		r.fail(err)
	}
	return c
}

// membership reads a membership, and the invitation if its token is still valid.
func (r *decoder) membership(id protocol.ParticipantID) (m Membership, i Invitation) {
	flags := r.number()
	if flags == 0 {
		return Membership{Origin: guest, seen: r.time()}, i
	}
	m.Origin = invited
	if flags&storedToken != 0 {
		m.token, i.Expires = r.text(), r.time()
		if len(m.token) != sha256.Size {
			r.fail(errors.New("a token has another length"))
		}
	}
	m.Inviter, m.At = protocol.ParticipantID(r.text()), protocol.Seq(r.number())
	i.Participant, i.At = id, m.At
	return m, i
}

func (r *decoder) holding(id protocol.ParticipantID) capability.Holding {
	h := capability.Holding{Invited: r.flag()}
	for r.flag() {
		g := capability.StoredGrant{Grant: capability.Grant{Recipient: id, ID: protocol.ID(r.text())}, Position: r.number()}
		g.Grantor, g.At, g.ExpiresAt = protocol.ParticipantID(r.text()), r.time(), r.time()
		g.Reason, g.Invitation = r.text(), r.flag()
		for r.flag() {
			g.Capabilities = append(g.Capabilities, r.capability())
		}
		h.Grants = append(h.Grants, g)
	}
	for r.flag() {
		h.Revoked = append(h.Revoked, capability.StoredRule{Rule: r.capability(), Position: r.number()})
	}
	return h
}
