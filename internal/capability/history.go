package capability

import (
	"slices"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// link is a change in the history, newest first.
type link struct {
	change Change
	before *link
	length int
}

func (l *Ledger) remember(c Change) {
	length := 1
	if l.history != nil {
		length += l.history.length
	}
	l.history = &link{change: c, before: l.history, length: length}
}

// compact drops from the history what has ended, once that is most of it.
func (l *Ledger) compact() {
	if l.history == nil || l.history.length < compactHistory+2*len(l.grants) {
		return
	}
	kept := l.pastChanges()
	if len(kept) > l.history.length/2 {
		return
	}
	l.history = nil
	for _, c := range kept {
		l.remember(c)
	}
}

// pastChanges returns the history, oldest first, without what can make no
// difference any more, whatever the configuration.
//
// A grant that has ended may still make one: what the recipient granted
// meanwhile may have been derived from it, and then ended with it, even if the
// recipient could also have derived it from something that lasts longer. It is
// kept as long as such a grant is.
func (l *Ledger) pastChanges() []Change {
	var out []Change
	granted := make(map[protocol.ParticipantID]time.Time) // by whom, when first
	kept := make(map[protocol.ID]bool)
	for h := l.history; h != nil; h = h.before {
		if g, ok := h.change.(Grant); ok {
			first, some := granted[g.Recipient]
			if g.expired(l.clock) && !g.Invitation && !(some && first.Before(g.ExpiresAt)) {
				continue
			}
			kept[g.ID] = true
			if first, some := granted[g.Granter]; !some || g.At.Before(first) {
				granted[g.Granter] = g.At
			}
		}
		out = append(out, h.change)
	}
	slices.Reverse(out)
	return slices.DeleteFunc(out, func(c Change) bool {
		v, ok := c.(Revocation)
		return ok && len(v.Capabilities) == 0 && !kept[v.GrantID]
	})
}
