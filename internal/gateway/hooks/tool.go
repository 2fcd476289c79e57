package hooks

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/protocol"
)

// callPayload returns the payload of the request or the proposal of a call.
func (h *hook) callPayload(more ...any) json.RawMessage {
	params := map[string]any{"name": h.tool, "arguments": json.RawMessage(h.input())}
	meta := make(map[string]any)
	dir := h.body.Get("cwd")
	if !dir.Exists() || dir.Type() == protocol.TypeNull || dir.EqualText("") { // of Cursor
		dir = protocol.Value{}
		for root := range h.body.Get("workspace_roots").Elements {
			dir = root
			break
		}
	}
	switch {
	case dir.Exists() && (dir.Type() != protocol.TypeString || len(dir.Text()) > maxFolder):
		meta[protocol.MetaWorkingDirectory] = nil // so that it is no other folder
	case dir.Text() != "":
		meta[protocol.MetaWorkingDirectory] = dir.Text()
	}
	if real := h.body.Get(api.HookRealPaths); real.Exists() {
		meta[protocol.MetaRealPaths] = json.RawMessage(real.Raw())
	}
	if len(meta) > 0 {
		params["_meta"] = meta
	}
	return object(append(more, "method", "tools/call", "params", params)...)
}

// beforeTool publishes a call, and answers whether the agent may make it:
// "allow" if the capability for it names the participant in to, nothing with another
// capability, so that the agent's own rules decide, "ask" if the call can be proposed,
// otherwise "deny". If the agent does not support "ask", the answer waits for the decision of the space.
func (h *hook) beforeTool() (answer, error) {
	ctx, cancel := context.WithTimeout(h.ctx, gateTimeout)
	defer cancel()
	if h.toolUse == "" { // ids of nothing would find the decision about another call
		h.toolUse = uuid.NewString()
	}
	t, path, err := h.current(ctx)
	if err != nil {
		return answer{}, err
	}
	c := &call{agent: h.agent, tool: h.tool, toolUse: h.toolUse, turn: t, path: path, sum: h.sum()}
	key, err := h.identify(ctx, c)
	if err != nil {
		return answer{}, err
	}
	// The thought that explains the call: the text that was displayed before it, or a summary.
	text := cmp.Or(short(h.text("agent_message"), maxMessage), h.summary())
	if m := h.session.takePending(h.agent); m != nil && m.text != "" {
		text = m.text
	}
	c.thought = h.id("thought", key)
	err = h.publishOptional(ctx, protocol.Envelope{
		ID: c.thought, Kind: protocol.KindReasoningThought, To: t.to, Context: path, Payload: object("message", text, "tool_name", h.tool),
	})
	if err != nil {
		return answer{}, err
	}
	request := protocol.Envelope{
		ID: h.id("call", key), Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{h.caller.ID}, Context: path,
		Correlation: protocol.CorrelateTo(c.thought),
	}
	request.Payload = h.callPayload("jsonrpc", "2.0", "id", string(request.ID))
	allowed, named := h.caller.Space.Rights(h.caller.ID, &request)
	if !allowed && h.claims {
		why, err := h.claimPaths(ctx, &request)
		if err != nil || why != "" {
			return h.answerTool("deny", why), err
		}
		allowed, named = h.caller.Space.Rights(h.caller.ID, &request)
	}
	because := ""
	if allowed {
		_, err = h.publish(ctx, request)
		if err != nil && !refused(err, protocol.CodeCapabilityViolation) {
			return answer{}, err
		}
		allowed = err == nil
		if allowed {
			c.request = request.ID
		} else if protocol.AsError(err).Limit != nil { // a budget is used up, or the call is part of a loop
			because = " " + protocol.AsError(err).Message
		}
	}
	c.named = allowed && named && !h.program.asks
	c.granted = c.named
	h.session.add(key, c)
	switch {
	case allowed && named:
		return h.answerTool("allow", fmt.Sprintf("The capabilities of %s in the space %s name this call.", h.caller.ID, h.space)), nil
	case allowed:
		return answer{}, nil
	}
	proposal := protocol.Envelope{Kind: protocol.KindMCPProposal, Context: path, Payload: h.callPayload("participant_id", string(h.caller.ID))}
	may, _ := h.caller.Space.Rights(h.caller.ID, &proposal)
	if may || because != "" { // whose budget is used up may propose its calls
		if h.headless {
			return h.proposeBefore(key, c)
		}
		c.asked = true
		return h.answerTool("ask", fmt.Sprintf("The space %s lets %s make this call with the approval of a participant.%s", h.space, h.caller.ID, because)), nil
	}
	if why := h.caller.Space.RejectsProposal(h.caller.ID, &proposal); why != "" {
		return h.answerTool("deny", why), nil
	}
	return h.answerTool("deny", fmt.Sprintf("The capabilities of %s in the space %s allow neither this call nor a proposal of it.", h.caller.ID, h.space)), nil
}

