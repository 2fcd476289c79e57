package space

import (
	"context"
	"errors"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of one page of history.
const (
	DefaultHistory = 100
	MaxHistory     = 1000
	// maxScan is how many entries are looked at for one page; a page that
	// ends there may hold fewer than were asked for.
	maxScan = 50_000
	// maxHistoryBytes bounds the payloads of one page.
	maxHistoryBytes = 16 << 20
)

// HistoryQuery selects a page of the log.
type HistoryQuery struct {
	Since     protocol.Seq // what came after
	Log       string       // id of the log that Since and Before belong to; "": not known
	Before    protocol.Seq // what came before; 0: no bound
	Context   protocol.ContextPath
	Filter    protocol.Filter // applied without exception
	Limit     int             // 0: DefaultHistory
	Backwards bool            // newest first
}

// Page is a part of the log. Next is where the following page begins: to be
// given as Since, or as Before when going backwards.
type Page struct {
	Entries []*Entry
	Log     string // id of the log
	Next    protocol.Seq
	HasMore bool
}

// History returns what a participant may see of the log.
func (s *Space) History(ctx context.Context, who protocol.ParticipantID, q HistoryQuery) (*Page, *protocol.Error) {
	matcher, refused := q.Filter.Compile()
	if refused != nil {
		refused.Code = protocol.CodeBadRequest
		return nil, refused
	}
	limit := min(q.Limit, MaxHistory)
	if limit <= 0 {
		limit = DefaultHistory
	}
	sight := s.SightOf(who)
	if refused := s.checkPosition(ctx, &q); refused != nil {
		return nil, refused
	}
	page := &Page{Entries: []*Entry{}, Log: s.logID, Next: q.Since}
	if q.Backwards {
		page.Next = q.Before
	}
	scanned, size := 0, 0
	jq := journal.Query{After: q.Since, Before: q.Before, Context: q.Context, Backwards: q.Backwards}
	for je, err := range s.journal().Range(ctx, s.name, jq) {
		if err != nil {
			return nil, errUnreadable()
		}
		if len(page.Entries) >= limit || scanned >= maxScan || size >= maxHistoryBytes {
			page.HasMore = true
			return page, nil
		}
		scanned++
		page.Next = je.Envelope.Seq
		e := newEntry(je)
		if e.visibleTo(sight) && matcher.Match(e.Envelope) {
			page.Entries = append(page.Entries, e)
			size += len(je.Envelope.Payload) + len(je.Envelope.Extra)
		}
	}
	return page, nil
}

// checkPosition refuses a position in another log. One beyond the head waits
// until this gateway has caught up.
func (s *Space) checkPosition(ctx context.Context, q *HistoryQuery) *protocol.Error {
	other := q.Log != "" && q.Log != s.logID
	if !other && q.Since <= s.Head() {
		return nil
	}
	oldest, _, err := s.boundsAfterBarrier(ctx)
	switch {
	case err != nil:
		return errBehind()
	case !other:
		return nil
	}
	refused := protocol.Errorf(protocol.CodeCursorExpired, "The space has another log now; read it from its oldest envelope.")
	refused.OldestSeq = max(oldest, 1)
	return refused
}

// Envelope returns an envelope of the log by its id, if the participant may see
// it. Error: not_found, unavailable.
func (s *Space) Envelope(ctx context.Context, who protocol.ParticipantID, id protocol.ID) (*Entry, *protocol.Error) {
	je, err := s.journal().Lookup(ctx, s.name, id)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return nil, protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot be read now; try again.")
	}
	if err == nil {
		if e := newEntry(je); e.visibleTo(s.SightOf(who)) {
			return e, nil
		}
	}
	return nil, protocol.Errorf(protocol.CodeNotFound, "This space has no such envelope, or it is not for you to see.")
}
