// Package journal defines the durable, ordered log of every space.
//
// A space's log is a sequence of entries with increasing [protocol.Seq]. It has
// exactly the admitted envelopes: an envelope is admitted at the moment its
// append becomes durable. Delivery, resume, history and replay all read the
// same entries.
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
	// ErrUnavailable means that the log cannot append or read entries now. A draft
	// that failed with it was not appended.
	ErrUnavailable = errors.New("log unavailable")
	// ErrOutcomeUnknown means that a draft may or may not have been appended.
	// Appending it again with the same id is safe.
	ErrOutcomeUnknown = errors.New("outcome of append unknown")
	// ErrDuplicateID means that another sender has used the id in this space.
	ErrDuplicateID = errors.New("id used by another sender")
	// ErrStale means that the log has a state entry later than the draft's
	// CheckedAtStateSeq. The caller has to check the draft again.
	ErrStale = errors.New("checked against outdated state")
	// ErrTooLarge means that the log cannot store an entry of this size.
	ErrTooLarge = errors.New("entry too large for the log")
	// ErrNotFound means that no entry has that id.
	ErrNotFound = errors.New("no such entry")
	// ErrReplaced means that a snapshot was derived from a copy of the log that
	// another one has replaced.
	ErrReplaced = errors.New("the copy of the log was replaced")
)

// Unavailable returns an error that wraps ErrUnavailable and the reason.
func Unavailable(reason error) error {
	if errors.Is(reason, ErrUnavailable) {
		return reason
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, reason)
}

// SettledError rejects a draft because an earlier entry settles the same
// proposal.
type SettledError struct {
	By  protocol.ParticipantID // the sender of the earlier entry
	Seq protocol.Seq           // its position
}

func (e *SettledError) Error() string {
	return fmt.Sprintf("proposal settled by %s in entry %d", e.By, e.Seq)
}

// Entry is an envelope in the log, together with data that only gateways use.
// Entries that were appended are shared and read-only.
type Entry struct {
	// Envelope is complete; its Seq is assigned by Append.
	Envelope protocol.Envelope

	// Audience lists the senders of the envelopes that this one correlates to,
	// directly or through one another. It decides who may see the envelope.
	Audience []protocol.ParticipantID

	// State marks an entry that changes who may do what. State entries are
	// exempt from retention and can be read alone.
	State bool
	// Hidden marks an entry that only gateways read; no participant receives it.
	Hidden bool
	// Private is data that gateways store with the envelope, such as the hash of
	// an invitation's token. No participant receives it.
	Private []byte

	// Settles is the proposal that the entry decides; "" for none. A second entry
	// that settles the same proposal is rejected with a SettledError.
	Settles protocol.ID

	// CheckedAtStateSeq is the Seq of the last state entry that the draft was
	// checked against. If the space's log has a later one when the draft would be
	// appended, the draft is rejected with ErrStale. It is not stored.
	CheckedAtStateSeq protocol.Seq

	// Parsed is the parsed form of the envelope's payload, so that the gateway
	// that admits an envelope parses it once. It is not stored: entries from disk
	// or from another gateway do not have it. See [Entry.Payload].
	Parsed protocol.Value
}

// GatewayLog is the log of the records that the gateways keep for themselves. It is
// not the name of a space. The timestamp of an entry that is no state entry is the time
// until which it is needed: after that it is dropped, whatever the retention is.
const GatewayLog = "$gateway"

// Draft is an entry to append, without a Seq.
type Draft = Entry

// Payload returns the parsed payload; absent if it cannot be parsed. Entries
// without Parsed are parsed in each call.
func (e *Entry) Payload() protocol.Value {
	if e.Parsed.Exists() {
		return e.Parsed
	}
	return e.Envelope.ParsePayload()
}

// Result is the outcome of one draft.
type Result struct {
	// Seq is the draft's position; for a retry, the position of the first one.
	Seq protocol.Seq
	// Retry means that the same sender has appended this id before, and that this
	// append added nothing.
	Retry bool
	// Err wraps ErrUnavailable, ErrOutcomeUnknown, ErrDuplicateID, ErrStale,
	// ErrTooLarge or a *SettledError; nil means durable.
	Err error
}

// Sink receives appended entries, in order of Seq within a space, each entry
// once. The journal's own goroutine calls it, so it must not block and must not
// call Append. Entries are shared and read-only.
type Sink func(space string, entries []*Entry)

// Replaced is notified when the logs of some spaces are no longer the logs that
// were read before: lost, replaced or cut back. affected reports whether a
// space is among them. Their LogID has changed, and Bounds, Range and Lookup
// already read the new log. The journal's own goroutine calls it, in order with
// the Sink; it must not block.
type Replaced func(affected func(space string) bool)