func (h *hook) answerTool(decision, reason string) answer {
	return answer{Specific: &specific{Event: h.name, Decision: decision, Reason: reason}}
}

// denied answers an event that gates a call.
func (h *hook) denied(reason string) answer {
	if h.name == permissionRequest {
		return answer{Specific: &specific{Event: h.name, Granted: &decision{Behavior: "deny", Message: reason}}}
	}
	return h.answerTool("deny", reason)
}

// afterTool publishes the result of a call.
func (h *hook) afterTool(ctx context.Context) error { return h.publishResult(ctx, h.result(), false) }

// toolFailed publishes the failure of a call.
func (h *hook) toolFailed(ctx context.Context) error {
	return h.publishResult(ctx, h.text(h.program.fields.failure), true)
}

func (h *hook) publishResult(ctx context.Context, text string, failed bool) error {
	if err := h.publishMessage(ctx, h.session.takePending(h.agent)); err != nil {
		return err
	}
	t, path, err := h.current(ctx)
	if err != nil {
		return err
	}
	key := h.session.find(h.agent, h.toolUse, h.tool, h.sum())
	c := h.session.take(key)
	if c == nil {
		key, c, err = h.recall(ctx, t, path)
		if err != nil || c == nil {
			return err
		}
	}
	h.settleProposal(ctx, c)
	requests := h.requests(c)
	if len(requests) == 0 {
		message := "The space was not asked about " + h.summary()
		if c.asked || c.proposal != "" {
			message = "The user approved " + h.summary()
		}
		return h.publishOptional(ctx, protocol.Envelope{
			ID: h.id("result", key), Kind: protocol.KindReasoningObservation, To: c.turn.to, Context: c.path,
			Payload: object("message", message+"\n\n"+short(text, maxResult)),
		})
	}
	result := map[string]any{"content": []any{map[string]string{"type": "text", "text": short(text, maxResult)}}}
	if failed {
		result["isError"] = true
	}
	return h.publishOptional(ctx, protocol.Envelope{
		ID: h.id("result", key), Kind: protocol.KindMCPResponse, To: c.turn.to, Context: c.path,
		Correlation: protocol.Correlation{IDs: requests, Array: len(requests) > 1},
		Payload:     object("jsonrpc", "2.0", "id", string(requests[0]), "result", result),
	})
}

// keyOf returns the key of a call, from which the ids of its envelopes are derived.
func keyOf(use string, n int) string { return use + "/" + strconv.Itoa(n) }

