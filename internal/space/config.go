package space

import (
	"log/slog"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/protocol"
)

// Peers carries live, unlogged data between the gateways of a cluster.
type Peers interface {
	// Publish sends a message to the other gateways, at most once.
	Publish(space string, message []byte) error
	// SetRoster reports the participants that are connected to this gateway.
	SetRoster(space string, here []Connected)
	// Remote returns the participants that are connected to the other gateways.
	Remote(space string) []Connected
}

// Observer counts events. Its methods may be called concurrently and must be
// quick.
type Observer interface {
	admission.Observer
	Delivered(entries int, lag time.Duration)
	FromRing(entries int)
	FromJournal(entries int)
	LiveDropped(entries int)
	Connections(delta int)
}

// Services are the dependencies of spaces on the rest of the gateway.
type Services struct {
	Journal  journal.Journal
	Validate func(kind protocol.Kind, payload protocol.Value) error
	Safety   admission.Redactor // nil: nothing is masked
	Peers    Peers              // nil: a single gateway
	Observer Observer           // nil: nothing is counted
	Clock    func() time.Time   // nil: time.Now
	NewID    func() protocol.ID
	NewToken func() (token string, hash [32]byte) // for invitations
	Logger   *slog.Logger                         // nil: discards
	// Administered is called after administrative envelopes were admitted, before
	// their sender receives an acknowledgment; may be nil.
	Administered func()

	// RingEntries and RingBytes bound the memory of a space's ring; 0: 4096
	// entries, 8 MiB.
	RingEntries int
	RingBytes   int
	// RingTotal bounds the rings of all spaces together, in bytes; 0: 128 MiB.
	RingTotal int64
}

type noObserver struct{}

func (noObserver) Admitted(protocol.Kind)       {}
func (noObserver) Refused(protocol.Code)        {}
func (noObserver) Delivered(int, time.Duration) {}
func (noObserver) FromRing(int)                 {}
func (noObserver) FromJournal(int)              {}
func (noObserver) LiveDropped(int)              {}
func (noObserver) Connections(int)              {}
