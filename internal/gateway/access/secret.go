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
		if value, err = s.load(ctx); err != nil { // of all that load at once, the first has made it
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
		if err := record(ctx, s.Journal, secretID, kindSecret, value); err != nil {
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
// Retention keeps it.
func record(ctx context.Context, j journal.Journal, id protocol.ID, kind protocol.Kind, private []byte) error {
	e, err := protocol.FromGateway(id, kind, time.Now(), struct{}{})
	if err != nil {
		return err
	}
	result := j.Append(ctx, journal.GatewayLog, []journal.Draft{{
		Envelope: e, State: true, Hidden: true, Private: private, CheckedAtStateSeq: 1 << 52, // nothing was checked
	}})
	if err := result[0].Err; err != nil {
		return journal.Unavailable(fmt.Errorf("record %s: %w", kind, err))
	}
	return nil
}
