package authority

import (
	"bytes"
	"hash/maphash"
	"math"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Usage counts what the participants of a space report of their work, and their calls, by
// day. It is a fold over the entries of the log, with a result that within its bounds does not
// depend on their order, so that it is the same at all gateways: those that deliver them and
// those that read the day backwards. Its methods may be called concurrently.
//
// A participant may report the same work twice: with the ends of its contexts, and with
// measurements of its program (participant.status). Of both sums the larger one counts, for
// tokens and for each currency.
type Usage struct {
	mu     sync.Mutex
	days   map[Day]*dayUsage
	unread bool // the entries of the day were not read

	trail *trail
}

// Bounds of Usage.
const (
	maxDays       = 8   // those farthest from now are dropped: a clock that was wrong makes some
	maxCounted    = 1e5 // participants of a day; further ones are counted together
	maxCurrencies = 4   // of a participant; costs in further ones are not counted
	others        = "*" // no id: participants beyond maxCounted
	everyone      = ""  // all participants together
	metadataField = `"metadata"`
)

type dayUsage struct {
	of map[protocol.ParticipantID]*counted
	// Of all participants: what counts of each.
	tokens, calls int64
	costs         map[string]Money // by currency
}

// counted is what a participant has reported on a day.
type counted struct {
	work, measured source
	calls          int64
}

// source sums the reports of one kind.
type source struct {
	reports, uncounted int64 // uncounted: answers of models, by the reports
	tokens, counted    int64 // counted: reports with tokens that can be read
	costs              []cost
}

type cost struct {
	currency string
	sum      Money
	counted  int64 // reports with a cost in the currency that can be read
}

// Used is what a participant or a space has used on a day.
type Used struct {
	Tokens, Calls int64
	Cost          Money // in the currency that was asked for
}

// NewUsage returns a Usage without entries. It is unread until SetRead is called.
func NewUsage() *Usage {
	return &Usage{days: make(map[Day]*dayUsage), unread: true, trail: &trail{
		seed: maphash.MakeSeed(), calls: make(map[callsKey]*calls), asked: make(map[protocol.ID]*repeated), hops: make(map[protocol.ID]passed),
	}}
}

// SetRead notes that all entries of the day were added.
func (u *Usage) SetRead() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.unread = false
}

// IsRead reports whether all entries of the day were added.
func (u *Usage) IsRead() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return !u.unread
}

