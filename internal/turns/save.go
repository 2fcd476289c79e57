package turns

import (
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/protocol"
)

// state is the part of a Tracker that is saved as one row.
type state struct {
	Last    mark            `json:"last"`
	Salt    []byte          `json:"salt"`
	Answers json.RawMessage `json:"answers"`
}

// mark identifies an envelope of the log.
type mark struct {
	Seq protocol.Seq `json:"seq"`
	ID  protocol.ID  `json:"id"`
	TS  int64        `json:"ts"` // µs since 1970
}

func markOf(env *protocol.Envelope) mark { return mark{env.Seq, env.ID, env.TS.UnixMicro()} }

// IsLast reports whether an envelope is the last one that was applied: one of another
// log, or of another history of this log, is not.
func (t *Tracker) IsLast(env *protocol.Envelope) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return markOf(env) == t.last
}

// saltBytes is the size of the salt of hashes: without it, a participant could choose ids
// with equal hashes.
const saltBytes = 16

func (t *Tracker) restore() (extra []byte, err error) {
	x := t.index
	row, err := x.rows.Get([]byte{keyState})
	if err != nil {
		return nil, err
	}
	if row == nil {
		x.salt = make([]byte, saltBytes)
		_, _ = rand.Read(x.salt) // never fails
		t.answers = exchange.NewAnswers()
		return nil, nil
	}
	var s state
	if err := json.Unmarshal(row, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	t.answers, err = exchange.RestoreAnswers(s.Answers)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	t.last, x.salt = s.Last, s.Salt
	return x.rows.Get([]byte{keyExtra})
}

// Save saves the Tracker as it is now in its Rows, with data for the caller of [Open].
// It must not be called at the same time as Apply.
func (t *Tracker) Save(extra []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.shrink()
	known, err := t.answers.Save()
	if err != nil {
		return err
	}
	row, err := json.Marshal(state{Last: t.last, Salt: t.index.salt, Answers: known})
	if err != nil {
		return err
	}
	x := t.index
	x.save()
	x.check(x.rows.Set([]byte{keyState}, row))
	x.check(x.rows.Set([]byte{keyExtra}, extra))
	if x.err == nil {
		x.check(x.rows.Commit())
	}
	return x.err
}

// Err returns the first error of the Rows. After one, the Tracker has to be opened
// again.
func (t *Tracker) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.index.err != nil {
		return fmt.Errorf("read the index of turns: %w", t.index.err)
	}
	return nil
}

// trimStep is how many turns Trim looks at under the lock.
const trimStep = 64

// Trim drops the turns whose beginning the log no longer has, and titles from such
// envelopes. Threads keep their ids and go on with the next number.
func (t *Tracker) Trim(oldest protocol.Seq) error {
	for from := protocol.Seq(0); from < oldest; {
		from = t.trimSome(from, oldest)
	}
	return t.Err()
}

func (t *Tracker) trimSome(from, oldest protocol.Seq) (next protocol.Seq) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.shrink()
	rows, err := t.index.rows.From(allTurns, from, trimStep)
	t.index.check(err)
	for _, row := range rows {
		if row.Seq >= oldest || t.index.err != nil {
			return oldest
		}
		from = row.Seq + 1
		d := &decoder{rest: row.Value}
		at, _ := d.ref()
		t.index.check(d.finish())
		if held := t.index.trimTurn(row.Seq, at, oldest); held != nil {
			t.cache.remove(held)
		}
	}
	if len(rows) < trimStep {
		return oldest
	}
	return from
}
