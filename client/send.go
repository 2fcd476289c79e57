package client

import (
	"context"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Receipt says where in the log an envelope stands.
type Receipt struct {
	ID  protocol.ID
	Seq protocol.Seq // 0 for what is kept nowhere (stream.data)
}

// Pending is an envelope that was given to the client and is not answered yet.
type Pending struct {
	// ID of the envelope: the draft's own or the one that the client gave it.
	ID protocol.ID

	frame []byte
	kind  protocol.Kind
	done  chan struct{} // closed once seq and err are set
	seq   protocol.Seq
	err   error

	// Guarded by the outbox.
	written  bool // on the present connection
	attempts int
}

// Done is closed when Wait will return at once.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Wait returns the receipt, as Send does. It may be called many times; when
// ctx ends first, the envelope is still on its way.
func (p *Pending) Wait(ctx context.Context) (Receipt, error) {
	select {
	case <-p.done:
		if p.err != nil {
			return Receipt{ID: p.ID}, fmt.Errorf("send %s: %w", p.kind, p.err)
		}
		return Receipt{ID: p.ID, Seq: p.seq}, nil
	case <-ctx.Done():
		return Receipt{ID: p.ID}, fmt.Errorf("send %s: %w", p.kind, ctx.Err())
	}
}

// Send puts an envelope into the log and returns where it stands there. Of the
// draft, ID may be empty; From, TS and Seq are not looked at.
//
// A refusal is a *protocol.Error. Refusals for the moment are tried again until
// ctx ends, unless Options.NoRetry is set. When ctx ends, the envelope may or
// may not be in the log; sending it again under the returned ID is safe.
func (c *Client) Send(ctx context.Context, draft protocol.Envelope) (Receipt, error) {
	p, err := c.SendAsync(ctx, draft)
	if err != nil {
		return Receipt{ID: draft.ID}, err
	}
	receipt, err := p.Wait(ctx)
	if ctx.Err() != nil {
		c.out.answer(p.ID, 0, ctx.Err()) // nobody waits any more: give the place back
	}
	return receipt, err
}

// SendAsync queues an envelope and returns before it is answered, so that many
// can be on their way. It waits only while Options.InFlight others are. Errors:
// a *protocol.Error for a draft whose form is wrong, ErrClosed, ctx's own.
func (c *Client) SendAsync(ctx context.Context, draft protocol.Envelope) (*Pending, error) {
	if draft.ID == "" {
		draft.ID = newID()
	}
	c.mu.Lock()
	draft.From = c.welcome.You.ID
	limit := c.welcome.You.Limits.MessageBytes
	c.mu.Unlock()
	draft.TS, draft.Seq = time.Now(), 0
	frame, err := encode(&draft)
	if err != nil {
		return nil, fmt.Errorf("send %s: %w", draft.Kind, err)
	}
	if limit > 0 && int64(len(frame)) > limit {
		return nil, fmt.Errorf("send %s: %w", draft.Kind, tooLarge(len(frame), limit))
	}
	p := &Pending{ID: draft.ID, kind: draft.Kind, frame: frame, done: make(chan struct{})}
	if err := c.out.add(ctx, c.done, p); err != nil {
		return nil, fmt.Errorf("send %s: %w", draft.Kind, err)
	}
	return p, nil
}

func tooLarge(size int, limit int64) *protocol.Error {
	e := protocol.Errorf(protocol.CodeMessageTooLarge, "The envelope has %d bytes; the gateway takes at most %d.", size, limit)
	e.Limit = limit
	return e
}

// Chat is the draft of a chat message.
func Chat(message string) protocol.Envelope {
	return protocol.Envelope{
		Kind:    protocol.KindChat,
		Payload: append(protocol.AppendString([]byte(`{"message":`), message), '}'),
	}
}
