// Package journal is the durable, ordered log behind every space.
//
// A space's log is a sequence of entries with growing [protocol.Seq]. What is
// in it was admitted, and nothing else was: the moment at which an append
// becomes durable is the moment of admission. Delivery, resume, history and
// replay all read the same entries.
//
// There are three implementations: memory, pebblejournal (embedded, the
// default) and natsjournal (JetStream, for several gateways). All of them pass
// the suite in journaltest.
package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Errors that callers match.
var (
	// ErrUnavailable means that the log cannot take or give entries now. A
	// draft that failed with it was not appended.
	ErrUnavailable = errors.New("log unavailable")
	// ErrOutcomeUnknown means that a draft may or may not have been appended.
	// Appending it again with the same id is safe.
	ErrOutcomeUnknown = errors.New("outcome of append unknown")
	// ErrDuplicateID: another sender has used the id in this space.
	ErrDuplicateID = errors.New("id used by another sender")
	// ErrStale: a state entry that the draft's Basis does not cover is in the
	// log already. The caller has to check the draft again.
	ErrStale = errors.New("checked against outdated state")
	// ErrTooLarge: the log cannot hold an entry of this size.
	ErrTooLarge = errors.New("entry too large for the log")
	// ErrNotFound: no entry has that id.
	ErrNotFound = errors.New("no such entry")
)

// SettledError refuses a draft because an earlier entry settles the same
// proposal.
type SettledError struct {
	By  protocol.ParticipantID // the sender of that entry
	Seq protocol.Seq           // of that entry
}

func (e *SettledError) Error() string {
	return fmt.Sprintf("proposal settled by %s in entry %d", e.By, e.Seq)
}

// Draft is an entry that asks to be appended.
type Draft struct {
	// Envelope is complete but for its Seq, which the journal gives.
	Envelope protocol.Envelope

	// Audience names the senders of the envelopes that this one correlates to,
	// directly or through one another; who they are decides who may see it.
	Audience []protocol.ParticipantID

	// State marks an entry that changes who may do what. State entries are
	// exempt from retention and can be read alone.
	State bool
	// Hidden marks an entry that is never shown to anybody: gateways alone
	// read it.
	Hidden bool
	// Private is what gateways keep beside the envelope (the hash of an
	// invitation's token, say). It is never shown to anybody.
	Private []byte

	// Settles is the proposal that the entry decides; "" for none. A second
	// entry that settles the same proposal is refused with a SettledError.
	Settles protocol.ID

	// CheckedAtStateSeq is the Seq of the last state entry that the draft was checked
	// against. If the space's log holds a later one when the draft's turn
	// comes, the draft is refused with ErrStale.
	CheckedAtStateSeq protocol.Seq
}

// Entry is what was appended: the draft with its Seq.
type Entry struct {
	Envelope protocol.Envelope // with Seq
	Audience []protocol.ParticipantID
	State    bool
	Hidden   bool
	Private  []byte
	Settles  protocol.ID
}

// Result is what became of one draft.
type Result struct {
	// Seq is the draft's position; for a retry, that of the first one.
	Seq protocol.Seq
	// Retry: the same sender has appended this id before, and nothing was
	// appended now.
	Retry bool
	// Err wraps ErrUnavailable, ErrOutcomeUnknown, ErrDuplicateID, ErrStale,
	// ErrTooLarge or a *SettledError; nil means durable.
	Err error
}

// Sink receives what was appended, in order of Seq within a space, each entry
// once. It is called by the journal's own goroutine, so it must not block and
// must not call back into Append. Entries are shared: read-only.
type Sink func(space string, entries []*Entry)

// Replaced receives a notification that the logs of some spaces are no longer
// the logs that were read before: lost, replaced or cut back. affected reports
// whether a space is among them. Their LogID has changed and Bounds, Range and
// Lookup already answer from the new log. It is called by the journal's own
// goroutine, in order with the Sink, and must not block.
type Replaced func(affected func(space string) bool)

// Journal is a log of many spaces. All methods but Follow may be called
// concurrently.
type Journal interface {
	// Append makes drafts durable, in order, and returns one result each, in
	// the same order. When it returns, the sink has been given the entries
	// that were appended. The drafts of one call stand in the log in the order
	// of the call; those of concurrent calls interleave. Within one call a
	// draft that is refused as stale is followed by refused ones only.
	Append(ctx context.Context, space string, drafts []Draft) []Result

	// Range yields entries in order of Seq (or backwards), as they are; the
	// caller decides who may see them. It yields at most one error, at the
	// end. Entries appended after the call may or may not be among them.
	Range(ctx context.Context, space string, q Query) iter.Seq2[*Entry, error]

	// Lookup finds the entry with this id. Err: ErrNotFound, ErrUnavailable.
	Lookup(ctx context.Context, space string, id protocol.ID) (*Entry, error)

	// Bounds returns the Seq of the oldest and of the newest entry that is
	// kept; both 0 for an empty log. Oldest ignores state entries that
	// outlived retention, and is 1 above the newest entry that was dropped
	// when nothing else is left.
	Bounds(ctx context.Context, space string) (oldest, newest protocol.Seq, err error)

	// Spaces lists the names of the spaces that have entries, sorted.
	Spaces(ctx context.Context) ([]string, error)

	// LogID returns the id of a space's log. It is stable across restarts and
	// equal at all gateways that share the log; it changes when the log was
	// lost, replaced or cut back. Err: ErrUnavailable.
	LogID(ctx context.Context, space string) (string, error)

	// Barrier returns when the sink has been given every entry of the space that
	// was durable before the call, at any gateway. What depends
	// on the absence of an entry is decided after it. Err: ErrUnavailable.
	Barrier(ctx context.Context, space string) error

	// Follow sets the sink and the callback for replaced logs; it is called
	// once, before the first Append. Entries that were in the log before are
	// not passed to the sink. replaced may be nil.
	Follow(sink Sink, replaced Replaced)

	// Ready returns nil while appends can be expected to succeed, and
	// otherwise why not.
	Ready() error

	// Close waits for what is under way and releases everything.
	Close() error
}

// Query selects entries of a space.
type Query struct {
	After  protocol.Seq // entries with a greater Seq; 0: from the beginning
	Before protocol.Seq // entries with a smaller Seq; 0: to the end

	// Context limits to a context and what lies below it, if not empty.
	Context protocol.ContextPath
	// StateOnly limits to state entries.
	StateOnly bool

	Backwards bool // newest first
	Limit     int  // at most so many entries; 0: all
}

// Retention says what is kept; the zero value keeps everything. State entries
// are always kept.
type Retention struct {
	Age   time.Duration // entries older than this are dropped; 0: no limit
	Bytes int64         // of the whole log; oldest entries first; 0: no limit
}
