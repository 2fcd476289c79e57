package a2a

import (
	"context"
	"errors"
	"net/http"
	"strings"

	wire "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

// stream sends a task and the events after a position, until the task has ended, needs
// a decision of the participant, or the client disconnects. The error was not sent: the
// stream has not begun.
func (c *call) stream(q *question, after cursor, task *wire.Task) error {
	ctx := c.r.Context()
	r, err := c.begin(ctx, q, after)
	if err != nil {
		return err
	}
	out := adapter.NewStream(c.w)
	defer out.KeepAlive()()
	task.SetMeta(metaCursor, after.String())
	if !out.Send(after.String(), c.envelop(task)) || task.Status.State.Terminal() {
		return nil
	}
	err = ask.Follow(ctx, c.Client, q.follows(c.space), func(e *ask.Event) bool {
		list, more := r.event(e)
		events := make([]any, 0, len(list))
		for _, event := range list {
			events = append(events, c.envelop(event))
		}
		id := ""
		if r.at.seq > 0 && e.Type != ask.Delta && e.Type != ask.Answering {
			id = r.at.String()
		}
		return (len(events) == 0 || out.Send(id, events...)) && more
	})
	if err != nil && r.ended == "" && !errors.Is(err, context.Canceled) {
		f := faultOf(endedBy(err))
		if c.rpc {
			out.Fail(c.rpcError(f))
		} else {
			out.Fail(f.rest())
		}
	}
	return nil
}

// endedBy returns the error of a turn that cannot be followed further: the gateway's, or
// that it ended the stream, for example because it stops.
func endedBy(err error) error {
	if coded := protocol.AsError(err); coded.Code != protocol.CodeInternal {
		return coded
	}
	return protocol.Errorf(protocol.CodeUnavailable, "The gateway ended the stream of the task; subscribe with the last cursor, or send the message again.")
}

// envelop returns an event in the form of the binding.
func (c *call) envelop(event wire.Event) any {
	response := wire.StreamResponse{Event: event}
	if c.rpc {
		return c.rpcResult(response)
	}
	return response
}

// draftsExtension is the extension that a client names to get text while it grows.
const draftsExtension = "urn:meup:a2a:drafts"

// cursorExtension is the extension that every event has: its position in the log.
const cursorExtension = "urn:meup:a2a:cursor"

func wantsDrafts(r *http.Request) bool {
	for _, list := range r.Header.Values("A2A-Extensions") {
		for _, uri := range strings.Split(list, ",") {
			if strings.TrimSpace(uri) == draftsExtension {
				return true
			}
		}
	}
	return false
}
