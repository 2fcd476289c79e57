package httpapi

import (
	"context"
	"errors"
	"slices"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

// The operations that adapters call without a request: they do what the handlers do for
// one, by the same functions. adapter.API says what each returns.

// Session authorizes a bearer for a space; "": for all that the token is good for.
func (s *Server) Session(ctx context.Context, b access.Bearer, name string) (*api.Session, error) {
	if name != "" {
		_, identity, err := s.options.Admission.Authorize(ctx, b.Address, name, b.Token)
		if err != nil {
			return nil, err
		}
		return &api.Session{Participant: identity.Participant, Spaces: []api.SessionSpace{{Name: name, Participant: identity.Participant}}}, nil
	}
	found, err := s.sessionOf(ctx, b, "")
	if err != nil {
		return nil, err
	}
	return &found.Session, nil
}

// enter authorizes a bearer for a space like inSpace, and charges the operation like serve.
// v.hold.Release must be called unless there is an error.
func (s *Server) enter(ctx context.Context, b access.Bearer, name string, reads bool) (v caller, err error) {
	v.space, v.identity, err = s.options.Admission.Authorize(ctx, b.Address, name, b.Token)
	if err != nil {
		return v, err
	}
	v.id = v.identity.Participant
	err = s.charge(&v, reads)
	if err != nil {
		v.hold.Release()
	}
	return v, err
}

// Send publishes the draft of one envelope, like send.
func (s *Server) Send(ctx context.Context, b access.Bearer, name string, draft []byte) (api.Receipt, error) {
	v, err := s.enter(ctx, b, name, false)
	if err != nil {
		return api.Receipt{}, err
	}
	defer v.hold.Release()
	p, most, err := s.newPosting(ctx, v)
	switch {
	case err != nil:
		return api.Receipt{}, err
	case int64(len(draft)) > most:
		return api.Receipt{}, tooLarge(most)
	case !p.reserve(v, int64(len(draft))):
		return api.Receipt{}, access.Busy()
	}
	results, err := p.publish(ctx, [][]byte{draft}, false)
	if err != nil {
		return api.Receipt{}, err
	}
	if refused := results[0].Err; refused != nil {
		return api.Receipt{}, refused
	}
	return answer(results[0]).Receipt, nil
}

// errStreamEnded: the gateway has ended the connection of a member.
var errStreamEnded = errors.New("the gateway ended the stream of events")

// Await joins a member until it has envelopes of the log, and returns the first of them.
func (s *Server) Await(ctx context.Context, b access.Bearer, name string, q api.EnvelopeQuery) (*api.Envelopes, error) {
	v, err := s.enter(ctx, b, name, true)
	if err != nil {
		return nil, err
	}
	defer v.hold.Release()
	if q.Log != "" && q.Log != v.space.LogID() {
		_, err := v.space.History(ctx, v.viewer(), space.HistoryQuery{Since: q.Since, Log: q.Log})
		return nil, err // a position in another log
	}
	o := space.JoinOptions{Dialect: protocol.DialectMEUP01, Since: &q.Since, Log: q.Log, NoEcho: true, Observe: true, Linger: true}
	o.Filter = protocol.Filter{Contexts: access.List(q.Contexts), Kinds: access.List(q.Kinds), From: q.From}
	if q.Main || slices.Contains(q.Contexts, "") {
		o.Filter.Contexts = append(o.Filter.Contexts, "")
	}
	member, err := v.space.Join(ctx, s.options.Admission.WithIdentity(v.identity, o))
	if err != nil {
		return nil, err
	}
	v.hold.Release() // from here on, the connection limits apply instead
	defer v.space.Leave(member)
	defer member.MarkClosed()
	page := &api.Envelopes{Log: v.space.LogID()}
	var d space.Delivery
	for {
		if err := member.Next(ctx, &d); err != nil {
			return nil, err
		}
		for _, e := range d.Entries {
			if e.Envelope.Seq > 0 { // it is no live one
				page.Envelopes, page.Next = append(page.Envelopes, *e.Envelope), e.Envelope.Seq
			}
		}
		if len(page.Envelopes) > 0 {
			return page, nil
		}
		if d.Close != nil {
			return nil, errStreamEnded
		}
	}
}