// sum adds numbers that are not negative; it stays at the largest one.
func sum[T ~int64](a, b T) T {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Add counts an entry of the log, once; now is the time at the gateway. A nil Usage counts nothing.
func (u *Usage) Add(e *journal.Entry, now time.Time) {
	if u == nil || e.Hidden {
		return
	}
	switch e.Envelope.Kind {
	case protocol.KindMCPRequest:
		if e.Settles == "" && IsToolCall(e.Payload()) { // an approved call was asked for
			u.mu.Lock()
			defer u.mu.Unlock()
			day := u.day(DayOf(e.Envelope.TS), now)
			p := day.participant(e.Envelope.From)
			p.calls, day.calls = sum(p.calls, 1), sum(day.calls, 1)
		}
	case protocol.KindReasoningConclusion, protocol.KindReasoningCancel, protocol.KindParticipantStatus:
		if !bytes.Contains(e.Envelope.Payload, []byte(metadataField)) {
			return
		}
		r := exchange.ReadUsage(e.Payload().Get("metadata"))
		if r == (exchange.Usage{}) {
			return
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		day := u.day(DayOf(e.Envelope.TS), now)
		day.report(day.participant(e.Envelope.From), &r, e.Envelope.Kind == protocol.KindParticipantStatus)
	}
}

// Follow follows an entry of the log to find loops, in the order of the log. A nil Usage follows
// nothing.
func (u *Usage) Follow(e *journal.Entry, st *State, now time.Time) {
	if u != nil && !e.Hidden && st.Config.Loops != (Loops{}) {
		u.trail.add(e, st, now)
	}
}

// IsToolCall reports whether the payload of a request is a call of a tool.
func IsToolCall(payload protocol.Value) bool { return payload.Get("method").EqualText("tools/call") }

// day returns the counts of a day.
func (u *Usage) day(d Day, now time.Time) *dayUsage {
	day := u.days[d]
	if day != nil {
		return day
	}
	day = &dayUsage{of: make(map[protocol.ParticipantID]*counted), costs: make(map[string]Money)}
	u.days[d] = day
	if len(u.days) > maxDays {
		today, farthest := DayOf(now), d
		for other := range u.days {
			if distance(other, today) > distance(farthest, today) {
				farthest = other
			}
		}
		delete(u.days, farthest)
	}
	return day
}

func distance(a, b Day) Day { return max(a-b, b-a) }

func (d *dayUsage) participant(id protocol.ParticipantID) *counted {
	p := d.find(id)
	if p == nil {
		if len(d.of) >= maxCounted {
			id = others
		}
		p = new(counted)
		d.of[id] = p
	}
	return p
}

// find returns the counts of a participant; nil: none.
func (d *dayUsage) find(id protocol.ParticipantID) *counted {
	p := d.of[id]
	if p == nil && len(d.of) >= maxCounted {
		return d.of[others]
	}
	return p
}

// report adds a report of a participant, and what it changes to the total.
func (d *dayUsage) report(p *counted, r *exchange.Usage, measured bool) {
	tokens, money := p.tokens(), p.cost(r.Currency)
	s := &p.work
	if measured {
		s = &p.measured
	}
	whole := int64(1) // of reports that can be read
	if r.Unreadable || r.Cost > maxCost {
		whole = 0
	}
	s.reports++
	s.uncounted = sum(s.uncounted, r.Uncounted)
	if r.Tokens > 0 {
		s.tokens, s.counted = sum(s.tokens, r.Tokens), s.counted+whole
		d.tokens = sum(d.tokens, p.tokens()-tokens)
	}
	if r.Cost > 0 && r.Cost <= maxCost {
		s.pay(r.Currency, MoneyOf(r.Cost), whole)
		d.costs[r.Currency] = sum(d.costs[r.Currency], p.cost(r.Currency)-money)
	}
}

// pay adds a cost, unless there are too many currencies.
func (s *source) pay(currency string, m Money, counted int64) {
	for i := range s.costs {
		if s.costs[i].currency == currency {
			s.costs[i].sum = sum(s.costs[i].sum, m)
			s.costs[i].counted += counted
			return
		}
	}
	if len(s.costs) < maxCurrencies {
		s.costs = append(s.costs, cost{currency, m, counted})
	}
}

func (s *source) cost(currency string) cost {
	for _, c := range s.costs {
		if c.currency == currency {
			return c
		}
	}
	return cost{}
}

func (p *counted) tokens() int64 { return max(p.work.tokens, p.measured.tokens) }
func (p *counted) cost(currency string) Money {
	return max(p.work.cost(currency).sum, p.measured.cost(currency).sum)
}

// uncounted returns how many reports lack what a budget limits, in the source that counts.
func (p *counted) uncounted(limit Budget) int64 {
	source := func(work, measured int64) *source {
		if measured > work || measured == work && p.measured.reports > p.work.reports {
			return &p.measured
		}
		return &p.work
	}
	tokens := source(p.work.tokens, p.measured.tokens)
	money := source(int64(p.work.cost(limit.Currency).sum), int64(p.measured.cost(limit.Currency).sum))
	var n int64
	if limit.Tokens > 0 {
		n = sum(tokens.uncounted, tokens.reports-tokens.counted)
	}
	if limit.Cost > 0 {
		n = max(n, sum(money.uncounted, money.reports-money.cost(limit.Currency).counted))
	}
	return n
}

// Used returns what a participant ("": the space) has used on the day of now. known: the
// entries of the day were read.
func (u *Usage) Used(id protocol.ParticipantID, currency string, now time.Time) (used Used, known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	day := u.days[DayOf(now)]
	switch {
	case day == nil:
	case id == everyone:
		used = Used{Tokens: day.tokens, Calls: day.calls, Cost: day.costs[currency]}
	default:
		p := day.find(id)
		if p != nil {
			used = Used{Tokens: p.tokens(), Calls: p.calls, Cost: p.cost(currency)}
		}
	}
	return used, !u.unread
}

// participants returns the participants that are configured or have used something on the day
// of now, and "" for the space.
func (u *Usage) participants(st *State, now time.Time) map[protocol.ParticipantID]struct{} {
	out := map[protocol.ParticipantID]struct{}{everyone: {}}
	for id := range st.Config.Participants {
		out[id] = struct{}{}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	day := u.days[DayOf(now)]
	if day != nil {
		for id := range day.of {
			out[id] = struct{}{}
		}
	}
	return out
}

// Uncounted returns how many reports of a participant ("": of all) on the day of now could not
// be read, or lack what a budget limits. With any, what is used is a lower bound.
func (u *Usage) Uncounted(id protocol.ParticipantID, limit Budget, now time.Time) (n int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	day := u.days[DayOf(now)]
	if day == nil {
		return 0
	}
	for other, p := range day.of {
		if id == everyone || id == other {
			n = sum(n, p.uncounted(limit))
		}
	}
	return n
}
