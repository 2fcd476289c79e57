package capability

import (
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// CheckGrant reports whether the granter may give what the grant gives: all of
// it must be contained in what the granter holds at g.At. The error has the
// code cannot_delegate and names the capability.
func (l *Ledger) CheckGrant(g Grant) *protocol.Error {
	entries := newEntries(g.Capabilities)
	if len(entries) == 0 && (len(g.Capabilities) > 0 || !g.Invitation) {
		return cannotDelegate("the grant gives nothing: deny rules only limit the other capabilities of the same grant")
	}
	if len(entries)+l.granted(g.Recipient, g.At) > MaxGranted {
		return cannotDelegate("%s would hold more than %d granted capabilities; revoke some first", g.Recipient, MaxGranted)
	}
	now := *l
	if g.At.After(now.clock) {
		now.clock = g.At
	}
	for _, e := range entries {
		found, obstacle := now.trace(g.Granter, l.position+1, e)
		if found != nil {
			continue
		}
		what := shorten(e.capability.String())
		switch {
		case obstacle == nil:
			return cannotDelegate("you cannot grant %s: you do not hold it", what)
		case obstacle.deny:
			return cannotDelegate("you cannot grant %s: %s denies it to you", what, shorten(obstacle.String()))
		}
		return cannotDelegate("you cannot grant %s: what you hold is %s, which does not contain it", what, shorten(obstacle.String()))
	}
	return nil
}

// granted counts the granted capabilities that the participant holds.
func (l *Ledger) granted(p protocol.ParticipantID, now time.Time) int {
	n := 0
	for _, r := range l.holder(p).grants {
		if !r.expired(now) {
			n += len(r.entries)
		}
	}
	return n
}

func cannotDelegate(format string, args ...any) *protocol.Error {
	return protocol.Errorf(protocol.CodeCannotDelegate, format, args...)
}

// CheckRevocation reports whether there is something to revoke: a named grant
// must be live and the recipient's. The error has the code invalid_payload.
func (l *Ledger) CheckRevocation(v Revocation) *protocol.Error {
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
