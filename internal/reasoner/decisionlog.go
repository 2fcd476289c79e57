package reasoner

import (
	"sync"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// Defaults of DecisionLogOptions.
const (
	DefaultLogEntries = 10_000
	DefaultLogBytes   = 16 << 20
	DefaultLogAge     = 24 * time.Hour
)

// Bounds of a query.
const (
	defaultLimit = 100
	MaxLogLimit  = 1000
)

// DecisionLogOptions configures a DecisionLog.
type DecisionLogOptions struct {
	Entries int           // kept records
	Bytes   int64         // of kept records, estimated; also of a file
	Age     time.Duration // of kept records
	// Mask masks secrets in a text; nil: none. Records are masked when they
	// leave the log.
	Mask func(string) string
	Now  func() time.Time // nil: time.Now
}

// DecisionLog keeps the latest decisions of a service for queries: in memory, bounded by
// entries, bytes and age. It can copy records to a file, which restores them after a
// restart, and to standard output. It is safe for concurrent use.
type DecisionLog struct {
	o DecisionLogOptions

	mu      sync.Mutex
	records []wire.LogRecord // oldest first, by Seq
	bytes   int64
	seq     int64
	mirrors []*mirror
}

// NewDecisionLog returns an empty DecisionLog.
func NewDecisionLog(o DecisionLogOptions) *DecisionLog {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Mask == nil {
		o.Mask = func(text string) string { return text }
	}
	return &DecisionLog{o: o}
}

// Add stores a record and assigns its Seq and Time. It does not block.
func (s *DecisionLog) Add(r *wire.LogRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	kept := *r
	kept.Seq, kept.Time = s.seq, s.o.Now().UTC()
	s.keep(kept)
	for _, m := range s.mirrors {
		m.add(kept)
	}
}

// keep appends a record and drops those beyond the bounds.
func (s *DecisionLog) keep(r wire.LogRecord) {
	s.records = append(s.records, r)
	s.bytes += size(&r)
	s.expire()
}

// expire drops the oldest records until the bounds hold.
func (s *DecisionLog) expire() {
	n := 0
	for oldest := s.o.Now().Add(-s.o.Age); n < len(s.records); n++ {
		r := &s.records[n]
		if len(s.records)-n <= s.o.Entries && s.bytes <= s.o.Bytes && !r.Time.Before(oldest) {
			break
		}
		s.bytes -= size(r)
		*r = wire.LogRecord{} // frees its texts before the array is replaced
	}
	s.records = s.records[n:]
}

// size estimates the memory of a record.
func size(r *wire.LogRecord) int64 {
	const fixed = 400
	return int64(fixed + len(r.SessionID) + len(r.IntentID) + len(r.CorrelationID) + len(r.Model) + len(r.ToolName) +
		len(r.NextNode) + len(r.Reasoning) + len(r.Fallback) + len(r.Message))
}

// DecisionQuery selects records. Empty fields match all.
type DecisionQuery struct {
	SessionID, IntentID, CorrelationID string
	Since, Until                       time.Time // Since <= Time < Until
	Limit                              int       // 0: defaultLimit
	Before                             int64     // cursor: only records with a smaller Seq; 0: all
}

func (q *DecisionQuery) matches(r *wire.LogRecord) bool {
	return (q.SessionID == "" || q.SessionID == r.SessionID) && (q.IntentID == "" || q.IntentID == r.IntentID) &&
		(q.CorrelationID == "" || q.CorrelationID == r.CorrelationID) &&
		(q.Since.IsZero() || !r.Time.Before(q.Since)) && (q.Until.IsZero() || r.Time.Before(q.Until)) &&
		(q.Before == 0 || r.Seq < q.Before)
}

// Find returns the matching records, the newest first, and the cursor for the
// next ones; 0: there are none.
func (s *DecisionLog) Find(q DecisionQuery) (records []wire.LogRecord, next int64) {
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	records = []wire.LogRecord{}
	s.each(q, func(r *wire.LogRecord) bool {
		if len(records) == limit {
			next = records[limit-1].Seq
			return false
		}
		records = append(records, *r)
		return true
	})
	for i := range records {
		s.mask(&records[i])
	}
	return records, next
}

// each calls f for the matching records, the newest first, until it returns
// false.
func (s *DecisionLog) each(q DecisionQuery, f func(*wire.LogRecord) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	for i := len(s.records) - 1; i >= 0; i-- {
		if q.matches(&s.records[i]) && !f(&s.records[i]) {
			return
		}
	}
}

// decisionTexts returns the fields of a record that callers and models write, to be
// bounded and masked.
func decisionTexts(r *wire.LogRecord) []*string {
	return []*string{
		&r.SessionID, &r.CorrelationID, &r.Provider, &r.Model, &r.ToolName, &r.NextNode, &r.Reasoning, &r.Fallback, &r.Message,
	}
}

// mask masks the texts of a record that come from callers and models.
func (s *DecisionLog) mask(r *wire.LogRecord) {
	for _, text := range decisionTexts(r) {
		*text = s.o.Mask(*text)
	}
}

// State returns the state of the log.
func (s *DecisionLog) State() wire.LogState {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	state := wire.LogState{Entries: len(s.records), Bytes: s.bytes}
	for _, m := range s.mirrors {
		state.Dropped += m.dropped.Load()
	}
	return state
}
