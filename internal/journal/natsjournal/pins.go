package natsjournal

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// maxPins bounds the memory of what is pinned in one stream.
const maxPins = 256

// pins remembers, for one stream, where a purge must not cut.
//
// The trap: an envelope x stands at message 10, and the same x again at 50,
// refused as a retry. If the stream were purged up to 20, a gateway that made
// its replica anew would see x at 50 alone and take it for an entry, which no
// other gateway has. So a purge does not cut between the two. They are seconds
// apart: a gateway publishes nothing whose id its replica knows. State drafts
// are never purged, so one that was refused is deleted by itself before the
// first x goes.
//
// Every gateway applies the same blocks and so has the same pins.
type pins struct {
	mu    sync.Mutex
	list  []pin
	dirty bool // differs from what the replica has
}

// pin is a refused draft at message To whose id was taken at message From.
type pin struct {
	Space string `json:"space"`
	From  uint64 `json:"from"`
	To    uint64 `json:"to"`
	State bool   `json:"state,omitempty"`
}

func metaPins(stream string) string { return "pins/" + stream }

// add pins a refused draft.
func (p *pins) add(n pin) {
	if n.From >= n.To {
		return // within one message, which goes as a whole or not at all
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(p.list, n) {
		return // applied again after a failure
	}
	p.dirty = true
	if !n.State {
		n = p.absorb(n)
	}
	p.list = append(p.list, n)
	if len(p.list) > maxPins {
		p.squeeze()
	}
}

// absorb merges n with the pins that overlap it, which cannot be cut apart.
func (p *pins) absorb(n pin) pin {
	p.list = slices.DeleteFunc(p.list, func(o pin) bool {
		if o.State || o.Space != n.Space || o.To < n.From || n.To < o.From {
			return false
		}
		n.From, n.To = min(n.From, o.From), max(n.To, o.To)
		return true
	})
	return n
}

// squeeze merges two pins of one space, which forbids more than necessary but
// never too little. Pins of state drafts are never merged: each is a message
// to be deleted.
func (p *pins) squeeze() {
	for i, a := range p.list {
		for k, b := range p.list[i+1:] {
			if a.Space != b.Space || a.State || b.State {
				continue
			}
			p.list[i].From, p.list[i].To = min(a.From, b.From), max(a.To, b.To)
			p.list = slices.Delete(p.list, i+1+k, i+2+k)
			return
		}
	}
}

// cut returns up to where (exclusive) the space can be purged if upTo is
// wanted, and which messages have to be deleted before.
func (p *pins) cut(space string, upTo uint64) (safe uint64, remove []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	safe = upTo
	for again := true; again; {
		again = false
		for _, n := range p.list {
			if n.Space == space && !n.State && n.From < safe && safe <= n.To {
				safe, again = n.From, true
			}
		}
	}
	for _, n := range p.list {
		if n.Space == space && n.State && n.From < safe {
			remove = append(remove, n.To)
		}
	}
	return safe, remove
}

// purged drops the pins that a purge has settled.
func (p *pins) purged(space string, upTo uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.list)
	p.list = slices.DeleteFunc(p.list, func(n pin) bool {
		return n.Space == space && n.From < upTo && (n.State || n.To < upTo)
	})
	p.dirty = p.dirty || len(p.list) != before
}

// changed returns the encoded pins if the replica does not have them yet.
func (p *pins) changed() ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.dirty {
		return nil, false
	}
	p.dirty = false
	data, err := json.Marshal(p.list)
	return data, err == nil // strings and numbers always can be
}

// load replaces the pins by what changed returned once.
func (p *pins) load(data []byte) error {
	var list []pin
	if len(data) > 0 {
		if err := json.Unmarshal(data, &list); err != nil {
			return fmt.Errorf("read pins: %w", err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list, p.dirty = list, false
	return nil
}
