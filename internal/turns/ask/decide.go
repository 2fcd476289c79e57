package ask

import (
	"context"
	"slices"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/protocol"
)

// MayDecide reports whether a proposal of a turn waits for a decision that the client's
// participant can make with Decide. A client that reads a turn again comes across
// settled ones. If the gateway cannot tell, it counts as waiting: a decision about a
// settled one changes nothing, but a turn would wait forever for a decision that no client
// is asked for.
func MayDecide(ctx context.Context, client *api.Client, space string, p *protocol.Envelope) bool {
	if exchange.CallOf(p).Host == "" {
		return false
	}
	of, err := client.TurnOf(ctx, space, p.ID)
	return err != nil || slices.Contains(of.MayDecide, p.ID)
}
