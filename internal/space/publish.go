package space

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Sender is somebody who publishes: a connection's participant, or that of an
// HTTP request.
type Sender struct {
	ID      protocol.ParticipantID
	Dialect protocol.Dialect
	// Observe: may say nothing at all.
	Observe bool

	space        *Space
	who          *participant
	visibleAfter protocol.Seq
}

func (f *Sender) viewer() Viewer { return Viewer{f.ID, f.visibleAfter} }

// Sender returns a sender that has no connection.
func (s *Space) Sender(ctx context.Context, from Viewer) (*Sender, *protocol.Error) {
	id := from.ID
	if err := s.admitGuest(ctx, id); err != nil {
		return nil, err
	}
	if s.state.Load().isKicked(id) {
		return nil, protocol.Errorf(protocol.CodeKicked, "You were removed from this space and have to be invited again.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Sender{ID: id, space: s, who: s.participantLocked(id), visibleAfter: from.VisibleAfter}, nil
}

// Sender returns the member as a sender.
func (m *Member) Sender() *Sender {
	return &Sender{ID: m.ID, Dialect: m.CurrentDialect(), Observe: m.Observe, space: m.space, who: m.who, visibleAfter: m.VisibleAfter}
}

// Limits returns the limits that hold for the sender.
func (f *Sender) Limits() protocol.Limits { return f.space.settings(f.ID).Limits }

// LimitsOf returns the limits that hold for a participant.
func (s *Space) LimitsOf(id protocol.ParticipantID) protocol.Limits { return s.settings(id).Limits }

// Attempt is one frame that somebody sent: decoded, or refused by the decoder.
type Attempt struct {
	In  *protocol.Inbound
	Err *protocol.Error
}

// Outcome is what became of an attempt.
type Outcome struct {
	ID  protocol.ID  // as sent, or as the gateway gave it; "" if unreadable
	Seq protocol.Seq // of the admitted envelope
	Err *protocol.Error
	// Invite goes to the inviter alone.
	Invite *protocol.InviteAck
}

// Publish admits what a sender has said, in order, and returns one outcome
// each. An envelope is admitted exactly when its outcome has no error; it is
// durable and on its way to everybody then.
//
// The checks come one after the other, the cheap ones first: form (already
// done by the decoder), identity and reserved kinds, schema, limits,
// capability, safety, append.
func (s *Space) Publish(ctx context.Context, from *Sender, attempts []Attempt) []Outcome {
	p := publishBatch{space: s, from: from, now: s.now(), outcomes: make([]Outcome, len(attempts))}
	for i, a := range attempts {
		p.admit(ctx, i, a)
	}
	p.flush(ctx)
	refused := 0
	for i := range p.outcomes {
		s.count(attempts[i].In, p.outcomes[i].Err)
		if isSendersFault(p.outcomes[i].Err) {
			refused += attempts[i].In.Size
		}
	}
	if refused > 0 {
		from.ChargeRefused(refused)
	}
	return p.outcomes
}

// isSendersFault reports whether an envelope was refused for a reason that is
// not the gateway's.
func isSendersFault(err *protocol.Error) bool {
	return err != nil && err.Code != protocol.CodeUnavailable && err.Code != protocol.CodeOutcomeUnknown
}

// ChargeRefused charges bytes of refused envelopes to the sender. It returns how
// long the sender has to keep quiet; 0: it may go on.
func (f *Sender) ChargeRefused(bytes int) time.Duration {
	if limiter := f.who.limits(); limiter != nil {
		return limiter.Refused(f.space.now(), bytes)
	}
	return 0
}

// ChargeRead charges a request that reads to a participant. Error:
// rate_limited.
func (s *Space) ChargeRead(id protocol.ParticipantID) *protocol.Error {
	s.mu.Lock()
	limiter := s.participantLocked(id).limits()
	s.mu.Unlock()
	if limiter == nil {
		return nil
	}
	return limiter.Read(s.now())
}

// Charge counts an envelope against the sender's rate that goes no further
// than the gateway, and compares who the sender says it is.
func (s *Space) Charge(from *Sender, in *protocol.Inbound) *protocol.Error {
	var err *protocol.Error
	if limiter := from.who.limits(); limiter != nil {
		err = limiter.Envelope(s.now())
	}
	if err == nil {
		err = checkFrom(from, in)
	}
	if err != nil {
		s.observer().Refused(err.Code)
	}
	return err
}

func (s *Space) count(in *protocol.Inbound, err *protocol.Error) {
	if err != nil {
		s.observer().Refused(err.Code)
		return
	}
	s.observer().Admitted(in.Envelope.Kind)
}

// publishBatch is one call of Publish.
type publishBatch struct {
	space    *Space
	from     *Sender
	now      time.Time
	outcomes []Outcome
	waiting  []*pendingEnvelope // passed the checks, not appended yet
	caughtUp bool               // the journal's Barrier was passed since the publication began
}

// pendingEnvelope is an envelope that has passed the checks that depend on itself
// alone.
type pendingEnvelope struct {
	index        int
	in           *protocol.Inbound
	draft        journal.Draft
	reservation  Reservation
	invite       *protocol.InviteAck
	proposals    []*parent // that the envelope decides on, if it is of a kind that does
	stateChecked bool      // was held against the space's state
	retry        bool      // was admitted before; its outcome is complete
	spelling     spelling  // for clients of other dialects
	use          int       // of the sender's id: the candidate is the use-th envelope with it
	tokenHash    []byte    // of an invitation
}

// admit checks one attempt and puts it among those that wait to be appended.
// What changes who may do what goes out at once, so that whatever stands
// behind it is held against the new state.
func (p *publishBatch) admit(ctx context.Context, i int, a Attempt) {
	c := &pendingEnvelope{index: i, in: a.In}
	p.outcomes[i].ID = a.In.Envelope.ID
	answered := p.from.answersStream(a.In.Envelope.Kind) != ""
	if answered || a.In.Envelope.Kind.IsLive() {
		p.flush(ctx) // what was sent before it decides whether it is allowed
	}
	if err := p.check(ctx, c, a.Err); err != nil {
		if p.admittedBefore(ctx, c, err) {
			return
		}
		p.refuse(c, err)
		return
	}
	if c.retry {
		return
	}
	if c.in.Envelope.Kind.IsLive() {
		p.admitLive(ctx, c)
		return
	}
	p.followStream(c)
	p.waiting = append(p.waiting, c)
	if c.draft.State || answered {
		p.flush(ctx)
	}
}

func duplicate(id protocol.ID) *protocol.Error {
	return protocol.Errorf(protocol.CodeDuplicateID, "The id %s is somebody else's in this space; choose another one.", id)
}

// admittedBefore reports whether an envelope that is refused for the state that
// the space is in now is a retry of one that was admitted in another: when its
// sender still had the right to it, say, or by itself, as a revocation of what
// it has revoked.
func (p *publishBatch) admittedBefore(ctx context.Context, c *pendingEnvelope, err *protocol.Error) bool {
	if !c.stateChecked || err.Code == protocol.CodeUnavailable || c.in.Envelope.ID == "" || p.from.Observe || c.use > 0 {
		return false
	}
	e, lookupErr := p.space.journal().Lookup(ctx, p.space.name, c.in.Envelope.ID)
	if lookupErr != nil || e.Envelope.From != p.from.ID {
		return false
	}
	p.answerRetry(c, e.Envelope.Seq)
	return true
}

// check runs the checks of the house, from top to bottom.
func (p *publishBatch) check(ctx context.Context, c *pendingEnvelope, decoded *protocol.Error) *protocol.Error {
	s, e := p.space, &c.in.Envelope
	if s.hub.draining.Load() {
		return protocol.Errorf(protocol.CodeUnavailable, "The gateway is going down; send it again once you are connected again.")
	}
	if s.retired.Load() {
		return errRetired()
	}
	limiter := p.from.who.limits()
	if limiter != nil {
		if err := limiter.Envelope(p.now); err != nil {
			return err
		}
	}
	if decoded != nil {
		return decoded
	}
	if err := checkFrom(p.from, c.in); err != nil {
		return err
	}
	if p.from.Observe {
		return p.violation(s.state.Load(), e.Kind)
	}
	if err := p.current(ctx, func() *protocol.Error { return s.checkNames(p.from, c.in) }); err != nil {
		return err
	}
	if err := s.hub.services.Validate(e.Kind, c.in.Payload); err != nil {
		return err
	}
	if limiter != nil {
		r, err := limiter.Reserve(p.now, e.Kind, c.in.Size)
		if err != nil {
			return err
		}
		c.reservation = r
	}
	if err := p.complete(ctx, c); err != nil || c.retry {
		return err
	}
	c.stateChecked = true
	if err := p.current(ctx, func() *protocol.Error { return p.authorize(ctx, c) }); err != nil {
		return err
	}
	return p.redact(ctx, c)
}

// answerRetry completes the outcome of an envelope that was admitted before. Its
// bytes stay charged, since answering it takes work too; the buckets of its kind
// do not.
func (p *publishBatch) answerRetry(c *pendingEnvelope, seq protocol.Seq) {
	c.retry = true
	p.outcomes[c.index].Seq = seq
	if c.reservation != nil {
		c.reservation.CancelKinds(p.now)
	}
}

// checkFrom compares who the sender says it is with who it is.
func checkFrom(from *Sender, in *protocol.Inbound) *protocol.Error {
	if in.ClaimedFrom == "" || in.ClaimedFrom == from.ID {
		return nil
	}
	return protocol.Errorf(protocol.CodeIdentityMismatch, "You are %s here and cannot speak as %s; leave the field from out.", from.ID, in.ClaimedFrom)
}

// checkNames keeps the gateway's kinds to the gateway, and refuses addressees
// that nobody knows.
func (s *Space) checkNames(from *Sender, in *protocol.Inbound) *protocol.Error {
	e := &in.Envelope
	if e.Kind.IsReserved() {
		return protocol.Errorf(protocol.CodeReservedKind, "Only the gateway sends %s.", from.Dialect.SpellKind(e.Kind))
	}
	for _, id := range e.To {
		if !s.IsKnown(id) {
			return protocol.Errorf(protocol.CodeUnknownParticipant, "This space knows no participant %q; nothing was delivered.", id)
		}
	}
	return nil
}

// complete turns the inbound envelope into a draft: what the gateway adds.
func (p *publishBatch) complete(ctx context.Context, c *pendingEnvelope) *protocol.Error {
	e := c.in.Envelope
	e.From, e.TS = p.from.ID, p.now
	if e.ID == "" {
		e.ID = p.space.hub.newID()
		p.outcomes[c.index].ID = e.ID
	}
	c.draft = journal.Draft{Envelope: e, State: e.Kind.ChangesState()}
	parents, err := p.references(ctx, c)
	if err != nil {
		return protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot be read now; send it again.")
	}
	if c.retry {
		return nil
	}
	if e.Kind == protocol.KindStreamData {
		p.addressData(c)
	}
	c.draft.Audience = threadOf(parents)
	if recordsOwnCall(&e, parents) {
		c.draft.Audience = append(c.draft.Audience, allParticipants)
	}
	if decides(e.Kind) {
		c.proposals = proposalsAmong(parents)
	}
	if len(c.proposals) == 1 {
		c.draft.Settles = c.proposals[0].envelope.ID
	}
	return nil
}

// minLookup is the size from which on the id of an envelope is looked up before
// it is inspected; to inspect a smaller one takes no longer than the lookup.
const minLookup = 1 << 10

// redact puts right what is about to become durable, at the expense of the
// sender. The log names the rules for which text was taken out, and no text.
func (p *publishBatch) redact(ctx context.Context, c *pendingEnvelope) *protocol.Error {
	e := &c.draft.Envelope
	safety := p.space.hub.services.Safety
	if safety == nil || !safety.Applies(e.Kind) || e.Kind == protocol.KindStreamData { // that is inspected as a stream
		return nil
	}
	if c.in.Envelope.ID != "" && c.in.Size >= minLookup && !e.Kind.IsLive() {
		switch before, err := p.space.find(ctx, e.ID); {
		case err != nil: // not found, or for the append to find out
		case before.envelope.From != p.from.ID:
			return duplicate(e.ID)
		default:
			p.answerRetry(c, before.envelope.Seq)
			return nil
		}
	}
	limiter := p.from.who.limits()
	if limiter != nil {
		if err := limiter.Work(p.now); err != nil {
			return err
		}
	}
	extra, err := extraOf(e)
	if err != nil {
		return err
	}
	r, err := safety.Envelope(ctx, e.Kind, c.in.Payload, extra)
	if limiter != nil {
		limiter.Worked(p.now, r.Work)
	}
	if err != nil {
		return err
	}
	if r.Payload != nil {
		e.Payload = r.Payload
	}
	if r.Extra != nil {
		e.Extra = r.Extra
	}
	if len(r.Blocked)+len(r.Warned) > 0 {
		p.space.log.Warn("the safety rules object to an envelope that was admitted", "participant", e.From, "envelope", e.ID,
			"kind", e.Kind, "taken_out", r.Blocked, "noted", r.Warned)
	}
	return nil
}

// extraOf returns the fields of an envelope that the protocol does not know, as
// an object; absent if there are none.
func extraOf(e *protocol.Envelope) (protocol.Value, *protocol.Error) {
	if len(e.Extra) == 0 {
		return protocol.Value{}, nil
	}
	doc, err := protocol.ParseJSON(slices.Concat([]byte{'{'}, e.Extra, []byte{'}'}), protocol.MaxDepth)
	if err != nil { // they were parsed before
		return protocol.Value{}, protocol.Errorf(protocol.CodeInvalidJSON, "The fields beside the payload are no JSON.")
	}
	return doc.Root(), nil
}

// refuse ends a candidate: only the envelope bucket stays charged.
func (p *publishBatch) refuse(c *pendingEnvelope, err *protocol.Error) {
	p.outcomes[c.index].ID, p.outcomes[c.index].Err = c.in.Envelope.ID, err
	if c.reservation != nil {
		c.reservation.Cancel(p.now)
	}
}

// flush appends what waits. Whatever the journal finds to have been checked
// against an outdated state is checked again.
func (p *publishBatch) flush(ctx context.Context) {
	for len(p.waiting) > 0 {
		batch := p.waiting
		p.waiting = nil
		drafts := make([]journal.Draft, len(batch))
		for i, c := range batch {
			drafts[i] = c.draft
		}
		results := p.space.journal().Append(ctx, p.space.name, drafts)
		for i, r := range results {
			p.handleResult(ctx, batch[i], r)
		}
	}
}

func (p *publishBatch) handleResult(ctx context.Context, c *pendingEnvelope, r journal.Result) {
	if c.use > 0 && (r.Retry || errors.Is(r.Err, journal.ErrDuplicateID)) {
		switch again, err := p.reassignID(ctx, c); {
		case err != nil:
			p.refuse(c, protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot be read now; send it again."))
			return
		case again:
			return
		}
	}
	if r.Err == nil && r.Retry {
		p.answerRetry(c, r.Seq)
		return
	}
	if r.Err == nil {
		p.outcomes[c.index].Seq, p.outcomes[c.index].Invite = r.Seq, c.invite
		if err := p.answerStream(ctx, c); err != nil {
			p.refuse(c, err)
		}
		return
	}
	var settled *journal.SettledError
	switch {
	case errors.Is(r.Err, journal.ErrStale) && !p.space.retired.Load():
		if err := p.authorize(ctx, c); err != nil {
			p.refuse(c, err)
			return
		}
		p.waiting = append(p.waiting, c)
	case errors.Is(r.Err, journal.ErrDuplicateID):
		p.refuse(c, duplicate(c.draft.Envelope.ID))
	case errors.Is(r.Err, journal.ErrOutcomeUnknown):
		p.outcomeUnknown(c, r.Err)
	case errors.As(r.Err, &settled):
		err := protocol.Errorf(protocol.CodeProposalSettled, "%s has decided on this proposal before.", settled.By)
		err.By, err.Seq = settled.By, settled.Seq
		p.refuse(c, err)
	case errors.Is(r.Err, journal.ErrTooLarge):
		p.refuse(c, protocol.Errorf(protocol.CodeMessageTooLarge, "The log behind this gateway cannot hold an envelope of this size."))
	default:
		p.space.log.Warn("append envelope", "envelope", c.draft.Envelope.ID, "error", r.Err)
		p.refuse(c, protocol.Errorf(protocol.CodeUnavailable, "The log cannot take the envelope now; it was not admitted, send it again under the same id."))
	}
}

// outcomeUnknown answers for a candidate that may have been appended. The
// answer names the id to send it again with, which the gateway made if the
// sender gave none. What was charged stays so.
func (p *publishBatch) outcomeUnknown(c *pendingEnvelope, cause error) {
	id := c.draft.Envelope.ID
	p.space.log.Warn("append envelope", "envelope", id, "error", cause)
	if c.spelling.ID != "" {
		id = c.spelling.ID
	}
	err := protocol.Errorf(protocol.CodeOutcomeUnknown, "The log failed while it took the envelope, which may have been admitted; send it again with the id %s.", id)
	err.ID, err.RetryAfterMS = id, 1000
	p.outcomes[c.index].ID, p.outcomes[c.index].Err = id, err
}
