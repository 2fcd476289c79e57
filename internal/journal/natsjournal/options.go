package natsjournal

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/kit/natsconn"
)

// Defaults of [Options].
const (
	defaultPrefix        = "MEUP"
	defaultAppendTimeout = 5 * time.Second
	defaultRetainEvery   = time.Minute
)

// streamCount is part of the format: it decides which stream has a space.
const streamCount = 64

// Options configures a log. With only Conn it has one replica and no retention
// limits.
type Options struct {
	// Conn is a connection of natsconn.Connect; the caller closes it, after the
	// journal.
	Conn *nats.Conn

	// Prefix begins the names of the streams (upper case, MEUP_00) and of
	// their subjects (lower case, meup.00.lab). Letters, digits, '-' and '_'.
	Prefix string
	// Replicas of every stream: 1 (also for 0) to 5. If NATS cannot host that
	// many, streams have fewer, with a warning.
	Replicas int

	// ReplicaDir is the folder of the local replica, which no other process may
	// use. Empty: a temporary one, which Close removes.
	ReplicaDir string

	// AcceptLoss opens a log that lacks entries which it once acknowledged. That
	// is an error otherwise.
	AcceptLoss bool
	// RestoreLog opens such a log, too, after it has put the entries of the replica
	// that NATS lacks back into the streams. It waits for the gateway that has the
	// longest copy of a stream, unless AcceptLoss is set as well.
	RestoreLog bool

	// Retention bounds the size of the log; all gateways should agree.
	Retention journal.Retention
	// Fold makes the bases of spaces before entries are dropped; nil: there are none.
	Fold journal.Fold
	// RetainEvery is the pause between two rounds of retention.
	RetainEvery time.Duration

	// AppendTimeout bounds how long Append waits for NATS.
	AppendTimeout time.Duration

	// Now is the clock that determines the age of entries, within the limits of
	// [journal.RetentionClock]; nil: time.Now. The time of NATS is used if it is earlier.
	Now func() time.Time
	// Logger receives warnings and errors for operators; nil: discarded.
	Logger *slog.Logger
	// OnCommit, if set, is called for each block that this gateway appended, with
	// its number of drafts and bytes, and the time until it was applied. It must
	// not block.
	OnCommit func(drafts, bytes int, took time.Duration)
	// OnFollow, if set, is called for each consumer that this gateway requests: one for
	// each stream, and more after faults. It must not block.
	OnFollow func()

	// firstRetain bounds the wait for the first round of retention, and for the next attempt
	// of a gateway that was not ready: one that restarts often must drop entries, too.
	firstRetain time.Duration

	// Smaller in tests.
	streams                                           int
	auditEvery, verifyAgain, missingWait, shorterWait time.Duration
	peersWait, isolation                              time.Duration

	natsTimeFault error // in place of the time of NATS, in tests

	reasonEvery time.Duration // between two log lines of an Open that waits
	addEvery    time.Duration // between two attempts to add replicas

	// copyOf makes the journal a second copy of a log: it creates no streams, and
	// neither retains nor compares anything.
	copyOf string
}

// withDefaults validates the options and sets the defaults.
func (o Options) withDefaults() (Options, error) {
	o.Prefix = cmp.Or(o.Prefix, defaultPrefix)
	if strings.ContainsFunc(o.Prefix, func(r rune) bool { return r > unicode.MaxASCII || !natsconn.PlainByte(byte(r)) }) {
		return o, fmt.Errorf("prefix %q: only letters, digits, '-' and '_' can be in it", o.Prefix)
	}
	o.Replicas = cmp.Or(o.Replicas, 1)
	if o.Replicas < 0 || o.Replicas > maxReplicas {
		return o, fmt.Errorf("replicas: %d is not between 1 and %d", o.Replicas, maxReplicas)
	}
	if o.AppendTimeout <= 0 {
		o.AppendTimeout = defaultAppendTimeout
	}
	if o.RetainEvery <= 0 {
		o.RetainEvery = defaultRetainEvery
	}
	o.firstRetain = cmp.Or(o.firstRetain, 5*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.auditEvery = cmp.Or(o.auditEvery, defaultAuditEvery)
	o.verifyAgain = cmp.Or(o.verifyAgain, defaultVerifyAgain)
	o.missingWait = cmp.Or(o.missingWait, defaultMissingWait)
	o.shorterWait = cmp.Or(o.shorterWait, defaultShorterWait)
	o.peersWait = cmp.Or(o.peersWait, defaultPeersWait)
	o.isolation = cmp.Or(o.isolation, defaultIsolation)
	o.reasonEvery = cmp.Or(o.reasonEvery, 5*time.Second)
	o.addEvery = cmp.Or(o.addEvery, 10*time.Second)
	o.streams = cmp.Or(o.streams, streamCount)
	return o, nil
}
