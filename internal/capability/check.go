package capability

import (
	"math"

	"github.com/meup-protocol/meup/protocol"
)

// CheckGrant returns an error with the code cannot_delegate, which names the
// capability, unless the grantor clearly holds all capabilities of the grant. It
// may reject a grant whose coverage is not clear. A grant that passes gives no
// more than the grantor holds, since each request is evaluated along the chain.
func (l *Ledger) CheckGrant(g Grant) error {
	set := NewSet(g.Capabilities...)
	if len(set.allows) == 0 && (len(g.Capabilities) > 0 || !g.Invitation) {
		return cannotDelegate("the grant gives nothing: deny rules only limit the other capabilities of the same grant")
	}
	if err := l.checkSize(g); err != nil {
		return err
	}
	remaining := Work{left: maxCheckWork}
	for _, c := range set.allows {
		q := query{ledger: l, now: g.At, subject: c, work: remaining}
		f := q.find(g.Grantor, math.MaxUint64, 1)
		what := short(c.String())
		switch {
		case f.by != nil:
			remaining = q.work
			continue
		case q.work.left < 0:
			return cannotDelegate("you cannot grant %s: the grant takes too much work to check; grant less at once", what)
		case f.obstacle == nil:
			return cannotDelegate("you cannot grant %s: you do not hold it, or it was passed on %d times already", what, maxChain)
		case f.obstacle.deny:
			return cannotDelegate("you cannot grant %s: %s denies it to you", what, short(f.obstacle.String()))
		}
		return cannotDelegate("you cannot grant %s: what you hold is %s, which does not contain it", what, short(f.obstacle.String()))
	}
	return nil
}

// checkSize checks the grant against the bounds of the recipient and of the
// space.
func (l *Ledger) checkSize(g Grant) error {
	add := sizeOf(g.Capabilities)
	var held size
	for _, r := range l.holder(g.Recipient).grants {
		if !r.expired(g.At) {
			held = held.plus(r.size)
		}
	}
	after, total := held.plus(add), l.total.plus(add)
	switch {
	case after.capabilities > maxGranted || after.memory > maxGrantedMemory:
		return cannotDelegate("%s would hold more than %d granted capabilities, or %d KiB of them; revoke some first",
			g.Recipient, maxGranted, maxGrantedMemory>>10)
	case total.capabilities > maxInSpace || total.memory > maxInSpaceMemory:
		return cannotDelegate("the space would hold more than %d granted capabilities, or %d KiB of them; revoke some first",
			maxInSpace, maxInSpaceMemory>>10)
	}
	return nil
}

func cannotDelegate(format string, args ...any) *protocol.Error {
	return protocol.Errorf(protocol.CodeCannotDelegate, format, args...)
}

// CheckRevocation reports whether there is something to revoke: a named grant
// must be live and the recipient's. The error has the code invalid_payload.
func (l *Ledger) CheckRevocation(v Revocation) error {
	if v.GrantID == "" {
		return nil
	}
	g, ok := l.Grant(v.GrantID, v.At)
	var err *protocol.Error
	switch {
	case !ok:
		err = protocol.Errorf(protocol.CodeInvalidPayload, "there is no grant %s, or it has ended", v.GrantID)
	case g.Recipient != v.Recipient:
		err = protocol.Errorf(protocol.CodeInvalidPayload, "grant %s was not given to %s", v.GrantID, v.Recipient)
	default:
		return nil
	}
	err.Path = "/grant_id"
	return err
}
