package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/acp"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// canceled is the outcome of a request for permission of a canceled prompt.
var canceled = map[string]any{"outcome": map[string]string{"outcome": "cancelled"}}

// options are the answers that the program offers.
type options []struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

// choose returns the outcome with the option of a kind; canceled if there is none.
func (o options) choose(kind string) any {
	for _, x := range o {
		if x.Kind == kind {
			return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": x.ID}}
		}
	}
	return canceled
}

func (o options) has(kind string) bool {
	for _, x := range o {
		if x.Kind == kind {
			return true
		}
	}
	return false
}

// permission answers a session/request_permission. A capability that names the call allows
// it; otherwise the other participants decide about a proposal. The program is only ever
// given the permission for this one call: what is allowed for longer is a capability, which
// all participants can see and revoke.
func (t *turn) permission(ctx context.Context, params json.RawMessage) (any, error) {
	var in struct {
		Call    json.RawMessage `json:"toolCall"`
		Options options         `json:"options"`
	}
	if err := acp.Params(params, &in); err != nil {
		return nil, err
	}
	t.mu.Lock()
	if t.ended || t.prompting == nil || t.prompting.Err() != nil {
		t.mu.Unlock()
		return canceled, nil
	}
	t.asking.Add(1)
	defer t.asking.Done()
	c := t.mergeLocked(in.Call, true)
	if c == nil {
		t.notes = append(t.notes, "A call was refused because it could not be shown to the space.")
		t.mu.Unlock()
		return in.Options.choose("reject_once"), nil
	}
	c.timer.Stop()
	if c.thought == "" {
		c.thought = t.flushLocked(c.tool())
	}
	t.pending++
	ctx, stop := context.WithCancelCause(ctx)
	defer context.AfterFunc(t.prompting, func() { stop(context.Cause(t.ctx)) })()
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		t.pending--
		t.mu.Unlock()
		stop(nil)
	}()
	if !in.Options.has("allow_once") {
		return t.refuse(c, in.Options, "It offers no permission for this one call, and the space gives no other."), nil
	}
	allowed, err := t.allowed(ctx, c)
	if err != nil {
		return canceled, nil
	}
	if allowed {
		return in.Options.choose("allow_once"), nil
	}
	return t.propose(ctx, c, in.Options), nil
}

