package backtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Remote is the part of a log that a running gateway returns for a token.
type Remote struct{ client *api.Client }

// OpenRemote returns the log that a gateway returns for a token. It does not connect yet.
func OpenRemote(url, token string) (*Remote, error) {
	c, err := api.New(api.Options{URL: url, Token: token})
	if err != nil {
		return nil, err
	}
	return &Remote{c}, nil
}

// Close closes the connections.
func (l *Remote) Close() { l.client.Close() }

// pageSize is the number of envelopes of a request: the maximum of a gateway.
const pageSize = 1000

// Range implements [journal.Reader]. It holds one page.
func (l *Remote) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		query := api.EnvelopeQuery{Since: q.After, Before: q.Before, Limit: pageSize, Descending: q.Backwards}
		if q.StateOnly {
			for _, k := range protocol.Kinds() {
				if k.ChangesState() {
					query.Kinds = append(query.Kinds, string(k))
				}
			}
		}
		if q.Limit > 0 {
			query.Limit = min(q.Limit, pageSize)
		}
		for left := q.Limit; ; {
			page, err := l.client.Envelopes(ctx, space, query)
			if err == nil && page.HasMore && !q.Backwards && page.Next <= query.Since {
				err = errors.New("the gateway returned the same page again")
			}
			if err != nil {
				yield(nil, fmt.Errorf("read from the gateway: %w", err))
				return
			}
			for i := range page.Envelopes {
				e := page.Envelopes[i]
				if !yield(&journal.Entry{Envelope: e, State: e.Kind.ChangesState()}, nil) {
					return
				}
				left--
				if left == 0 {
					return
				}
			}
			if !page.HasMore {
				return
			}
			if q.Backwards {
				query.Before = page.Next
			} else {
				query.Since = page.Next
			}
		}
	}
}

// Lookup implements [journal.Reader].
func (l *Remote) Lookup(ctx context.Context, space string, id protocol.ID) (*journal.Entry, error) {
	text, err := l.client.Envelope(ctx, space, id)
	var failed *api.StatusError
	if errors.As(err, &failed) && failed.Status == http.StatusNotFound {
		return nil, journal.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	e, err := protocol.DecodeDelivered(text)
	if err != nil {
		return nil, fmt.Errorf("read envelope %s: %w", id, err)
	}
	return &journal.Entry{Envelope: e, State: e.Kind.ChangesState()}, nil
}

// Bounds implements [journal.Reader]: of the envelopes that the token may see.
func (l *Remote) Bounds(ctx context.Context, space string) (oldest, newest protocol.Seq, err error) {
	bound := func(backwards bool) (protocol.Seq, error) {
		for e, err := range l.Range(ctx, space, journal.Query{Limit: 1, Backwards: backwards}) {
			if err != nil {
				return 0, err
			}
			return e.Envelope.Seq, nil
		}
		return 0, nil
	}
	newest, err = bound(true)
	if err == nil {
		oldest, err = bound(false)
	}
	return oldest, newest, err
}

// ErrPolicyHidden means that the participant of the token may not read the policy in force.
var ErrPolicyHidden = errors.New("the participant of the token may not read the policy of the space: it needs the capability observe, or to change rights")

// Policy returns the policy in force; nil if the gateway is of an earlier version.
func (l *Remote) Policy(ctx context.Context, space string) (*api.Policy, error) {
	p, err := l.client.Policy(ctx, space)
	var failed *api.StatusError
	switch {
	case !errors.As(err, &failed):
		return p, err
	case failed.Status == http.StatusForbidden:
		return nil, ErrPolicyHidden
	case failed.Status == http.StatusNotFound:
		return nil, nil //nolint:nilnil // it is not known
	}
	return nil, err
}

// Spaces implements [journal.Reader].
func (l *Remote) Spaces(ctx context.Context) ([]string, error) { return l.client.Spaces(ctx) }
