package participant

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/meup-protocol/meup/client/api"
)

// minAgain is the least time between two requests of Again.
const minAgain = 100 * time.Millisecond

// Again reads from the gateway, and again while that is away or busy, until ctx ends.
func Again[T any](ctx context.Context, read func() (T, error)) (T, error) {
	for {
		out, err := read()
		var status *api.StatusError
		var away *url.Error
		wait := minAgain
		switch {
		case err == nil:
			return out, nil
		case errors.As(err, &status) && status.Temporary():
			wait = max(wait, status.RetryAfter)
		case !errors.As(err, &away):
			return out, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return out, err
		}
	}
}

// Patient returns a History that reads by Again.
func Patient(h History) History { return patient{h} }

type patient struct{ History }

func (p patient) Envelopes(ctx context.Context, space string, query api.EnvelopeQuery) (*api.Envelopes, error) {
	return Again(ctx, func() (*api.Envelopes, error) { return p.History.Envelopes(ctx, space, query) })
}
