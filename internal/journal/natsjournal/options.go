package natsjournal

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/natsconn"
)

// Defaults of [Options].
const (
	DefaultPrefix        = "MEUP"
	DefaultAppendTimeout = 5 * time.Second
	DefaultRetainEvery   = time.Minute
)

// streamCount is part of the format: it decides which stream holds a space.
const streamCount = 64

// Options say where the log is and what is kept of it. The zero value is a log
// on a NATS at its default address, one replica, everything kept.
type Options struct {
	// Conn is the connection to use; the caller closes it, after the journal.
	// Without it the journal makes its own, with natsconn.Connect.
	Conn *nats.Conn
	// URL is where NATS is, if Conn is nil; several are separated by commas.
	URL string
	// NATS are further options for a connection to URL.
	NATS []nats.Option

	// Prefix begins the names of the streams (upper case, MEUP_00) and of
	// their subjects (lower case, meup.00.lab). Letters, digits, '-' and '_'.
	Prefix string
	// Replicas of every stream: 1 (also for 0) to 5. A NATS that cannot hold so
	// many gets fewer, with a warning.
	Replicas int

	// ReplicaDir is the folder of the local replica, which no other process
	// may use. Empty: a temporary one, removed by Close.
	ReplicaDir string

	// AcceptLoss opens a log that lacks entries it once acknowledged, which is
	// an error otherwise.
	AcceptLoss bool

	// Retention says what is kept; all gateways should agree.
	Retention journal.Retention
	// RetainEvery is the pause between two rounds of retention.
	RetainEvery time.Duration

	// AppendTimeout bounds how long Append waits for NATS.
	AppendTimeout time.Duration

	// Now is the clock by which entries grow old, as far as a
	// [journal.RetentionClock] follows it; nil: time.Now.
	Now func() time.Time
	// Logger is told of what an operator must know; nil: nobody.
	Logger *slog.Logger
	// OnCommit, if set, is called for each block that this gateway appended:
	// how many drafts and bytes it had and how long it took to be applied. It
	// must not block.
	OnCommit func(drafts, bytes int, took time.Duration)

	streams     int // tests make fewer of them
	auditEvery  time.Duration
	verifyAgain time.Duration
	// copyOf makes the journal a second copy of a log: it makes no streams, and
	// neither retains nor compares anything.
	copyOf string
}

// withDefaults returns the options with nothing left open.
func (o Options) withDefaults() (Options, error) {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if !validPrefix(o.Prefix) {
		return o, fmt.Errorf("prefix %q: only letters, digits, '-' and '_' can be in it", o.Prefix)
	}
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.Replicas < 0 || o.Replicas > maxReplicas {
		return o, fmt.Errorf("replicas: %d is not between 1 and %d", o.Replicas, maxReplicas)
	}
	if o.AppendTimeout <= 0 {
		o.AppendTimeout = DefaultAppendTimeout
	}
	if o.RetainEvery <= 0 {
		o.RetainEvery = DefaultRetainEvery
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.auditEvery == 0 {
		o.auditEvery = defaultAuditEvery
	}
	if o.verifyAgain == 0 {
		o.verifyAgain = defaultVerifyAgain
	}
	if o.streams == 0 {
		o.streams = streamCount
	}
	return o, nil
}

func validPrefix(s string) bool {
	for i := 0; i < len(s); i++ {
		if !natsconn.PlainByte(s[i]) {
			return false
		}
	}
	return s != ""
}
