package manage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/protocol"
)

// rosterInterval is the time between two requests of awaitRoster.
const rosterInterval = 200 * time.Millisecond

// awaitRoster returns the roster when all of these participants are connected. It also
// waits for a gateway that does not listen yet.
func awaitRoster(ctx context.Context, t *connect.Target, names []string, timeout time.Duration) (*api.Roster, error) {
	late, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	again := time.NewTicker(rosterInterval)
	defer again.Stop()
	reason := "the gateway did not answer"
	for {
		roster, err := t.API.Roster(late, t.Space)
		var refused *api.StatusError
		switch {
		case err == nil:
			missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return roster.Connected(protocol.ParticipantID(name)) })
			if len(missing) == 0 {
				return roster, nil
			}
			reason = strings.Join(missing, ", ") + " not connected"
		case ctx.Err() != nil, errors.As(err, &refused) && !refused.Temporary():
			return nil, err
		case late.Err() == nil:
			reason = connect.Finish(ctx, err).Error()
		}
		select {
		case <-again.C:
		case <-late.Done():
			if ctx.Err() != nil {
				return nil, program.ErrInterrupted
			}
			return nil, &program.ExitError{Code: connect.ExitTimedOut, Err: fmt.Errorf("after %s: %s", timeout, reason)}
		}
	}
}
