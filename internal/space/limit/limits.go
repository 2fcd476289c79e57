// Package limit implements the limits of participants: token buckets for
// envelopes (section 7 of the contract), a count of rejected envelopes per
// connection, a count of failed logins per address, and a [Budget] of bytes in memory.
//
// The time is an argument. Nothing starts a goroutine or reads a clock.
package limit

import (
	"math"

	"github.com/meup-protocol/meup/protocol"
)

// Limits are the limits of one participant, for all its connections together.
// Zero or less means unlimited, unless the field states otherwise. The tags are
// the keys of the gateway's configuration.
type Limits struct {
	// Rate is in envelopes per second, and Burst how many may come at once.
	// A Burst of 0 is one second's worth, at least 1. Every frame counts, also
	// one that is refused afterwards.
	Rate  float64 `yaml:"rate"`
	Burst int     `yaml:"burst"`
	// BytesPerSecond bounds the bytes of admitted envelopes. As much may come
	// at once as fits into a second, and always one message of MessageBytes.
	BytesPerSecond int64 `yaml:"bytes_per_second"`
	// MessageBytes bounds a single frame.
	MessageBytes int64 `yaml:"message_bytes"`
	// Connections bounds how many a participant holds in a space.
	Connections int `yaml:"connections"`
	// OpenContexts bounds the contexts that a participant has opened and not
	// closed.
	OpenContexts int `yaml:"open_contexts"`
	// ContextDepth bounds the segments of a context path; 0 is
	// protocol.DefaultContextDepth.
	ContextDepth int `yaml:"context_depth"`
	// Kinds are further limits; an envelope has to satisfy every one whose
	// pattern selects its kind.
	Kinds []KindLimit `yaml:"kinds"`
}

// KindLimit is a limit on the kinds that a pattern selects. A Rate of 0 is
// unlimited; a Burst of 0 is one second's worth, at least 1.
type KindLimit struct {
	Pattern protocol.KindPattern `yaml:"kind"`
	Rate    float64              `yaml:"rate"`  // envelopes per second
	Burst   int                  `yaml:"burst"` // envelopes
}

const mib = 1 << 20

// Defaults returns the limits that hold where a configuration names none.
func Defaults() Limits {
	reasoning, err := protocol.ParseKindPattern("reasoning/*")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	return Limits{
		Rate: 100, Burst: 200,
		BytesPerSecond: mib, MessageBytes: mib,
		Connections: 16, OpenContexts: 256,
		ContextDepth: protocol.DefaultContextDepth,
		Kinds:        []KindLimit{{Pattern: reasoning, Rate: 50, Burst: 100}},
	}
}

// burst returns how many envelopes may come at once.
func burst(rate float64, configured int) int {
	if configured > 0 {
		return configured
	}
	return max(1, int(math.Ceil(min(rate, math.MaxInt32))))
}

// byteBurst returns the size of the byte bucket: the bytes of one second, and at
// least the largest message, which could not be sent otherwise. If messages have
// no limit, it uses one mebibyte; larger messages are admitted on credit, see
// tokens.take.
func (l Limits) byteBurst() int {
	largest := l.MessageBytes
	if largest <= 0 {
		largest = mib
	}
	return int(max(l.BytesPerSecond, largest))
}

// Minimum values of limits without a setting of their own: small limits of
// envelopes are not intended for errors and for readers.
const (
	minRefusedRate  = 64 << 10 // bytes per second
	minRefusedBurst = 16 * mib // what a client with a bounded number of envelopes in flight has sent when it reads the first rejection
	minReadRate     = 50       // requests per second
	minReadBurst    = 200
)