// allowed reports whether the capabilities name a call, and publishes its request if they
// do. The gateway decides about the request.
func (t *turn) allowed(ctx context.Context, c *call) (bool, error) {
	for {
		t.mu.Lock()
		if c.proposed || !participant.NamesCall(t.task.Runtime.Space.Welcome().You.Capabilities, t.task.Runtime.You, c.tool()) {
			t.mu.Unlock()
			return false, nil
		}
		result, earlier := make(chan error, 1), c.request != ""
		if earlier { // the program began the call before it asked
			t.queueLocked(draft{about: c.request, result: result})
		} else {
			t.queueLocked(draft{Envelope: t.requestLocked(c), result: result})
		}
		t.mu.Unlock()
		select {
		case err := <-result:
			if !isViolation(err) {
				return err == nil, err
			}
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
		t.mu.Lock()
		c.request, c.rpc = "", nil
		t.mu.Unlock()
		if !earlier { // otherwise the capabilities may have changed since
			return false, nil
		}
	}
}

// propose proposes a call to the other participants and waits for their decision.
func (t *turn) propose(ctx context.Context, c *call, o options) any {
	defer t.task.Place.Lend(ctx)()
	t.mu.Lock()
	t.explainLocked(c)
	p := t.task.Inside(protocol.KindMCPProposal, nil)
	p.From, p.Correlation = t.task.Runtime.You, protocol.CorrelateTo(c.thought)
	more := []any{"participant_id", string(p.From), "expires_at", t.task.Runtime.Space.Welcome().ExpiresAt(t.agent.o.ProposalTimeout)}
	if o.has("allow_always") {
		more = append(more, "grant", map[string]any{ // of all calls of the tool for a while, by participants that may give it
			"recipient": p.From, "ttl_seconds": int(t.agent.o.GrantTime.Seconds()),
			"capabilities": []any{map[string]any{
				"kind": protocol.KindMCPRequest, "to": p.From,
				"payload": map[string]any{"method": "tools/call", "params": map[string]string{"name": c.tool()}},
			}},
		})
	}
	payload, exact := c.payload(more...)
	if !exact {
		t.mu.Unlock()
		return t.refuse(c, o, "Its arguments cannot be shown to the space exactly, so no participant could decide about it.")
	}
	p.Payload, c.proposed = payload, true
	box := t.task.Inbox.Expect(p.ID)
	defer func() {
		for _, env := range t.task.Inbox.Release(p.ID) {
			t.decline(&env)
		}
	}()
	result := make(chan error, 1)
	own := p
	own.From = "" // which the gateway sets
	t.queueLocked(draft{Envelope: own, result: result})
	t.mu.Unlock()
	select {
	case err := <-result:
		if err == nil {
			break
		}
		if agent.MaybeSent(err) {
			t.withdraw(&p, "no_longer_needed")
		}
		if ctx.Err() != nil {
			return canceled
		}
		return t.refuse(c, o, "The space does not take a proposal of it from this participant.")
	case <-ctx.Done(): // the envelope may still enter the log, for example after a pause
		t.asking.Go(func() {
			if agent.MaybeSent(<-result) {
				t.withdraw(&p, "no_longer_needed")
			}
		})
		return canceled
	}
	return t.decide(ctx, c, &p, box, o)
}

// decide waits for the decision about a proposal.
func (t *turn) decide(ctx context.Context, c *call, p *protocol.Envelope, box <-chan protocol.Envelope, o options) any {
	timer := time.NewTimer(t.agent.o.ProposalTimeout)
	defer timer.Stop()
	for {
		select {
		case env := <-box:
			if env.Kind == protocol.KindSystemWelcome || env.Kind == protocol.KindSystemPresence {
				if t.granted(ctx, c, p, &env) {
					return o.choose("allow_once")
				}
				continue
			}
			switch exchange.Settles(p, &env) {
			case exchange.Pending:
				t.decline(&env)
			case exchange.Fulfilled:
				return t.approved(c, &env, o)
			case exchange.Rejected:
				reason := textutil.ShortenChars(env.ParsePayload().Get("reason").Text(), maxTitle)
				return t.refuse(c, o, fmt.Sprintf("The participant %s rejected it. The reason, as JSON: %s", env.From, protocol.AppendString(nil, reason)))
			default:
				return canceled
			}
		case <-timer.C:
			t.withdraw(p, "timeout")
			t.mu.Lock()
			t.sendLocked(t.task.Inside(protocol.KindReasoningObservation, object(
				"message", fmt.Sprintf("No participant decided about the call within %s, so it is not made: %s", t.agent.o.ProposalTimeout, c.title()), "tool_name", c.tool())))
			t.mu.Unlock()
			return t.refuse(c, o, fmt.Sprintf("No participant decided about it within %s. That is no denial: nobody has answered.", t.agent.o.ProposalTimeout))
		case <-ctx.Done():
			t.withdraw(p, "no_longer_needed")
			return canceled
		}
	}
}

// granted reports whether the capabilities name a call since a grant, and replaces its
// proposal by a request.
func (t *turn) granted(ctx context.Context, c *call, p, env *protocol.Envelope) bool {
	if env.Kind != protocol.KindSystemWelcome {
		return false
	}
	t.mu.Lock()
	c.proposed = false
	t.mu.Unlock()
	if ok, err := t.allowed(ctx, c); !ok || err != nil {
		t.mu.Lock()
		c.proposed = true
		t.mu.Unlock()
		return false
	}
	t.withdraw(p, "no_longer_needed")
	return true
}

// approved answers a request for permission whose proposal was fulfilled. The call that
// another participant has edited is another call, which the program would have to make.
func (t *turn) approved(c *call, env *protocol.Envelope, o options) any {
	t.mu.Lock()
	c.approval = env.ID
	if c.rpc == nil {
		c.rpc = participant.RequestID(env)
	}
	t.mu.Unlock()
	if exchange.CallOf(env).Edited {
		return t.refuse(c, o, fmt.Sprintf("The participant %s approved another call instead. Make that one if it is right, as JSON: %s",
			env.From, textutil.Shorten(string(env.ParsePayload().Get("params").Raw()), maxSegment)))
	}
	return o.choose("allow_once")
}

// refuse rejects a call, responds to its request, and explains it in the next prompt: the
// protocol has no place for a reason.
func (t *turn) refuse(c *call, o options, why string) any {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notes = append(t.notes, fmt.Sprintf("The call %q was not made. %s", c.title(), why))
	c.proposed = true
	if e, ok := t.failure(c, why); ok {
		t.sendLocked(e)
	}
	return o.choose("reject_once")
}

// decline responds to a request that does not fulfill the proposal.
func (t *turn) decline(env *protocol.Envelope) {
	if env.Kind == protocol.KindMCPRequest && env.AddressedTo(t.task.Runtime.You) {
		fault := &client.RPCError{Code: participant.CodeFailed, Message: "this request does not fulfill the proposal, or another one has settled it"}
		t.task.Out.Final("response", participant.RespondTo(env, participant.Response(participant.RequestID(env), nil, fault)))
	}
}

func (t *turn) withdraw(p *protocol.Envelope, reason string) {
	e := t.task.Inside(protocol.KindMCPWithdraw, object("reason", reason))
	e.Correlation = protocol.CorrelateTo(p.ID)
	t.task.Out.Final("withdrawal", e)
}
