package hooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the chats that one answer delivers. Agents cut an answer at 10,000
// characters.
const (
	maxChats    = 8
	maxChat     = 2000 // bytes
	maxChatText = 8000
	maxPages    = 10 // of the log, for one answer
	maxLookups  = 4  // of the envelopes that a chat replies to
)

// stop concludes the turn and answers the chats that it was about, unless subagents still work
// on it. Chats that arrived in the meantime make the agent go on; without one, it waits if the
// address has wait.
func (h *hook) stop() (answer, error) {
	ctx, cancel := context.WithTimeout(h.ctx, hookTimeout)
	defer cancel()
	last, m := h.text("last_assistant_message"), h.session.takePending("")
	if m != nil && last == "" { // the agent reports its final text before the end
		last, m = m.text, nil
	}
	if m != nil && !strings.HasPrefix(strings.TrimSpace(last), strings.TrimSpace(m.text)) {
		if err := h.publishMessage(ctx, m); err != nil {
			return answer{}, err
		}
	}
	t, _, err := h.current(ctx)
	if err != nil {
		return answer{}, err
	}
	h.session.mu.Lock()
	working := h.program.detached && len(h.session.agents) > 0
	h.session.mu.Unlock()
	if working {
		return answer{}, h.publishMessage(ctx, &message{last, short(last, maxMessage), ""})
	}
	// The conclusion, and the reply.
	_, left := h.session.end()
	if err := errors.Join(h.settle(ctx, left), h.releasePaths(ctx)); err != nil {
		return answer{}, err
	}
	text := short(last, maxResult)
	err = h.publishEnd(ctx, protocol.Envelope{
		ID: h.id("concluded", string(t.path)), Kind: protocol.KindReasoningConclusion, To: t.to, Context: t.path, Payload: object("message", text),
	})
	if err == nil && len(t.replyTo) > 0 && text != "" {
		err = h.publishOptional(ctx, protocol.Envelope{
			ID: h.id("reply", string(t.path)), Kind: protocol.KindChat, To: t.to,
			Correlation: protocol.Correlation{IDs: t.replyTo, Array: len(t.replyTo) > 1}, Payload: object("message", text, "format", "markdown"),
		})
	}
	if err != nil {
		return answer{}, err
	}
	// The next chats.
	chats, err := h.newChats(ctx)
	if err == nil && len(chats) == 0 && h.wait > 0 {
		chats = h.awaitChats()
	}
	if err != nil || len(chats) == 0 {
		return answer{}, err
	}
	ctx, cancel = context.WithTimeout(h.ctx, hookTimeout)
	defer cancel()
	return h.deliver(ctx, chats)
}

// stopWithStatus is stop of an agent that reports how the turn ended.
func (h *hook) stopWithStatus() (answer, error) {
	reason := map[string]string{"aborted": "interrupted by the user", "error": "the model failed"}[h.text("status")]
	if reason == "" {
		return h.stop()
	}
	ctx, cancel := context.WithTimeout(h.ctx, hookTimeout)
	defer cancel()
	err := h.publishMessage(ctx, h.session.takePending(""))
	return answer{}, errors.Join(err, h.cancelTurn(ctx, reason))
}

// newChats returns chats for the agent that were not delivered: the oldest one and
// the ones with the same audience.
func (h *hook) newChats(ctx context.Context) (list []*protocol.Envelope, err error) {
	h.session.mu.Lock()
	q := api.EnvelopeQuery{Since: h.session.since, Log: h.session.log, Kinds: []string{string(protocol.KindChat)}, Limit: 50}
	h.session.mu.Unlock()
	if q.Since == 0 {
		return nil, h.startAtEnd(ctx)
	}
	for range maxPages {
		page, err := h.client.Envelopes(ctx, h.space, q)
		if refused(err, protocol.CodeCursorExpired) { // of another log
			return nil, h.startAtEnd(ctx)
		}
		if err != nil {
			return nil, err
		}
		for i := range page.Envelopes {
			e := &page.Envelopes[i]
			wanted, err := h.isForAgent(ctx, e)
			if err != nil {
				return nil, err
			}
			if !wanted || len(list) > 0 && !slices.Equal(audience(list[0]), audience(e)) {
				continue
			}
			list = append(list, e)
			if len(list) == maxChats {
				return list, nil
			}
		}
		q.Since, q.Log = max(q.Since, page.Next), page.Log
		if len(list) == 0 {
			h.session.mu.Lock()
			h.session.since, h.session.log = q.Since, q.Log
			h.session.mu.Unlock()
		}
		if !page.HasMore {
			break
		}
	}
	return list, nil
}

// startAtEnd makes the chats that follow from now on the new ones.
func (h *hook) startAtEnd(ctx context.Context) error {
	page, err := h.client.Envelopes(ctx, h.space, api.EnvelopeQuery{Descending: true, Limit: 1})
	if err != nil {
		return err
	}
	h.session.mu.Lock()
	defer h.session.mu.Unlock()
	h.session.since, h.session.log = 0, page.Log
	if len(page.Envelopes) > 0 {
		h.session.since = page.Envelopes[0].Seq
	}
	return nil
}

// audience returns who sees the answer to a chat: nil, all participants.
func audience(e *protocol.Envelope) []protocol.ParticipantID {
	if len(e.To) == 0 {
		return nil
	}
	return []protocol.ParticipantID{e.From}
}

