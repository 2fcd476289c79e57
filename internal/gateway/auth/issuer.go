package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

const (
	// refreshPause is the minimum time between successful fetches, however many
	// JWTs name unknown keys. Any client can make up such a JWT.
	refreshPause = 10 * time.Second
	// firstRetry and lastRetry bound the pause after a failed fetch; it doubles
	// with each failure.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
	// keysAge is the age at which keys are fetched again, so that a withdrawn
	// key is not used forever.
	keysAge = time.Hour
	// fetchTimeout bounds discovery and keys together.
	fetchTimeout = 5 * time.Second
)

// issuers holds the trusted issuers, from the first JWT of each on.
type issuers struct {
	client *http.Client
	log    *slog.Logger

	mu    sync.Mutex
	byURL map[string]*issuer
}

func newIssuers(client *http.Client, log *slog.Logger) *issuers {
	return &issuers{client: client, log: log, byURL: make(map[string]*issuer)}
}

// get returns the issuer with a URL, which must be trusted.
func (s *issuers) get(url string) *issuer {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.byURL[url]
	if i == nil {
		i = &issuer{url: url, client: s.client, log: s.log}
		s.byURL[url] = i
	}
	return i
}

// retain drops the issuers that are not trusted any more.
func (s *issuers) retain(trusted map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for url := range s.byURL {
		if !trusted[url] {
			delete(s.byURL, url)
		}
	}
}

// issuer holds the keys of one issuer.
type issuer struct {
	url    string
	client *http.Client
	log    *slog.Logger

	mu       sync.Mutex
	keys     []jose.JSONWebKey // nil: never fetched. Immutable
	fetched  time.Time
	next     time.Time     // earliest time of the next fetch
	failures int           // consecutive
	fetching chan struct{} // closed when the current fetch ends; nil: no fetch
}

var (
	errUnknownKey = errors.New("no key of the issuer has this id")
	errTooSoon    = errors.New("keys were fetched a moment ago")
)

// verify checks the signature. The error wraps ErrUnknownToken or
// ErrUnavailable.
func (i *issuer) verify(ctx context.Context, jwt *parsedJWT, now time.Time) error {
	keys, old := i.current(now)
	if keys == nil {
		if err := i.refresh(ctx, now); err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		keys, _ = i.current(now)
	}
	if old {
		// A failure is logged; the current keys remain in use.
		_ = i.refresh(ctx, now)
		keys, _ = i.current(now)
	}
	err := verifySignature(jwt.signed, keys)
	if errors.Is(err, errUnknownKey) {
		switch refreshed := i.refresh(ctx, now); {
		case refreshed == nil:
			keys, _ = i.current(now)
			err = verifySignature(jwt.signed, keys)
		case !errors.Is(refreshed, errTooSoon):
			return fmt.Errorf("%w: %w", ErrUnavailable, refreshed)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnknownToken, err)
	}
	return nil
}

// current returns the current keys, nil if there are none, and whether to fetch
// them again: they are old, and no fetch is in progress.
func (i *issuer) current(now time.Time) (keys []jose.JSONWebKey, old bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys, i.keys != nil && i.fetching == nil && now.Sub(i.fetched) >= keysAge && !now.Before(i.next)
}

// refresh fetches the keys, or waits for the fetch in progress. It returns
// errTooSoon if keys were fetched a moment ago, and another error if there are
// no new keys.
func (i *issuer) refresh(ctx context.Context, now time.Time) error {
	i.mu.Lock()
	if busy := i.fetching; busy != nil {
		i.mu.Unlock()
		return i.wait(ctx, busy)
	}
	if now.Before(i.next) {
		defer i.mu.Unlock()
		return i.outcome()
	}
	done := make(chan struct{})
	i.fetching = done
	i.mu.Unlock()

	// The caller may disconnect while others wait for the same keys.
	fetchCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	keys, err := fetchKeys(fetchCtx, i.client, i.url)

	i.mu.Lock()
	defer i.mu.Unlock()
	defer close(done)
	i.fetching = nil
	if err != nil {
		i.failed(now, err)
		return err
	}
	i.keys, i.fetched, i.failures, i.next = keys, now, 0, now.Add(refreshPause)
	i.log.Info("fetched the keys of an issuer", "issuer", i.url, "keys", len(keys))
	return nil
}

func (i *issuer) wait(ctx context.Context, busy chan struct{}) error {
	select {
	case <-busy:
	case <-ctx.Done():
		return ctx.Err()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.failures == 0 {
		return nil
	}
	return i.outcome()
}

// outcome returns why no fetch starts now. The caller holds the lock.
func (i *issuer) outcome() error {
	if i.failures == 0 {
		return errTooSoon
	}
	return errors.New("the last try came to nothing")
}

// failed sets the pause before the next attempt. The caller holds the lock.
func (i *issuer) failed(now time.Time, err error) {
	pause := lastRetry
	if i.failures < 5 {
		pause = min(lastRetry, firstRetry<<i.failures)
	}
	i.failures++
	i.next = now.Add(pause)
	i.log.Warn("cannot fetch the keys of an issuer", "issuer", i.url, "error", err, "retry_in", pause)
}

// verifySignature tries the keys that may have made the signature. It returns
// errUnknownKey if there are none. It also does so if no key fits and the
// signature does not name its key.
func verifySignature(signed *jose.JSONWebSignature, keys []jose.JSONWebKey) error {
	header := signed.Signatures[0].Header
	tried := false
	for _, key := range keys {
		if header.KeyID != "" && key.KeyID != header.KeyID || key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		if _, err := signed.Verify(key); err == nil {
			return nil
		}
		tried = true
	}
	if !tried || header.KeyID == "" {
		return errUnknownKey
	}
	return errors.New("the signature does not fit the key")
}
