// Package admission decides which envelopes enter the log of a space. A [Sender]
// publishes envelopes: they are checked against identity, schema, limits,
// capabilities and safety, one after the other, and appended to the journal. The
// package also appends the gateway's own entries about guests and streams.
package admission

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// View is an open space as admission sees it. The exported fields are set when the
// space is opened, all of them at once.
type View struct {
	// Of the gateway.
	Journal  journal.Journal
	Validate func(kind protocol.Kind, payload protocol.Value) error
	Safety   Redactor // nil: nothing is masked
	Observer Observer
	Now      func() time.Time
	NewID    func() protocol.ID
	NewToken func() (token string, hash [32]byte) // for invitations
	Draining *atomic.Bool                         // the gateway goes down
	Failures *Failures
	// Administered is called after administrative envelopes were admitted, before
	// Publish returns; may be nil.
	Administered func()

	// Of the space, folded from the log by delivery.
	State    *atomic.Pointer[authority.State]
	Ring     *ring.Ring
	Contexts *ring.Contexts
	Streams  *ring.Streams
	Texts    *ring.StreamTexts
	Usage    *atomic.Pointer[authority.Usage] // nil inside: nothing is limited
	Tools    *ring.Tools

	// Of the space.
	Name string
	// Proof reads in the log what a reviewer has shown, for its promotion, and returns how many
	// entries it has read.
	Proof     func(ctx context.Context, reviewer protocol.ParticipantID) (compared, sinceMiss, scanned int, err error)
	Log       *slog.Logger
	Retired   *atomic.Bool // the space was closed
	IsPresent func(protocol.ParticipantID) bool
	// PublishLive delivers an envelope that is not stored, after everything that is
	// in the log already. It returns the head, which is the envelope's position in
	// an acknowledgement.
	PublishLive func(*journal.Draft) protocol.Seq

	underway  atomic.Int64 // calls of Publish that began before Draining
	dueGuests sync.Map     // ids of known guests that have to be recorded again
}

// IsAdmitting reports whether a call of Publish that began before the gateway went
// down has not returned.
func (s *View) IsAdmitting() bool { return s.underway.Load() > 0 }

// Redactor masks payloads before they become durable. Its methods may be called
// concurrently.
type Redactor interface {
	// Applies reports whether payloads of the kind are inspected.
	Applies(kind protocol.Kind) bool
	// Envelope returns the masked form of a payload and of the fields that the
	// protocol does not define, an object or absent. An error rejects the
	// envelope. It may wait for other inspections to end.
	Envelope(ctx context.Context, kind protocol.Kind, payload, extra protocol.Value) (ring.Redaction, error)
	// Stream returns a redactor of one stream.
	Stream() ring.Redactor
}

// Observer counts the results of envelopes. Its methods may be called
// concurrently and must be quick.
type Observer interface {
	Admitted(kind protocol.Kind)
	Refused(code protocol.Code)
}

// ErrRetired returns the rejection by a space that was closed on this gateway.
func ErrRetired() error {
	return &protocol.Error{Code: protocol.CodeUnavailable, RetryAfterMS: 1000,
		Message: "The space was just closed on this gateway and will be opened again; try again."}
}

// recordBurst bounds the drafts of one append by record.
const recordBurst = 256

// record appends drafts of the gateway itself, in order, one burst at a time.
func (s *View) record(ctx context.Context, drafts ...journal.Draft) error {
	for len(drafts) > 0 {
		burst := drafts[:min(len(drafts), recordBurst)]
		basis := s.State.Load().Seq
		for i := range burst {
			burst[i].CheckedAtStateSeq = basis
		}
		for _, r := range s.Journal.Append(ctx, s.Name, burst) {
			if errors.Is(r.Err, journal.ErrStale) && !s.Retired.Load() && ctx.Err() == nil {
				break // the rest is stale too: check against the current state
			}
			if r.Err != nil {
				return r.Err
			}
			drafts = drafts[1:]
		}
	}
	return nil
}

// AdmitGuest records a participant that the configuration does not name, so that
// every gateway accepts it as an addressee while it is disconnected. It does not wait
// for the log if the participant is known.
func (s *View) AdmitGuest(ctx context.Context, id protocol.ParticipantID) error {
	if s.State.Load().IsKnown(id) {
		s.NoteGuest(id)
		return nil
	}
	if !s.State.Load().Admits(id) { // the configuration is being changed: no guest
		return protocol.Errorf(protocol.CodeUnavailable, "The configuration of the space is being changed; try again.")
	}
	if err := s.recordGuests(ctx, id); err != nil {
		s.Log.Warn("note a guest", "participant", id, "error", err)
		return protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot take anything now; try again.")
	}
	return nil
}

// NoteGuest notes that a participant is connected or has made a request. RecordGuests
// records it if it is a guest that is due.
func (s *View) NoteGuest(id protocol.ParticipantID) {
	if s.State.Load().IsGuestDue(id, s.Now()) {
		s.dueGuests.Store(id, nil)
	}
}

// RecordGuests records the guests again that were noted and are still due. After an
// error they stay noted.
func (s *View) RecordGuests(ctx context.Context) error {
	var due []protocol.ParticipantID
	for key := range s.dueGuests.Range {
		id := key.(protocol.ParticipantID) //nolint:forcetypeassert // the map holds nothing else
		if s.State.Load().IsGuestDue(id, s.Now()) {
			due = append(due, id)
		} else {
			s.dueGuests.Delete(id) // another gateway has recorded it
		}
	}
	if err := s.recordGuests(ctx, due...); err != nil {
		return err
	}
	for _, id := range due {
		s.dueGuests.Delete(id)
	}
	return nil
}

func (s *View) recordGuests(ctx context.Context, ids ...protocol.ParticipantID) error {
	drafts := make([]journal.Draft, len(ids))
	for i, id := range ids {
		e, err := protocol.FromGateway(s.NewID(), authority.KindSystemMember, s.Now(), map[string]any{"participant_id": id})
		if err != nil {
			return err
		}
		drafts[i] = journal.Draft{Envelope: e, State: true, Hidden: true}
	}
	return s.record(ctx, drafts...)
}

// EndPromotions records the end of promotions that hold no more, so that they do not hold
// again once the configuration has the reviewer again.
func (s *View) EndPromotions(ctx context.Context) error {
	var drafts []journal.Draft
	for _, id := range s.State.Load().EndedPromotions() {
		e, err := protocol.FromGateway(s.NewID(), protocol.KindReviewerDemote, s.Now(), map[string]any{
			"participant_id": id, "reason": "The configuration no longer has this reviewer as it was promoted.",
		})
		if err != nil {
			return err
		}
		drafts = append(drafts, journal.Draft{Envelope: e, State: true})
	}
	return s.record(ctx, drafts...)
}

// Failures logs envelopes that the log did not take, at most one a second: while the log is
// unavailable, it takes none. The next line has the number of the others; after the last
// one, it is not logged.
type Failures struct {
	mu         sync.Mutex
	logged     time.Time
	suppressed int // since then
}

func (f *Failures) warn(log *slog.Logger, id protocol.ID, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.logged) < time.Second {
		f.suppressed++
		return
	}
	log.Warn("append envelope", "envelope", id, "error", err, "suppressed", f.suppressed)
	f.logged, f.suppressed = time.Now(), 0
}