// identify sets the use of a call and its occurrence, and returns its key. Agents use ids of calls
// again, some in each answer of the model, so a call is another one if the turn or the
// arguments differ, or if the one before is finished.
func (h *hook) identify(ctx context.Context, c *call) (key string, err error) {
	c.use = string(h.id("use", string(c.turn.path), h.agent, h.toolUse, hex.EncodeToString([]byte(c.sum))))
	h.session.mu.Lock()
	c.n = h.session.uses[c.use] // those that are finished
	_, open := h.session.calls[keyOf(c.use, c.n)]
	known := open || c.turn.whole
	h.session.mu.Unlock()
	for ; !known; c.n++ {
		used := protocol.ParticipantID("")
		for _, part := range []string{"thought", "call", "proposal"} {
			if used == "" {
				used, err = h.sender(ctx, h.id(part, keyOf(c.use, c.n)))
				if err != nil {
					return "", err
				}
			}
		}
		if used == "" {
			break
		}
	}
	h.session.count(c)
	return keyOf(c.use, c.n), nil
}

// sender returns who published the envelope with an id; "": nobody.
func (h *hook) sender(ctx context.Context, id protocol.ID) (protocol.ParticipantID, error) {
	text, err := h.client.Envelope(ctx, h.space, id)
	if refused(err, protocol.CodeNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	e, err := protocol.DecodeDelivered(text)
	return e.From, err
}

// recall finds a call that another gateway announced, or this one before a restart; nil: its
// result is published.
func (h *hook) recall(ctx context.Context, t *turn, path protocol.ContextPath) (key string, c *call, err error) {
	use := string(h.id("use", string(t.path), h.agent, cmp.Or(h.toolUse, uuid.NewString()), hex.EncodeToString([]byte(h.sum()))))
	for n := 0; ; n++ {
		key, c = keyOf(use, n), &call{turn: t, path: path}
		for id, to := range map[protocol.ID]*protocol.ID{h.id("call", key): &c.request, h.id("proposal", key): &c.proposal} {
			from, err := h.sender(ctx, id)
			if err != nil {
				return "", nil, err
			}
			if from == h.caller.ID {
				*to = id
			}
		}
		if c.request == "" && c.proposal == "" {
			if n > 0 {
				return "", nil, nil
			}
			return key, c, nil
		}
		if from, err := h.sender(ctx, h.id("result", key)); err != nil || from != h.caller.ID {
			return key, c, err
		}
	}
}

// toolDenied closes a call that the agent's own rules denied.
func (h *hook) toolDenied(ctx context.Context) error {
	if c := h.session.take(h.session.find(h.agent, h.toolUse, h.tool, h.sum())); c != nil {
		return h.settle(ctx, []*call{c})
	}
	return nil
}

// permissionRequest proposes a call to the other participants, and waits for their
// decision. Without a decision the agent asks its user.
func (h *hook) permissionRequest() (answer, error) {
	ctx, cancel := context.WithTimeout(h.ctx, hookTimeout)
	defer cancel()
	t, path, err := h.current(ctx)
	if err != nil {
		return answer{}, err
	}
	sum := h.sum()
	id, c, granted := h.session.requested(h.agent, sum)
	if granted {
		return h.allowed(&decision{Behavior: "allow"})
	}
	if c == nil { // no event announced it; a derived id would find the approval of an earlier call
		id, c = uuid.NewString(), &call{agent: h.agent, tool: h.tool, turn: t, path: path, sum: sum, proposal: noProposal}
		h.session.add(id, c)
	}
	out, _, err := h.propose(id, c, h.permission)
	if err != nil || out == nil {
		return answer{}, err
	}
	return h.allowed(out)
}

// allowed answers a request for permission.
func (h *hook) allowed(out *decision) (answer, error) {
	if out.Input != nil && !h.program.edits {
		out = &decision{Behavior: "deny", Message: fmt.Sprintf("A participant of the space %s allows %s with other arguments instead; call it with them: %s", h.space, h.tool, short(string(out.Input), maxMessage))}
	}
	return answer{Specific: &specific{Event: h.name, Granted: out}}, nil
}

// proposeBefore is permissionRequest for an agent without a terminal, which denies
// what it would ask its user.
func (h *hook) proposeBefore(key string, c *call) (answer, error) {
	out, why, err := h.propose(key, c, h.approval)
	switch {
	case err != nil:
		return answer{}, err
	case out == nil:
		return h.answerTool("deny", why), nil
	}
	if out.Behavior == "allow" && !h.program.asks {
		sum := ""
		if out.Input != nil { // other arguments
			args, _ := embedded(out.Input) // of a payload, which was parsed
			sum = (&event{program: h.program, tool: h.tool, args: args}).sum()
		}
		h.session.mu.Lock()
		c.granted, c.sum = true, cmp.Or(sum, c.sum)
		h.session.mu.Unlock()
	}
	a := h.answerTool(out.Behavior, out.Message)
	a.Specific.Input = out.Input
	return a, nil
}

// propose proposes a call and waits for the decision; nil: there is none, and why is a
// sentence for the agent that says so. A call that nobody decided on was not rejected.
func (h *hook) propose(id string, c *call, wait time.Duration) (out *decision, why string, err error) {
	select {
	case h.server.held <- struct{}{}:
		defer func() { <-h.server.held }()
	default:
		return nil, fmt.Sprintf("The space %s could not be asked about this call: too many calls wait for a decision. Nobody rejected it; try again later.", h.space), nil
	}
	ended := fmt.Sprintf("The proposal of this call in the space %s ended before a participant decided on it.", h.space)
	proposed := make(chan struct{})
	published := sync.OnceFunc(func() { close(proposed) })
	defer published()
	h.session.mu.Lock()
	settled := c.settled
	c.proposed = proposed
	h.session.mu.Unlock()
	if settled {
		return nil, ended, nil
	}
	p := protocol.Envelope{
		ID: h.id("proposal", id), From: h.caller.ID, Kind: protocol.KindMCPProposal, To: c.turn.to, Context: c.path,
		Payload: h.callPayload("participant_id", string(h.caller.ID), "expires_at", time.Now().Add(wait).UTC().Format(time.RFC3339)),
	}
	if c.thought != "" {
		p.Correlation = protocol.CorrelateTo(c.thought)
	}
	// Also if the agent disconnects meanwhile: otherwise it would not be known that there is a proposal to withdraw.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), hookTimeout)
	defer cancel()
	at, err := h.publish(ctx, p)
	if refused(err, protocol.CodeCapabilityViolation) {
		return nil, fmt.Sprintf("The capabilities of %s in the space %s allow neither this call nor a proposal of it.", h.caller.ID, h.space), nil
	}
	if err != nil {
		return nil, "", err
	}
	ctx, cancel = context.WithTimeout(h.ctx, wait)
	defer cancel()
	h.session.mu.Lock()
	c.proposal, c.release = p.ID, cancel
	h.session.mu.Unlock()
	published()
	wanted := exchange.CallOf(&p)
	p.Payload = nil
	h.release()
	how, by, err := h.decided(ctx, &p, wanted, at)
	if err != nil {
		switch {
		case ctx.Err() == nil:
			why = fmt.Sprintf("The space %s cannot be read now: it is not known whether a participant decided on this call.", h.space)
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			why = fmt.Sprintf("No participant of the space %s decided on this call in time. Nobody rejected it.", h.space)
		default: // the call was made, its turn has ended, or the agent disconnected
			why = ended
		}
		ending, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), hookTimeout) // also if the agent disconnected
		defer cancel()
		by = h.settleProposal(ending, c)
		if by == nil {
			return nil, why, nil //nolint:nilerr // it says why
		}
		how = exchange.SettlesCall(&p, wanted, by) // it was decided just before
	}
	out = h.granted(c, how, by)
	switch {
	case out == nil:
		return nil, ended, nil
	case out.Behavior == "deny":
		h.session.take(id)
		return out, "", h.settle(h.ctx, []*call{c})
	}
	return out, "", nil
}

