package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/internal/reasoning"
	"github.com/meup-protocol/meup/protocol"
)

// propose asks the others to make a call that the agent may not make, and
// waits until somebody does (fulfilled), says no (rejected), it is taken back
// (withdrawn), or nobody has decided in time (expired).
func (a *Agent) propose(ctx context.Context, x *action) reasoning.Result {
	if x.refusal.Code != protocol.CodeCapabilityViolation || a.opts.NoProposals {
		return refused(x.refusal)
	}
	proposal := a.newProposal(x)
	box := a.inbox.expect(proposal.ID)
	defer a.tooLate(ctx, x, proposal.ID, box)
	if err := a.say(ctx, proposal); err != nil {
		if refusal, fatal := refusalOf(err); fatal == nil {
			return refused(refusal)
		}
		if maybeSaid(err) {
			a.withdraw(ctx, proposal, "no_longer_needed")
		}
		return failed("not proposed: " + explain(err))
	}
	expiry := time.NewTimer(a.opts.ProposalTimeout)
	defer expiry.Stop()
	for {
		select {
		case env := <-box:
			if out, decided := a.decided(ctx, x, &env); decided {
				return out
			}
		case <-expiry.C:
			a.withdraw(ctx, proposal, "timeout")
			return reasoning.Result{
				Outcome: reasoning.Expired,
				Error:   fmt.Sprintf("expired: nobody decided on the proposal within %s", a.opts.ProposalTimeout),
			}
		case <-ctx.Done():
			a.withdraw(ctx, proposal, "no_longer_needed")
			return reasoning.Result{Outcome: reasoning.Withdrawn, Error: "withdrawn: " + explain(context.Cause(ctx))}
		}
	}
}

// newProposal says which call is proposed, and, where the tool is another
// participant's, whose it is.
func (a *Agent) newProposal(x *action) protocol.Envelope {
	fields := []field{{"method", "tools/call"}, {"params", x.params()}}
	if x.tool.owner != "" {
		fields = append(fields, field{"participant_id", x.tool.owner})
	}
	proposal := x.p.inside(protocol.KindMCPProposal, fields...)
	proposal.ID, proposal.Correlation = a.opts.NewID(), protocol.CorrelateTo(x.thought.ID)
	return proposal
}

// tooLate closes the box of a proposal that is decided, and answers those who
// asked for the call after that: every request to the agent has a response.
func (a *Agent) tooLate(ctx context.Context, x *action, proposal protocol.ID, box <-chan protocol.Envelope) {
	a.inbox.release(proposal)
	for {
		select {
		case env := <-box:
			if env.Kind == protocol.KindMCPRequest && env.AddressedTo(a.you) {
				a.respond(ctx, answerTo(x, &env, field{"error", rpcFault{rpcFailed, "the proposal is decided already"}}))
			}
		default:
			return
		}
	}
}

func refused(refusal *protocol.Error) reasoning.Result {
	return reasoning.Result{Outcome: reasoning.Refused, Error: notAllowed(refusal)}
}

// decided reports whether an envelope that answers the proposal settles it,
// and how.
func (a *Agent) decided(ctx context.Context, x *action, env *protocol.Envelope) (reasoning.Result, bool) {
	switch env.Kind {
	case protocol.KindMCPReject:
		return reasoning.Result{Outcome: reasoning.Rejected, Error: fmt.Sprintf("rejected by %s: %s", env.From, orNone(reasonOf(env)))}, true
	case protocol.KindMCPWithdraw:
		return reasoning.Result{Outcome: reasoning.Withdrawn, Error: "withdrawn: " + orNone(reasonOf(env))}, true
	case protocol.KindMCPRequest:
		if x.tool.owner != "" && env.AddressedTo(a.you) && !env.AddressedTo(x.tool.owner) {
			wrong := fmt.Sprintf("the tool is %s's: address the request there", x.tool.owner)
			a.respond(ctx, answerTo(x, env, field{"error", rpcFault{rpcNoSuchTool, wrong}}))
			return reasoning.Result{}, false
		}
		return a.fulfilled(ctx, x, env), true
	}
	return reasoning.Result{}, false
}

// fulfilled is the result of the request by which somebody fulfils a proposal.
// Where the tool is the agent's own it makes the call, with the arguments that
// were approved, which may be others than the proposed ones.
func (a *Agent) fulfilled(ctx context.Context, x *action, request *protocol.Envelope) reasoning.Result {
	asked := request.To
	if len(asked) == 0 && x.tool.owner != "" {
		asked = []protocol.ParticipantID{x.tool.owner}
	}
	var out reasoning.Result
	if x.tool.owner == "" && (len(asked) == 0 || request.AddressedTo(a.you)) {
		out = a.serve(ctx, x, request)
	} else if env, why := a.await(ctx, request.ID, asked); env != nil {
		out = resultIn(env)
	} else {
		out = failed(why.Error())
	}
	a.inbox.release(request.ID)
	out.Outcome = reasoning.Fulfilled
	if out.Error != "" {
		out.Error = fmt.Sprintf("fulfilled by %s, but it failed: %s", request.From, out.Error)
	}
	return out
}

// serve carries out the request of somebody else that fulfils a proposal.
func (a *Agent) serve(ctx context.Context, x *action, request *protocol.Envelope) reasoning.Result {
	var rpc struct {
		Method string `json:"method"`
		Params struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	answer := field{"error", rpcFault{rpcNoSuchMethod, "a proposal is fulfilled by tools/call with the proposed tool"}}
	out := failed("the request that fulfils it calls something else")
	if json.Unmarshal(request.Payload, &rpc) == nil && rpc.Method == "tools/call" && rpc.Params.Name == x.tool.name {
		out, answer = a.run(ctx, x.tool.name, rpc.Params.Arguments)
	}
	a.respond(ctx, answerTo(x, request, answer))
	return out
}

// answerTo is the response to somebody else's request about a proposal.
func answerTo(x *action, request *protocol.Envelope, answer field) protocol.Envelope {
	id := requestID(request)
	if string(id) == "null" {
		id = protocol.AppendString(nil, string(request.ID))
	}
	response := protocol.Envelope{
		Kind: protocol.KindMCPResponse, Context: request.Context, Correlation: protocol.CorrelateTo(request.ID),
		Payload: object(field{"jsonrpc", "2.0"}, field{"id", id}, answer),
	}
	if len(request.To) > 0 || len(x.p.q.private) > 0 {
		response.To = append([]protocol.ParticipantID{request.From}, x.p.q.private...)
	}
	if response.Context == "" {
		response.Context = x.p.path
	}
	return response
}

// withdraw takes a proposal back.
func (a *Agent) withdraw(ctx context.Context, proposal protocol.Envelope, reason string) {
	a.sayStill(ctx, "withdrawal", protocol.Envelope{
		Kind: protocol.KindMCPWithdraw, To: proposal.To, Context: proposal.Context,
		Correlation: protocol.CorrelateTo(proposal.ID), Payload: object(field{"reason", reason}),
	})
}

func orNone(reason string) string {
	if reason == "" {
		return "no reason given"
	}
	return reason
}
