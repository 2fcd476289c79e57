package gateway

import (
	"time"

	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/protocol"
)

// limiter adapts a participant's buckets to [authority.Limiter].
type limiter struct{ *limit.Bucket }

// newLimiter returns a function that creates a participant's buckets, or
// updates existing buckets to changed limits.
func newLimiter(l limit.Limits) func(authority.Limiter) authority.Limiter {
	return func(old authority.Limiter) authority.Limiter {
		if b, ok := old.(limiter); ok {
			b.Update(l, time.Now())
			return b
		}
		return limiter{limit.New(l)}
	}
}

// Reserve charges bytes and kinds.
func (l limiter) Reserve(now time.Time, kind protocol.Kind, bytes int) (authority.Reservation, error) {
	r, err := l.Bucket.Reserve(now, kind, bytes)
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// wireLimits converts limits to the form of a welcome.
func wireLimits(l limit.Limits) protocol.Limits {
	out := protocol.Limits{
		Rate: l.Rate, Burst: l.Burst, BytesPerSecond: l.BytesPerSecond, MessageBytes: l.MessageBytes,
		Connections: l.Connections, OpenContexts: l.OpenContexts, ContextDepth: l.ContextDepth,
	}
	for _, k := range l.Kinds {
		out.Kinds = append(out.Kinds, protocol.KindLimit{Kind: k.Pattern.String(), Rate: k.Rate, Burst: k.Burst})
	}
	return out
}