// decided waits for the envelope that settles a proposal.
func (h *hook) decided(ctx context.Context, p *protocol.Envelope, proposed exchange.Call, since protocol.Seq) (how exchange.Outcome, by *protocol.Envelope, err error) {
	q := api.EnvelopeQuery{Since: since, Limit: 20}
	for _, kind := range exchange.DecisionKinds {
		q.Kinds = append(q.Kinds, string(kind))
	}
	for {
		page, err := h.client.Envelopes(ctx, h.space, q)
		if err != nil {
			return exchange.Pending, nil, err
		}
		for i := range page.Envelopes {
			e := &page.Envelopes[i]
			if how := exchange.SettlesCall(p, proposed, e); how != exchange.Pending {
				return how, e, nil
			}
		}
		q.Since, q.Log = max(q.Since, page.Next), page.Log
		if page.HasMore {
			continue
		}
		if err := h.client.Await(ctx, h.space, q); err != nil {
			return exchange.Pending, nil, err
		}
	}
}

// granted returns the decision about a call, by the envelope that settled its
// proposal; nil: none.
func (h *hook) granted(c *call, how exchange.Outcome, by *protocol.Envelope) *decision {
	out := &decision{}
	h.session.mu.Lock()
	c.release = nil
	if how == exchange.Fulfilled {
		c.approved = by.ID
	} else {
		c.proposal = noProposal
	}
	h.session.mu.Unlock()
	switch how {
	case exchange.Fulfilled:
		out.Behavior = "allow"
		if exchange.CallOf(by).Edited {
			params := by.ParsePayload().Get("params")
			if !params.Get("name").EqualText(h.tool) || params.Get("arguments").Type() != protocol.TypeObject {
				out.Behavior, out.Message = "deny", fmt.Sprintf("%s requested another call instead: %s", by.From, short(string(by.Payload), maxMessage))+notice
				break
			}
			out.Input = params.Get("arguments").Raw()
		}
	case exchange.Rejected:
		out.Behavior = "deny"
		out.Message = fmt.Sprintf("The participant %s of the space %s rejected the call. The reason follows. %s\n%s", by.From, h.space, notice,
			quoted(by.From, short(by.ParsePayload().Get("reason").Text(), maxName)))
	default: // withdrawn, or its context has ended
		return nil
	}
	return out
}

