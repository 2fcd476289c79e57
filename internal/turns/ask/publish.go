package ask

import (
	"cmp"
	"context"
	"errors"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/protocol"
)

// Publish sends a question of a participant, which must have an id. If the log has it
// already, with whatever text, that one is the question: clients send their history
// again, and may have shortened it. Errors: the client's.
func Publish(ctx context.Context, client *api.Client, space string, you protocol.ParticipantID, e protocol.Envelope) (Question, error) {
	q := Question{Space: space, ID: e.ID, From: you, To: e.To}
	receipt, err := client.Send(ctx, space, e)
	if !errors.Is(err, &protocol.Error{Code: protocol.CodeDuplicateID}) {
		q.Seq = receipt.Seq
		return q, err
	}
	earlier, lookupErr := Envelope(ctx, client, space, e.ID)
	if lookupErr != nil || earlier.From != you {
		return q, err
	}
	q.To, q.Seq = earlier.To, earlier.Seq
	return q, nil
}

// Envelope reads an envelope of the log.
func Envelope(ctx context.Context, client *api.Client, space string, id protocol.ID) (*protocol.Envelope, error) {
	text, err := client.Envelope(ctx, space, id)
	if err != nil {
		return nil, err
	}
	e, err := protocol.DecodeDelivered(text)
	return &e, err
}

// SendDerived sends an envelope whose id follows from what others know. One of them may
// have used the id first: then the envelope gets a random one. Errors: the client's.
func SendDerived(ctx context.Context, client *api.Client, space string, e protocol.Envelope) error {
	_, err := client.Send(ctx, space, e)
	if errors.Is(err, &protocol.Error{Code: protocol.CodeDuplicateID}) {
		e.ID = ""
		_, err = client.Send(ctx, space, e)
	}
	return err
}

// ErrNoProposal: no proposal that followed the question has the id.
var ErrNoProposal = errors.New("there is no such proposal for this question")

// Decide makes a proposed call, exactly as it was proposed, or rejects it. id becomes
// the id of the decision. A proposal that has a decision keeps it. It returns the
// proposal. Errors: ErrNoProposal, exchange.ErrNoHost, the client's.
func Decide(ctx context.Context, client *api.Client, q Question, about, id protocol.ID, approve bool, reason string) (*protocol.Envelope, error) {
	p, err := Envelope(ctx, client, q.Space, about)
	if errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) || err == nil && (p.Kind != protocol.KindMCPProposal || p.Seq < q.Seq) {
		return nil, ErrNoProposal
	}
	if err != nil {
		return nil, err
	}
	e := exchange.Rejection(p, cmp.Or(reason, "other"))
	if approve {
		e, err = exchange.Approval(p, id, "")
		if err != nil {
			return nil, err
		}
	}
	e.ID = id
	err = SendDerived(ctx, client, q.Space, e)
	if errors.Is(err, &protocol.Error{Code: protocol.CodeProposalSettled}) {
		err = nil
	}
	return p, err
}