// Reader reads a log of many spaces. All methods may be called concurrently.
type Reader interface {
	// Range yields entries in order of Seq (or backwards), without a check of who
	// may see them: that is up to the caller. It yields at most one error, at the
	// end. Entries appended after the call may or may not be included.
	Range(ctx context.Context, space string, q Query) iter.Seq2[*Entry, error]

	// Lookup returns the entry with this id. Err: ErrNotFound, ErrUnavailable.
	Lookup(ctx context.Context, space string, id protocol.ID) (*Entry, error)

	// Bounds returns the Seq of the oldest and of the newest entry in the log;
	// both 0 for an empty log. Oldest ignores state entries that outlived
	// retention; if no other entry is left, it is 1 above the newest entry that
	// was dropped.
	Bounds(ctx context.Context, space string) (oldest, newest protocol.Seq, err error)

	// Spaces lists the names of the spaces that have entries, sorted, without
	// GatewayLog.
	Spaces(ctx context.Context) ([]string, error)
}

// Journal is a log of many spaces. All methods except Follow may be called
// concurrently.
type Journal interface {
	// Append makes drafts durable, in order, and returns one result for each, in
	// the same order. When it returns, the sink has received the appended entries.
	// The drafts of one call are in the log in the order of the call; drafts of
	// concurrent calls interleave. Within one call, all drafts after one that is
	// rejected as stale are rejected too.
	Append(ctx context.Context, space string, drafts []Draft) []Result

	Reader

	// LogID returns the id of a space's log. It is stable across restarts and
	// equal at all gateways that share the log; it changes when the log was
	// lost, replaced or cut back. Err: ErrUnavailable.
	LogID(ctx context.Context, space string) (string, error)

	// Barrier returns when the sink has received every entry of the space that was
	// durable before the call, at any gateway. Decisions that depend on the
	// absence of an entry are made after it. Err: ErrUnavailable.
	Barrier(ctx context.Context, space string) error

	Derived

	// Follow sets the sink and the callback for replaced logs. It is called once,
	// before the first Append. The sink does not receive entries that were in the
	// log before. replaced may be nil.
	Follow(sink Sink, replaced Replaced)

	// Ready returns nil while appends can be expected to succeed, and otherwise an
	// error that names the reason.
	Ready() error

	// Close waits for calls in progress and releases all resources.
	Close() error
}

// Derived stores data beside the log that was derived from it.
type Derived interface {
	// Snapshot returns the snapshot of a space that SaveSnapshot stored last; its
	// Data is nil if there is none. Err: ErrUnavailable.
	Snapshot(space string) (Snapshot, error)

	// SaveSnapshot stores a snapshot beside the log and replaces the earlier one.
	// Its Copy is that of an earlier Snapshot of the space, from before the entries
	// were read that it is derived from. A crash may lose it. Err: ErrReplaced,
	// ErrUnavailable.
	SaveSnapshot(space string, s Snapshot) error

	// Base returns the base of a space; its Before is 0 if there is none. It is equal
	// at all gateways that share the log. Err: ErrUnavailable.
	Base(space string) (Base, error)
}

// Base is what is left of the entries that retention has dropped: the result of a
// [Fold]. Its Before is never below the oldest entry, except for entries that were
// dropped without a Fold.
type Base struct {
	Data   []byte
	Before protocol.Seq // it covers the entries below this
}

// Fold returns the base of a space after further entries, which retention is about to
// drop. base is the result for all entries before these; nil: there are none. Retention
// keeps the entries if it fails.
type Fold func(ctx context.Context, space string, base []byte, dropped iter.Seq2[*Entry, error]) ([]byte, error)

// Snapshot is data that was derived from the log of a space. It is stored with the
// entries and is lost with them.
type Snapshot struct {
	Data []byte
	Copy any // identifies the copy of the log; opaque
}

// Query selects entries of a space.
type Query struct {
	After  protocol.Seq // entries with a greater Seq; 0: from the beginning
	Before protocol.Seq // entries with a smaller Seq; 0: to the end

	// Context limits the query to a context and its descendants, if not empty.
	Context protocol.ContextPath
	// StateOnly limits the query to state entries.
	StateOnly bool

	Backwards bool // newest first
	Limit     int  // at most this many entries; 0: all
}

// Retention bounds the size of a log; the zero value keeps everything. State
// entries are always kept, and the bounds do not apply to GatewayLog.
type Retention struct {
	Age   time.Duration // entries older than this are dropped; 0: no limit
	Bytes int64         // of the whole log; oldest entries first; 0: no limit
}
