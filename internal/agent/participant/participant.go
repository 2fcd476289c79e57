// Package participant is the runtime of the client-side participants in this
// repository, such as the agent and the bridge: the loop that receives
// envelopes, the control envelopes that every participant supports, the
// admission of requests, JSON-RPC payloads, and the time to end work.
package participant

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// ClosingTime bounds the envelopes that end the work of a participant: it is
// the time from the end of Work to the end of Final.
const ClosingTime = 3 * time.Second

// Space is the part of *client.Client that a Runtime uses.
type Space interface {
	// Receive returns the next envelope. A *client.GapError does not end the
	// stream.
	Receive(ctx context.Context) (protocol.Envelope, error)
	// Send returns once the envelope is in the log, or returns a
	// *protocol.Error.
	Send(ctx context.Context, draft protocol.Envelope) (client.Receipt, error)
	// Welcome returns the identity, the participants and the rights.
	Welcome() protocol.Welcome
}

// History is the part of *api.Client that is used to read the log.
type History interface {
	Envelopes(ctx context.Context, space string, query api.EnvelopeQuery) (*api.Envelopes, error)
}

// Runtime runs one participant in one space.
type Runtime struct {
	Space Space
	You   protocol.ParticipantID
	Log   *slog.Logger
	Gate  Gate           // closed while the participant is paused
	Group sync.WaitGroup // of goroutines that end with Final; Run waits for them

	// Work ends when Run no longer receives, with ErrShutdown as the cause.
	// Final ends ClosingTime later. Run sets both before it calls start.
	Work, Final context.Context
	shutdown    error

	newLog bool         // the log was replaced since the last envelope
	old    protocol.Seq // head of the log that replaced another one when the participant joined it
	last   time.Time    // of the newest envelope of the log before that
}

// New returns the runtime of a client that has joined a space. shutdown is the
// cause of the end of Work.
func New(space Space, log *slog.Logger, shutdown error) *Runtime {
	you := space.Welcome().You.ID
	return &Runtime{Space: space, You: you, Log: log.With("participant", you), shutdown: shutdown}
}

// Run calls start, then handle for each received envelope, on one goroutine.
// old means that the envelope was in the log that replaced another one, and is
// not newer than the last envelope received from the former log: a restored copy
// contains requests that were answered long ago. Run ends when ctx ends or an
// authorized participant shuts this one down (both return nil), or with the
// client. It returns after all goroutines of Group.
func (r *Runtime) Run(ctx context.Context, start func(), handle func(env *protocol.Envelope, old bool)) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	final, end := context.WithCancel(context.WithoutCancel(ctx))
	r.Work, r.Final = work, final
	defer func() {
		stop(r.shutdown)
		timer := time.AfterFunc(ClosingTime, end)
		r.Group.Wait()
		timer.Stop()
		end()
	}()
	start()
	for {
		env, err := r.Space.Receive(ctx)
		var gap *client.GapError
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &gap):
			r.Log.Warn("envelopes were missed", "err", err)
			r.newLog = r.newLog || gap.Reset
			continue
		default:
			return fmt.Errorf("read space: %w", err)
		}
		old := r.isOld(&env)
		if !old && r.control(&env) {
			r.Log.Info("shut down", "by", env.From)
			return nil
		}
		handle(&env, old)
	}
}

func (r *Runtime) isOld(env *protocol.Envelope) bool {
	if env.Seq > 0 && r.newLog {
		r.newLog, r.old = false, r.Space.Welcome().Space.Seq
	}
	if env.Seq > r.old {
		r.old = 0
	}
	if !r.newLog && r.old == 0 && env.TS.After(r.last) {
		r.last = env.TS
	}
	return env.Seq > 0 && env.Seq <= r.old && (r.last.IsZero() || !env.TS.After(r.last))
}

// control handles a pause and its end, and reports whether to shut down.
func (r *Runtime) control(env *protocol.Envelope) (shutdown bool) {
	if env.From == r.You || !env.AddressedTo(r.You) {
		return false
	}
	switch env.Kind {
	case protocol.KindParticipantShutdown:
		return true
	case protocol.KindParticipantPause:
		d := protocol.PauseDuration(env.ParsePayload())
		r.Gate.Close(d)
		r.Log.Info("paused", "by", env.From, "for", d) // 0: until it is resumed
	case protocol.KindParticipantResume:
		r.Gate.Open()
		r.Log.Info("resumed", "by", env.From)
	}
	return false
}
