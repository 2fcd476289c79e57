package space

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// Join adds a connection, which receives visible entries from then on. The
// member's first frame is the welcome. Leave must be called in the end. The error
// is a *protocol.Error.
func (s *Space) Join(ctx context.Context, o JoinOptions) (*Member, error) {
	matcher, err := o.Filter.Compile()
	if err != nil {
		return nil, err
	}
	if err := s.limiterOf(o.ID).Join(s.now()); err != nil { // rejected connections too
		return nil, err
	}
	if err := s.admission.AdmitGuest(ctx, o.ID); err != nil {
		return nil, err
	}
	m := &Member{JoinOptions: o, space: s, welcomeDue: true, closed: make(chan struct{})}
	m.drained.L = &m.mu
	m.currentDialect.Store(uint32(o.Dialect))
	m.matcher.Store(matcher)
	m.refreshVisibility()
	if err := s.startCursor(ctx, m); err != nil {
		return nil, err
	}
	if err := s.enter(m); err != nil {
		return nil, err
	}
	s.observer().Connections(1)
	// Changes during the join did not reach the member.
	m.refreshVisibility()
	if s.Kicked(m.ID) {
		m.Close(Closing{Code: protocol.CloseKicked, Reason: "removed from the space", Now: true})
	}
	s.recheck(m)
	return m, nil
}

// recheck closes a connection that the configuration no longer admits.
func (s *Space) recheck(m *Member) {
	if s.state.Load().Admits(m.ID) && (m.Recheck == nil || m.Recheck() == nil) {
		return
	}
	m.Close(Closing{Code: protocol.CloseTokenExpired, Reason: "the token is good no more", Now: true})
}

// startCursor positions a member that requested a replay. A position beyond this
// log belongs to another log, or to a gateway that is ahead of this one; it is
// checked again after this gateway has caught up.
func (s *Space) startCursor(ctx context.Context, m *Member) error {
	if m.Since == nil {
		return nil
	}
	m.seq, m.behind = *m.Since, true
	_, newest, err := s.journal().Bounds(ctx, s.name)
	if err != nil {
		return errUnreadable()
	}
	other := m.Log != "" && m.Log != s.logID
	if !other && m.seq <= newest {
		return nil
	}
	oldest, newest, err := s.boundsAfterBarrier(ctx)
	if err != nil {
		return errBehind()
	}
	switch {
	case other, m.Log == "" && m.seq > newest:
		oldest = max(oldest, 1)
		m.seq = oldest - 1
		m.enqueueControl(m.expired(oldest))
	case m.seq > newest:
		return errBehind()
	}
	return nil
}

// barrierTimeout bounds how long a request waits until this gateway has caught
// up with the log.
const barrierTimeout = 2 * time.Second

// boundsAfterBarrier returns the bounds of the log after everything that was
// durable at the call has been delivered here.
func (s *Space) boundsAfterBarrier(ctx context.Context) (oldest, newest protocol.Seq, err error) {
	ctx, cancel := context.WithTimeout(ctx, barrierTimeout)
	defer cancel()
	if err := s.journal().Barrier(ctx, s.name); err != nil {
		return 0, 0, err
	}
	return s.journal().Bounds(ctx, s.name)
}

func errUnreadable() *protocol.Error {
	return unavailable("The log of the space cannot be read now; try again.")
}

func errBehind() *protocol.Error {
	return unavailable("This gateway has not caught up with the log yet; try again in a moment.")
}

// unavailable returns an error that asks for a retry after a second.
func unavailable(message string) *protocol.Error {
	return &protocol.Error{Code: protocol.CodeUnavailable, Message: message, RetryAfterMS: 1000}
}