// settleProposal ends a proposal whose call was made or dropped without a decision
// of the space. It waits for a proposal that is being published, and returns a decision that
// nothing waited for; nil: there is none.
func (h *hook) settleProposal(ctx context.Context, c *call) *protocol.Envelope {
	h.session.mu.Lock()
	c.settled = true
	proposed := c.proposed
	h.session.mu.Unlock()
	if proposed != nil {
		select {
		case <-proposed:
		case <-ctx.Done():
		}
	}
	h.session.mu.Lock()
	id, done := c.proposal, c.approved != ""
	if c.release != nil {
		c.release()
		c.release = nil
	}
	h.session.mu.Unlock()
	if id == "" || id == noProposal || done {
		return nil
	}
	e := protocol.Envelope{
		ID: h.id("withdrawn", string(id)), Kind: protocol.KindMCPWithdraw, To: c.turn.to, Context: c.path,
		Correlation: protocol.CorrelateTo(id), Payload: object("reason", "no_longer_needed"),
	}
	err := h.publishEnd(ctx, e)
	var settled *protocol.Error
	if !refused(err, protocol.CodeProposalSettled) || !errors.As(err, &settled) || settled.Seq == 0 {
		return nil // withdrawn, or it expires
	}
	page, err := h.client.Envelopes(ctx, h.space, api.EnvelopeQuery{Since: settled.Seq - 1, Before: settled.Seq + 1, Limit: 1})
	if err != nil || len(page.Envelopes) == 0 {
		return nil
	}
	by := &page.Envelopes[0]
	if by.Kind == protocol.KindMCPRequest {
		h.session.mu.Lock()
		c.approved = by.ID
		h.session.mu.Unlock()
	}
	return by
}
