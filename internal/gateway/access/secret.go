package access

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

const (
	secretID    protocol.ID   = "secret"
	kindSecret  protocol.Kind = "system/secret"
	secretBytes               = 32
)

// Secret is the secret of a log, which all its gateways know and no client does. The
// first use creates it. Its methods may be called concurrently.
type Secret struct {
	Journal journal.Journal

	mu    sync.Mutex
	log   string // id of the log that value was read from
	value []byte
}

// Key derives a key of 32 bytes for a purpose. It is the same after a restart and at
// all gateways of the log. The error wraps [journal.ErrUnavailable].
func (s *Secret) Key(ctx context.Context, purpose string) ([]byte, error) {
	log, err := s.Journal.LogID(ctx, journal.GatewayLog)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	value := s.value
	if s.log != log {
		value = nil
	}
	s.mu.Unlock()
	if value == nil {
		value, err = s.load(ctx)
		if err != nil { // of all that load at once, the first has made it
			return nil, err
		}
		s.mu.Lock()
		s.log, s.value = log, value
		s.mu.Unlock()
	}
	return hkdf.Key(sha256.New, value, nil, purpose, secretBytes)
}

var errDamagedSecret = errors.New("the secret of the log is damaged")

// load returns the secret of the log, and creates it if there is none.
func (s *Secret) load(ctx context.Context) ([]byte, error) {
	e, err := s.Journal.Lookup(ctx, journal.GatewayLog, secretID)
	if errors.Is(err, journal.ErrNotFound) {
		value := make([]byte, secretBytes)
		rand.Read(value)
		d := journal.Draft{State: true, Private: value}
		d.Envelope, err = protocol.FromGateway(secretID, kindSecret, time.Now(), struct{}{})
		if err != nil {
			return nil, err
		}
		if err := record(ctx, s.Journal, d); err != nil {
			return nil, err
		}
		e, err = s.Journal.Lookup(ctx, journal.GatewayLog, secretID) // another gateway's, if that was the first
	}
	if err != nil {
		return nil, journal.Unavailable(err)
	}
	if len(e.Private) != secretBytes {
		return nil, journal.Unavailable(errDamagedSecret)
	}
	return e.Private, nil
}

// record appends an entry to the log of the gateways, unless it has one with this id.
func record(ctx context.Context, j journal.Journal, d journal.Draft) error {
	d.Hidden, d.CheckedAtStateSeq = true, 1<<52 // nothing was checked
	result := j.Append(ctx, journal.GatewayLog, []journal.Draft{d})
	if err := result[0].Err; err != nil {
		return journal.Unavailable(fmt.Errorf("record %s: %w", d.Envelope.Kind, err))
	}
	return nil
}
