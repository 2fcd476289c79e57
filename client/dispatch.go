package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// dispatch handles one received frame. It does not block.
func (s *session) dispatch(env *protocol.Envelope, size int64) {
	c := s.c
	switch env.Kind {
	case protocol.KindSystemAck:
		ack, err := payload[protocol.Ack](env)
		if err != nil {
			c.log.Warn("ack not understood", "err", err)
			return
		}
		c.out.answer(env.Correlation.First(), ack, nil)
		return
	case protocol.KindSystemError:
		c.handleError(env)
		return
	case protocol.KindSystemSubscribed:
		c.handleSubscribed(env.Correlation.First())
		return
	case protocol.KindSystemWelcome:
		w, err := welcomeOf(env)
		if err != nil {
			c.log.Warn("welcome not understood", "err", err)
		} else {
			c.mu.Lock()
			c.welcome = w
			c.mu.Unlock()
		}
		s.pendingWelcome = &item{env: *env, size: size}
		return
	case protocol.KindSystemPresence:
		c.handlePresence(env)
	case protocol.KindMCPResponse:
		c.handleResponse(env)
	}
	// It goes into the inbox if it is new and passes the filter. An envelope that does not fit is
	// requested again later, by reconnecting; one without a seq (presence, stream.data) is lost.
	if c.opts.Discard {
		c.cursor.pos = max(c.cursor.pos, env.Seq)
		return
	}
	if env.Seq == 0 {
		if !c.in.skipping.Load() && c.passesFilter(env) {
			c.in.put(item{env: *env, size: size})
		}
		return
	}
	if env.Seq <= c.cursor.pos || c.in.skipping.Load() {
		return
	}
	if c.passesFilter(env) && !c.in.put(item{env: *env, size: size}) {
		c.in.markSkipped()
		return
	}
	c.cursor.pos = env.Seq
}

// passesFilter applies the filter to an envelope as the gateway does (section
// 6): work and envelopes addressed to this participant always pass.
func (c *Client) passesFilter(env *protocol.Envelope) bool {
	c.mu.Lock()
	matcher, you := c.matcher, c.welcome.You.ID
	c.mu.Unlock()
	if matcher == nil || env.From == protocol.GatewayID || matcher.Match(env) {
		return true
	}
	return !c.opts.Observe && (env.Kind.IsWork() || env.AddressedTo(you))
}

// awaitsAnswer reports whether a caller is waiting for an ack or a response.
func (c *Client) awaitsAnswer() bool {
	c.mu.Lock()
	calls := len(c.calls)
	c.mu.Unlock()
	return calls > 0 || c.out.waiting()
}

func (c *Client) handleError(env *protocol.Envelope) {
	refusal, err := payload[protocol.Error](env)
	if err != nil {
		c.log.Warn("refusal not understood", "err", err)
		return
	}
	id := env.Correlation.First()
	retryable := !c.opts.NoRetry && slices.Contains([]protocol.Code{protocol.CodeRateLimited, protocol.CodeUnavailable, protocol.CodeOutcomeUnknown}, refusal.Code)
	retryAt := func(attempt int) time.Time { // as the gateway requested, or with backoff
		wait := refusal.RetryAfter()
		if wait <= 0 {
			wait = c.opts.Backoff.delay(attempt)
		}
		return time.Now().Add(wait)
	}
	switch {
	case refusal.Code == protocol.CodeCursorExpired:
		known := c.opts.Discard || c.in.skipping.Load() || c.cursor.reset // requested again soon, or already reported
		c.cursor.reset = false
		if !known && !c.in.put(item{err: &GapError{After: c.cursor.pos, Oldest: refusal.OldestSeq}}) {
			c.in.markSkipped()
		}
	case id != "" && retryable && c.out.scheduleRetry(id, retryAt, c.pace()):
		c.log.Debug("envelope refused for the moment", "id", id, "code", refusal.Code)
	case id != "" && c.dropSubscription(id) && c.out.answer(id, protocol.Ack{}, &refusal):
	case id != "" && c.out.answer(id, protocol.Ack{}, &refusal):
	case refusal.Code == protocol.CodeMessageTooLarge:
		c.out.refuseLargest(&refusal)
	default:
		c.log.Warn("the gateway reports an error", "code", refusal.Code, "message", refusal.Message)
	}
}

// pace returns the interval of envelopes at the participant's rate.
func (c *Client) pace() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if rate := c.welcome.You.Limits.Rate; rate > 0 {
		return time.Duration(float64(time.Second) / rate)
	}
	return 0
}

func (c *Client) handlePresence(env *protocol.Envelope) {
	p, err := payload[protocol.Presence](env)
	if err != nil {
		c.log.Warn("presence not understood", "err", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	present := make([]protocol.Participant, 0, len(c.welcome.Participants)+1) // a new list, because the old one may be in use
	for _, x := range c.welcome.Participants {
		if x.ID != p.Participant.ID {
			present = append(present, x)
		}
	}
	if p.Event == protocol.PresenceJoin {
		present = append(present, p.Participant)
	}
	c.welcome.Participants = present
}

// decode decodes a frame of the gateway. The envelope shares the frame's bytes.
func decode(frame []byte) (protocol.Envelope, error) {
	env, err := protocol.DecodeDelivered(frame)
	if err != nil {
		return env, fmt.Errorf("read frame of the gateway: %w", err)
	}
	return env, nil
}

// payload decodes the payload of a frame from the gateway.
func payload[T any](env *protocol.Envelope) (T, error) {
	var v T
	if err := json.Unmarshal(env.Payload, &v); err != nil {
		return v, fmt.Errorf("read payload of %s: %w", env.Kind, err)
	}
	return v, nil
}