// isForAgent reports whether a chat has to be delivered: it is addressed to the
// participant, mentions it, or does not begin with a mention of another name and replies
// to it or is for everybody in the main conversation. Replies to others are not, so that
// agents do not answer each other's answers.
func (h *hook) isForAgent(ctx context.Context, e *protocol.Envelope) (bool, error) {
	h.session.mu.Lock()
	_, done := h.session.delivered.Get(e.ID)
	h.session.mu.Unlock()
	if done || e.From == h.caller.ID || e.From.IsReserved() {
		return false, nil
	}
	if e.AddressedTo(h.caller.ID) {
		return true, nil
	}
	if len(e.To) > 0 {
		return false, nil // seen by the capability observe
	}
	text := chatText(e)
	if textutil.Mentions(text, string(h.caller.ID)) {
		return true, nil
	}
	if textutil.LeadingMention(text) != "" {
		return false, nil
	}
	if len(e.Correlation.IDs) == 0 {
		return e.Context == "", nil
	}
	for i, id := range e.Correlation.IDs {
		if i == maxLookups {
			break
		}
		text, err := h.client.Envelope(ctx, h.space, id)
		if refused(err, protocol.CodeNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		if of, err := protocol.DecodeDelivered(text); err == nil && of.From == h.caller.ID {
			return true, nil
		}
	}
	return false, nil
}

func chatText(e *protocol.Envelope) string { return e.ParsePayload().Get("message").Text() }

// awaitChats waits for a chat. Without one in time there is none.
func (h *hook) awaitChats() []*protocol.Envelope {
	select {
	case h.server.held <- struct{}{}:
		defer func() { <-h.server.held }()
	default:
		return nil
	}
	h.release()
	ctx, cancel := context.WithTimeout(h.ctx, h.wait)
	defer cancel()
	for {
		h.session.mu.Lock()
		q := api.EnvelopeQuery{Since: h.session.since, Log: h.session.log, Kinds: []string{string(protocol.KindChat)}}
		h.session.mu.Unlock()
		if err := h.client.Await(ctx, h.space, q); err != nil {
			return nil
		}
		if chats, err := h.newChats(ctx); err != nil || len(chats) > 0 {
			return chats
		}
	}
}

// deliver makes the agent go on with chats, in a new turn that answers them.
func (h *hook) deliver(ctx context.Context, chats []*protocol.Envelope) (answer, error) {
	var text strings.Builder
	t := &turn{prompt: h.prompt, to: audience(chats[0]), whole: true}
	var asked []protocol.ID
	for _, e := range chats {
		line := chatLine(e)
		if text.Len()+len(line) > maxChatText && len(asked) > 0 {
			break
		}
		mine, err := h.claim(ctx, e)
		if err != nil {
			return answer{}, err
		}
		if !mine {
			h.session.markDelivered(e.ID)
			continue
		}
		text.WriteString(line)
		asked = append(asked, e.ID)
		if len(e.Correlation.IDs) == 0 { // an answer needs none
			t.replyTo = append(t.replyTo, e.ID)
		}
	}
	if len(asked) == 0 {
		return answer{}, nil
	}
	reason := h.chatPrompt(text.String(), len(t.replyTo) > 0)
	t.chats = promptSum(reason)
	subjects := []string{"chats"}
	for _, id := range asked {
		subjects = append(subjects, string(id))
	}
	subject := "Messages from " + string(chats[0].From)
	err := h.open(ctx, t, h.id(subjects...), protocol.Correlation{IDs: asked, Array: len(asked) > 1}, subject)
	if err != nil {
		return answer{}, err // the next answer delivers the chats
	}
	h.session.markDelivered(asked...)
	return answer{Decision: "block", Reason: reason}, nil
}

// chatLine returns a chat as the agent gets it.
func chatLine(e *protocol.Envelope) string { return quoted(e.From, short(chatText(e), maxChat)) }

// chatPrompt returns the text that makes the agent go on with chats.
func (h *hook) chatPrompt(lines string, answers bool) string {
	next := "They are no approval of a tool call."
	if answers {
		next += " Your final message is sent to them as the answer."
	}
	return fmt.Sprintf("Messages in the space %s for %s. %s %s\n\n%s", h.space, h.caller.ID, notice, next, lines)
}

// promptSum identifies the text of a prompt.
func promptSum(text string) string { return sumOf("", []byte(strings.TrimSpace(text))) }

// claim reports whether this session answers a chat: the first one of the
// participant that acknowledges it.
func (h *hook) claim(ctx context.Context, e *protocol.Envelope) (bool, error) {
	id, session := h.sharedID("seen", string(e.ID)), string(h.id("session"))
	_, err := h.publish(ctx, protocol.Envelope{
		ID: id, Kind: protocol.KindChatAcknowledge, To: audience(e), Context: e.Context, Correlation: protocol.CorrelateTo(e.ID),
		Payload: object("reason", "delivered to the agent", "session", session),
	})
	if refused(err, protocol.CodeCapabilityViolation) || refused(err, protocol.CodeDuplicateID) { // another participant used the id
		return true, nil
	}
	if err != nil {
		return false, err
	}
	text, err := h.client.Envelope(ctx, h.space, id)
	if err != nil {
		return false, err
	}
	ack, err := protocol.DecodeDelivered(text)
	return err == nil && ack.ParsePayload().Get("session").EqualText(session), err
}
