package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
	"github.com/meup-protocol/meup/protocol"
)

// rosterInterval is the time between two requests of awaitRoster, and quietTime how long it
// waits before it reports the reason.
const (
	rosterInterval = 200 * time.Millisecond
	quietTime      = time.Second
)

// awaitRoster returns the roster when all of these participants are connected. It also
// waits for a gateway that does not listen yet. After a second, it reports the reason once.
func awaitRoster(ctx context.Context, env *program.Environment, errOut io.Writer, t *connect.Target, names []protocol.ParticipantID, timeout time.Duration) (*api.Roster, error) {
	late, cancel := context.WithCancel(ctx)
	defer cancel()
	defer env.After(timeout, cancel).Stop()
	again := time.NewTicker(rosterInterval)
	defer again.Stop()
	quiet := time.After(quietTime)
	reason := "the gateway did not answer"
	for {
		roster, err := t.API.Roster(late, t.Space)
		var refused *api.StatusError
		switch {
		case err == nil:
			missing := slices.DeleteFunc(slices.Clone(names), roster.Connected)
			if len(missing) == 0 {
				return roster, nil
			}
			reason = "not connected: " + conversation.Names(missing)
			if question := conversation.DidYouMean(missing, roster.Participants); question != "" {
				reason += ". " + question
			}
		case ctx.Err() != nil, errors.As(err, &refused) && !refused.Temporary():
			return nil, err
		case late.Err() == nil:
			reason = connect.Finish(ctx, err).Error()
		}
		select {
		case <-quiet:
			connect.Warn(errOut, "waiting up to %s; %s", timeout, reason)
		default:
		}
		select {
		case <-again.C:
		case <-late.Done():
			if ctx.Err() != nil {
				return nil, program.ErrInterrupted
			}
			return nil, &program.ExitError{Code: connect.ExitTimedOut, Err: fmt.Errorf("gave up after %s; %s", timeout, reason)}
		}
	}
}
