package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/protocol"
)

// propose proposes a call that the agent may not make to the other
// participants. It waits until the proposal is fulfilled, rejected or
// withdrawn, or expires without a decision.
func (a *Agent) propose(ctx context.Context, x *action) contextwindow.Result {
	if x.refusal.Code != protocol.CodeCapabilityViolation || a.opts.NoProposals || x.call.Optional {
		return refused(x.refusal)
	}
	_ = a.runtime.Gate.Wait(ctx) // a pause does not count; if ctx ended, nothing is published
	expiry := a.opts.After(a.opts.ProposalTimeout)
	proposed := x.p.inside(protocol.KindMCPProposal,
		field{"method", "tools/call"}, field{"params", x.params()}, field{"participant_id", a.host(x)}, // which must make the call
		field{"expires_at", a.opts.Space.Welcome().ExpiresAt(a.opts.ProposalTimeout)})
	proposed.ID, proposed.Correlation = newID(), protocol.CorrelateTo(x.thought.ID)
	box := a.inbox.Expect(proposed.ID)
	defer x.p.q.place.Lend(ctx)()
	defer func() { // every request to the agent has a response, also one that came after the decision
		for _, env := range a.inbox.Release(proposed.ID) {
			if env.Kind == protocol.KindMCPRequest && env.AddressedTo(a.you) {
				a.respond(ctx, answerTo(x, &env, nil, failedCall("the proposal is decided already")))
			}
		}
	}()
	if err := a.out.Publish(ctx, proposed); err != nil {
		if refusal, fatal := refusalOf(err); fatal == nil {
			return refused(refusal)
		}
		if MaybeSent(err) {
			a.out.Final("withdrawal", withdrawal(proposed, "no_longer_needed"))
		}
		return failed("not proposed: " + explainCause(err))
	}
	for {
		select {
		case env := <-box:
			if out, decided := a.decided(ctx, x, &proposed, &env); decided {
				return out
			}
		case <-expiry:
			err := a.out.Publish(ctx, withdrawal(proposed, "timeout"))
			if errors.Is(err, &protocol.Error{Code: protocol.CodeProposalSettled}) {
				expiry = nil // the decision is in the log, and on its way
				continue
			}
			return expired(fmt.Sprintf("within %s", a.opts.ProposalTimeout))
		case <-ctx.Done():
			a.out.Final("withdrawal", withdrawal(proposed, "no_longer_needed"))
			return contextwindow.Result{Outcome: contextwindow.Withdrawn, Error: "withdrawn: " + explainCause(context.Cause(ctx))}
		}
	}
}

// refused returns the result of a call that the gateway has refused: because of its arguments, which
// the planner can correct, or because it is not allowed.
func refused(refusal *protocol.Error) contextwindow.Result {
	if refusal.Code == protocol.CodeInvalidPayload {
		return failed(fmt.Sprintf("%s: %s", refusal.Code, refusal.Message))
	}
	return contextwindow.Result{Outcome: contextwindow.Refused, Error: fmt.Sprintf("not allowed: %s: %s", refusal.Code, refusal.Message)}
}

func expired(when string) contextwindow.Result {
	return contextwindow.Result{Outcome: contextwindow.Expired, Error: "expired: no decision on the proposal " + when}
}

// decided reports whether an envelope settles the proposal, and returns the
// outcome.
func (a *Agent) decided(ctx context.Context, x *action, p, env *protocol.Envelope) (contextwindow.Result, bool) {
	p.From = a.you
	reason := reasonOf(env)
	said := cmp.Or(reason, "no reason given")
	switch exchange.Settles(p, env) {
	case exchange.Rejected:
		return contextwindow.Result{Outcome: contextwindow.Rejected, Reason: reason, Error: fmt.Sprintf("rejected by %s: %s", env.From, said)}, true
	case exchange.Expired: // another process of the agent waited for it too
		return expired("in time"), true
	case exchange.Withdrawn:
		if root := x.p.q.root; reason == "no_longer_needed" { // by another process, which takes the question over
			root.cancel(&cancelledError{By: a.you, Reason: reason, Context: root.path, TakenOver: true})
		}
		return contextwindow.Result{Outcome: contextwindow.Withdrawn, Error: "withdrawn: " + said}, true
	case exchange.Fulfilled:
		return a.fulfilled(ctx, x, env), true
	}
	if env.Kind == protocol.KindMCPRequest && env.AddressedTo(a.you) {
		a.respond(ctx, answerTo(x, env, nil, failedCall("this request does not fulfill the proposal")))
	}
	return contextwindow.Result{}, false
}

// fulfilled returns the result of the request that fulfills a proposal. If the
// agent runs the tool, it makes the call with the arguments of the request.
func (a *Agent) fulfilled(ctx context.Context, x *action, request *protocol.Envelope) contextwindow.Result {
	var out contextwindow.Result
	rpc, err := participant.ParseRequest(request)
	switch {
	case !request.AddressedTo(a.you):
		env, why := a.await(ctx, request.ID, request.To)
		if env != nil {
			out = envelopeResult(env)
		} else {
			out = failed(why.Error())
		}
	case err != nil || rpc.Method != "tools/call" || rpc.Params.Get("name").Text() != x.tool.Name:
		fault := &client.RPCError{Code: participant.CodeNoSuchMethod, Message: "a proposal is fulfilled by tools/call with the proposed tool"}
		a.respond(ctx, answerTo(x, request, nil, fault))
		out = failed("the request that fulfills it calls something else")
	default:
		var args, result json.RawMessage
		var fault *client.RPCError
		if given := rpc.Params.Get("arguments"); given.Exists() {
			args = given.Raw()
		}
		out, result, fault = a.run(ctx, x.tool.Name, args)
		a.respond(ctx, answerTo(x, request, result, fault))
	}
	a.inbox.Release(request.ID)
	out.Outcome, out.Reason = contextwindow.Fulfilled, out.Error
	if out.Error != "" {
		out.Error = fmt.Sprintf("fulfilled by %s, but it failed: %s", request.From, out.Error)
	}
	return out
}

// answerTo builds the response to another participant's request that correlates
// to a proposal.
func answerTo(x *action, request *protocol.Envelope, result json.RawMessage, fault *client.RPCError) protocol.Envelope {
	response := participant.RespondTo(request, participant.Response(participant.RequestID(request), result, fault))
	response.To = append(response.To, x.p.q.private...)
	if len(request.To) == 0 && len(x.p.q.private) == 0 {
		response.To = nil
	}
	if response.Context == "" {
		response.Context = x.p.path
	}
	return response
}

func withdrawal(proposal protocol.Envelope, reason string) protocol.Envelope {
	return protocol.Envelope{
		Kind: protocol.KindMCPWithdraw, To: proposal.To, Context: proposal.Context,
		Correlation: protocol.CorrelateTo(proposal.ID), Payload: object(field{"reason", reason}),
	}
}
