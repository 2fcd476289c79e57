package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
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

// issuer fetches and holds the keys of one issuer, from its first JWT on.
type issuer struct {
	url    string
	client *http.Client
	log    *slog.Logger

	keys     atomic.Pointer[keySet] // never nil
	fetching chan struct{}          // has a value during a fetch
}

// keySet has the keys of an issuer and the state of fetching them. It is
// immutable.
type keySet struct {
	keys     []jose.JSONWebKey // nil: never fetched
	fetched  time.Time
	next     time.Time // earliest time of the next fetch
	failures int       // consecutive
	err      error     // of the last failure
}

var errUnknownKey = errors.New("no key of the issuer has this id")

// verify checks the signature. The error wraps ErrUnknownToken or
// ErrUnavailable.
func (i *issuer) verify(ctx context.Context, jwt *parsedJWT, now time.Time) error {
	set := i.keys.Load()
	// Old keys remain in use during a fetch, and after a failure.
	if set.keys == nil || now.Sub(set.fetched) >= keysAge && len(i.fetching) == 0 {
		set = i.refresh(ctx, set, now)
	}
	if set.keys == nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, set.err)
	}
	err := verifySignature(jwt.signed, set.keys)
	if errors.Is(err, errUnknownKey) {
		set = i.refresh(ctx, set, now)
		if set.failures > 0 {
			return fmt.Errorf("%w: %w", ErrUnavailable, set.err)
		}
		err = verifySignature(jwt.signed, set.keys)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnknownToken, err)
	}
	return nil
}

// refresh returns newer keys than old, if they may be fetched now. It waits for
// a fetch in progress.
func (i *issuer) refresh(ctx context.Context, old *keySet, now time.Time) *keySet {
	select {
	case i.fetching <- struct{}{}: // even if ctx is done
	default:
		select {
		case i.fetching <- struct{}{}:
		case <-ctx.Done():
			return &keySet{keys: old.keys, failures: 1, err: ctx.Err()}
		}
	}
	defer func() { <-i.fetching }()
	set := i.keys.Load()
	if set != old || now.Before(set.next) {
		return set
	}
	// The caller may disconnect while others wait for the same keys.
	fetchCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	keys, err := fetchKeys(fetchCtx, i.client, i.url)
	if err != nil {
		pause := min(lastRetry, firstRetry<<min(set.failures, 5))
		set = &keySet{keys: set.keys, fetched: set.fetched, next: now.Add(pause), failures: set.failures + 1, err: err}
		i.log.Warn("cannot fetch the keys of an issuer", "issuer", i.url, "error", err, "retry_in", pause)
	} else {
		set = &keySet{keys: keys, fetched: now, next: now.Add(refreshPause)}
		i.log.Info("fetched the keys of an issuer", "issuer", i.url, "keys", len(keys))
	}
	i.keys.Store(set)
	return set
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