// enter registers the connection and announces the participant if this is its
// first one on any gateway.
func (s *Space) enter(m *Member) error {
	limits := s.settings(m.ID).Limits
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired.Load() {
		return admission.ErrRetired()
	}
	if s.hub.draining.Load() {
		return protocol.Errorf(protocol.CodeShuttingDown, "The gateway is going down; connect again in a moment.")
	}
	if err := s.state.Load().CheckKicked(m.ID); err != nil {
		return err
	}
	p := s.participantLocked(m.ID)
	if n := p.connections + s.remote[m.ID].Connections; limits.Connections > 0 && n >= limits.Connections {
		e := protocol.Errorf(protocol.CodeTooMany, "You have %d connections to this space already; close one first.", n)
		e.RetryAfterMS = 1000
		return e
	}
	m.who = p
	p.connections++
	head, pos, lives := s.ring.Position()
	m.joinedAt, m.live, m.lives = head, pos, lives
	if !m.behind {
		m.seq, m.pos = head, pos
	}
	s.connected.Add(m)
	s.tools.Forget(m.ID) // another process may have other tools
	if m.Tools {
		p.toolHosts++
	}
	s.rosterChangedLocked()
	if p.connections == 1 {
		s.presenceChangedLocked(m.ID)
	}
	return nil
}

// Leave removes the connection.
func (s *Space) Leave(m *Member) {
	s.mu.Lock()
	if !s.connected.Remove(m) {
		s.mu.Unlock()
		return
	}
	m.who.connections--
	m.who.lastSeen = s.now()
	s.tools.Forget(m.ID)
	if m.Tools {
		m.who.toolHosts--
	}
	_, remote := s.remote[m.ID]
	last := !remote && m.who.connections == 0
	if m.Linger && m.who.connections == 0 {
		s.presence.Linger(m.ID, s.now())
	}
	s.rosterChangedLocked()
	if m.who.connections == 0 {
		s.presenceChangedLocked(m.ID)
	}
	s.mu.Unlock()

	s.observer().Connections(-1)
	if last {
		s.admission.EndStreams(m.ID)
		s.admission.LeaveStreams(m.ID)
	}
}

// participant is the state of a participant across its connections.
type participant struct {
	id      protocol.ParticipantID
	buckets *authority.Buckets

	// Guarded by Space.mu.
	connections int
	toolHosts   int // connections that have declared to serve tools
	lastSeen    time.Time
}

// maxIdleParticipants is the number of participants from which on the state of
// idle ones is dropped.
const maxIdleParticipants = 1024

func (s *Space) participantLocked(id protocol.ParticipantID) *participant {
	if p, ok := s.participants[id]; ok {
		return p
	}
	st, now := s.state.Load(), s.now()
	if len(s.participants) >= maxIdleParticipants {
		old := now.Add(-time.Minute)
		for id, p := range s.participants {
			if p.connections == 0 && p.lastSeen.Before(old) {
				s.hub.buckets.Release(p.buckets)
				delete(s.participants, id)
			}
		}
	}
	key := authority.BucketKey{Space: st.Config.PatternName(), Participant: id}
	if _, configured := st.Config.Participants[id]; !configured && st.IsInvited(id) {
		key.Space, key.Invited = s.name, true
	}
	p := &participant{id: id, lastSeen: now, buckets: s.hub.buckets.Acquire(key, st.Settings(id).NewLimiter)}
	s.participants[id] = p
	return p
}

// Connected is a participant with a connection.
type Connected struct {
	ID          protocol.ParticipantID
	Connections int  // at the gateways that are described
	Tools       bool // it declared that it serves tools
}

// Present returns the participants that are present, here or at another gateway,
// sorted.
func (s *Space) Present() []Connected {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.presentLocked()
}

func (s *Space) presentLocked() (list []Connected) {
	for id := range s.participants {
		if _, remote := s.remote[id]; s.hereLocked(id) && !remote {
			list = append(list, s.connectedLocked(id))
		}
	}
	for id := range s.remote {
		list = append(list, s.connectedLocked(id))
	}
	slices.SortFunc(list, func(a, b Connected) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// connectedLocked describes a participant across all gateways.
func (s *Space) connectedLocked(id protocol.ParticipantID) Connected {
	c := s.remote[id]
	c.ID = id
	if p := s.participants[id]; p != nil {
		c.Connections += p.connections
		c.Tools = c.Tools || p.toolHosts > 0
	}
	return c
}

// IsPresent reports whether the participant is present on any gateway.
func (s *Space) IsPresent(id protocol.ParticipantID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isPresentLocked(id)
}
