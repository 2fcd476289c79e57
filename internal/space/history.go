package space

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of one page of history.
const (
	defaultHistory = 100
	MaxHistory     = 1000
	// maxScan bounds the entries scanned for one page; a page that reaches it may
	// hold fewer entries than requested.
	maxScan = 10_000
	// scanWork is the work, in bytes, of a scanned entry that is not part of the
	// page.
	scanWork = 1 << 10
	// maxHistoryBytes bounds the payloads of one page.
	maxHistoryBytes = 16 << 20
)

// HistoryQuery selects a page of the log.
type HistoryQuery struct {
	Since     protocol.Seq // after this position
	Log       string       // id of the log that Since and Before belong to; "": unknown
	Before    protocol.Seq // before this position; 0: no bound
	From      time.Time    // admitted at this time or later; zero: no bound
	Until     time.Time    // admitted before this time; zero: no bound
	Context   protocol.ContextPath
	Filter    protocol.Filter // applied to all envelopes
	Limit     int             // 0: defaultHistory
	Backwards bool            // newest first
}

// Page is a part of the log. It is read entry by entry, so its memory does not
// exceed one read of the log. Next is the start of the following page: pass it as
// Since, or as Before when going backwards.
type Page struct {
	Log     string // id of the log
	Next    protocol.Seq
	HasMore bool

	space      *Space
	visibility ring.Visibility
	matcher    *protocol.Matcher
	limiter    authority.Limiter
	query      journal.Query
	from       time.Time
	until      time.Time
	limit      int
}

// History begins a page of the log as far as a participant may see it. The error
// is a *protocol.Error, like the ones of the page.
func (s *Space) History(ctx context.Context, who ring.Viewer, q HistoryQuery) (*Page, error) {
	matcher, err := q.Filter.Compile()
	if refused := protocol.AsError(err); refused != nil {
		refused.Code = protocol.CodeBadRequest
		return nil, refused
	}
	limiter := s.limiterOf(who.ID)
	if err := limiter.Work(s.now()); err != nil {
		return nil, err
	}
	if err := s.checkPosition(ctx, &q); err != nil {
		return nil, err
	}
	if err := s.narrow(ctx, &q); err != nil {
		return nil, err
	}
	p := &Page{
		from: q.From, until: q.Until,
		Log: s.logID, Next: q.Since, space: s, visibility: s.VisibilityOf(who), matcher: matcher, limiter: limiter, limit: min(q.Limit, MaxHistory),
		query: journal.Query{After: q.Since, Before: q.Before, Context: q.Context, Backwards: q.Backwards},
	}
	if p.limit <= 0 {
		p.limit = defaultHistory
	}
	if q.Backwards {
		p.Next = q.Before
	}
	return p, nil
}

// Entries yields the entries of the page, and at most one error, at the end.
// After the last one Next and HasMore are final. A second call reads the log
// again.
func (p *Page) Entries(ctx context.Context) iter.Seq2[*ring.Entry, error] {
	return func(yield func(*ring.Entry, error) bool) {
		found, scanned, size := 0, 0, 0
		defer func() { p.limiter.Worked(p.space.now(), scanWork*(scanned-found)) }()
		for je, err := range p.space.journal().Range(ctx, p.space.name, p.query) {
			if err != nil {
				yield(nil, errUnreadable())
				return
			}
			if found >= p.limit || scanned >= maxScan || size >= maxHistoryBytes {
				p.HasMore = true
				return
			}
			scanned++
			p.Next = je.Envelope.Seq
			e := ring.NewEntry(je)
			ts := je.Envelope.TS
			inTime := !ts.Before(p.from) && (p.until.IsZero() || ts.Before(p.until))
			if !inTime || !e.VisibleTo(p.visibility) || !p.matcher.Match(e.Envelope) {
				continue
			}
			found++
			size += len(je.Envelope.Payload) + len(je.Envelope.Extra)
			if !yield(e, nil) {
				return
			}
		}
	}
}

// narrow adds the positions of the times of a query to its bounds.
func (s *Space) narrow(ctx context.Context, q *HistoryQuery) error {
	after, before, err := journal.Between(ctx, s.journal(), s.name, q.From, q.Until)
	if err != nil {
		return errUnreadable()
	}
	q.Since = max(q.Since, after)
	if before > 0 && (q.Before == 0 || before < q.Before) {
		q.Before = before
	}
	return nil
}

// After returns the position after which the entries from a time on are; zero: all.
func (s *Space) After(ctx context.Context, from time.Time) (protocol.Seq, error) {
	q := HistoryQuery{From: from}
	err := s.narrow(ctx, &q)
	return q.Since, err
}

// Backwards reports whether the newest entry comes first.
func (p *Page) Backwards() bool { return p.query.Backwards }

// BeginWork reports whether a participant may cause work beyond one read,
// and returns the function that charges it, in bytes. The error is a
// *protocol.Error: rate_limited.
func (s *Space) BeginWork(id protocol.ParticipantID) (charge func(bytes int), err error) {
	limiter := s.limiterOf(id)
	if err := limiter.Work(s.now()); err != nil {
		return nil, err
	}
	return func(bytes int) { limiter.Worked(s.now(), bytes) }, nil
}

// checkPosition rejects a position in another log. For a position beyond the head
// it waits until this gateway has caught up.
func (s *Space) checkPosition(ctx context.Context, q *HistoryQuery) error {
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
// it. The error is a *protocol.Error: not_found, unavailable.
func (s *Space) Envelope(ctx context.Context, who ring.Viewer, id protocol.ID) (*ring.Entry, error) {
	je, err := s.journal().Lookup(ctx, s.name, id)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return nil, protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot be read now; try again.")
	}
	if err == nil {
		if e := ring.NewEntry(je); e.VisibleTo(s.VisibilityOf(who)) {
			return e, nil
		}
	}
	return nil, protocol.Errorf(protocol.CodeNotFound, "This space has no such envelope, or it is not for you to see.")
}

// Contexts returns the tree of contexts below prefix ("": the whole tree) as far
// as the participant may see it, oldest first.
func (s *Space) Contexts(who ring.Viewer, prefix protocol.ContextPath) []*ring.Context {
	return s.contexts.List(s.VisibilityOf(who), prefix, s.now(), s.IsPresent)
}
