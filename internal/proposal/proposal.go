// Package proposal says how a person decides on a call that somebody proposes,
// and what an envelope makes of a proposal that waits.
//
// What settles a proposal is what settles it in a turn, too: the terminal and
// the history must not disagree about what waits.
package proposal

import (
	"errors"
	"fmt"
	"slices"

	"github.com/meup-protocol/meup/protocol"
)

// Outcome is what has become of a proposal.
type Outcome string

// The outcomes of a proposal.
const (
	Pending   Outcome = ""          // it waits
	Fulfilled Outcome = "fulfilled" // somebody made the call
	Rejected  Outcome = "rejected"  // somebody said no
	Withdrawn Outcome = "withdrawn" // the proposer took it back
	Expired   Outcome = "expired"   // nobody decided in time, or before its context ended
)

// Settles returns what an envelope behind a proposal makes of it; Pending where
// it changes nothing. A request fulfils it that comes from somebody else and
// calls a tool, or the proposal's own method.
func Settles(p, e *protocol.Envelope) Outcome {
	if e.Kind.ClosesContext() {
		if ends(e, p.Context) {
			return Expired
		}
		return Pending
	}
	if !e.Correlation.Names(p.ID) {
		return Pending
	}
	own := e.From == p.From
	switch {
	case e.Kind == protocol.KindMCPRequest && !own && fulfils(p, e):
		return Fulfilled
	case e.Kind == protocol.KindMCPReject && !own:
		return Rejected
	case e.Kind == protocol.KindMCPWithdraw && own && root(e).Get("reason").EqualText("timeout"):
		return Expired
	case e.Kind == protocol.KindMCPWithdraw && own:
		return Withdrawn
	}
	return Pending
}

// ends reports whether what closes a context closes this one, or one around it.
// A cancel from outside names contexts by the ids of their starts.
func ends(e *protocol.Envelope, path protocol.ContextPath) bool {
	if e.Context != "" {
		return path.Within(e.Context)
	}
	if e.Kind != protocol.KindReasoningCancel {
		return false
	}
	for ; path != ""; path = path.Parent() {
		if e.Correlation.Names(protocol.ID(path.Last())) {
			return true
		}
	}
	return false
}

func fulfils(p, request *protocol.Envelope) bool {
	method := root(request).Get("method").Text()
	return method != "" && (method == "tools/call" || root(p).Get("method").EqualText(method))
}

// root is the payload of an envelope; absent, where it is no JSON.
func root(e *protocol.Envelope) protocol.Value {
	doc, err := protocol.ParseJSON(e.Payload, protocol.MaxDepth)
	if err != nil {
		return protocol.Value{}
	}
	return doc.Root()
}

// Approval returns the request that makes a proposed call: exactly its method
// and its parameters. It goes to the participant to; without one to the owner
// of the tool; and where that is the proposer, to everybody who saw the
// proposal, so that all of them see that it is decided. id is that of the
// request. The error says that the proposal cannot be read.
func Approval(p *protocol.Envelope, id protocol.ID, to protocol.ParticipantID) (protocol.Envelope, error) {
	doc, err := protocol.ParseJSON(p.Payload, protocol.MaxDepth)
	if err != nil {
		return protocol.Envelope{}, fmt.Errorf("read proposal %s: %w", p.ID, err)
	}
	method, params := doc.Root().Get("method"), doc.Root().Get("params")
	if method.Text() == "" {
		return protocol.Envelope{}, fmt.Errorf("read proposal %s: %w", p.ID, errNoMethod)
	}
	if to == "" {
		to = protocol.ParticipantID(doc.Root().Get("participant_id").Text())
	}
	e := answer(p, protocol.KindMCPRequest)
	e.ID = id
	if to != "" {
		e.To = []protocol.ParticipantID{to}
	}
	body := protocol.AppendString([]byte(`{"jsonrpc":"2.0","id":`), string(id))
	body = append(append(body, `,"method":`...), method.Raw()...)
	if params.Exists() {
		body = append(append(body, `,"params":`...), params.Raw()...)
	}
	body = append(body, '}')
	e.Payload = body
	return e, nil
}

var errNoMethod = errors.New("it names no method")

// Rejection returns what says no to a proposal. It is seen by who saw the
// proposal.
func Rejection(p *protocol.Envelope, reason string) protocol.Envelope {
	e := answer(p, protocol.KindMCPReject)
	e.Payload = append(protocol.AppendString([]byte(`{"reason":`), reason), '}')
	return e
}

// answer is addressed to those between whom a proposal was made in private; to
// nobody in particular, where everybody sees it.
func answer(p *protocol.Envelope, kind protocol.Kind) protocol.Envelope {
	e := protocol.Envelope{Kind: kind, Context: p.Context, Correlation: protocol.CorrelateTo(p.ID)}
	if len(p.To) == 0 {
		return e
	}
	for _, who := range append([]protocol.ParticipantID{p.From}, p.To...) {
		if !slices.Contains(e.To, who) {
			e.To = append(e.To, who)
		}
	}
	return e
}
