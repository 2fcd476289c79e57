package space

import (
	"context"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// countFrom counts before a configuration is in force, the first that limits anything. If the
// log cannot be read, all calls that it limits have to be proposed, until a later
// configuration is in force or the space is opened again.
func (s *Space) countFrom(cfg *authority.Config) {
	if !cfg.Counts() {
		s.usage.Store(nil)
		return
	}
	before := s.usage.Load()
	if before != nil && before.IsRead() {
		return
	}
	u := authority.NewUsage()
	s.deliverMu.Lock()
	head := s.Head()
	s.usage.Store(u)
	s.deliverMu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	err := s.readDay(ctx, u, head)
	if err != nil {
		s.log.Error("read what was used today; calls have to be proposed", "error", err)
	}
}

// count adds a delivered entry.
func (s *Space) count(e *journal.Entry) {
	u := s.usage.Load()
	if u != nil {
		now := s.now()
		u.Add(e, now)
		u.Follow(e, s.state.Load(), now)
	}
}

// countTimeout bounds the reading of a day when the configuration changes.
const countTimeout = 30 * time.Second

// pastEntries is how many entries of earlier days in a row end the entries of today: a clock
// that was set has given some among them an earlier time.
const pastEntries = 1000

// readDay adds the entries of today, the newest first.
func (s *Space) readDay(ctx context.Context, u *authority.Usage, upTo protocol.Seq) error {
	now := s.now()
	start := authority.DayOf(now).Start()
	past := 0
	for e, err := range s.journal().Range(ctx, s.name, journal.Query{Backwards: true, Before: upTo + 1}) {
		if err != nil {
			return err
		}
		if e.Envelope.TS.Before(start) {
			past++
			if past == pastEntries {
				break
			}
			continue
		}
		past = 0
		u.Add(e, now)
	}
	u.SetRead()
	return nil
}

// AskedBecause returns why a proposed call has to be asked for although the capabilities of
// the proposer allow it, for people: "coder has used 5.00 of 5.00 USD today". "": they do not,
// or not any more.
func (s *Space) AskedBecause(p *protocol.Envelope) string {
	return s.state.Load().AskedBecause(s.usage.Load(), p, p.ParsePayload(), s.now())
}

// Budgets returns the budgets that a participant may see: that of the space, its own, and those of
// all if it may read their rights or extend one; and what counts as a loop.
func (s *Space) Budgets(id protocol.ParticipantID) api.Budgets {
	u, st, now := s.usage.Load(), s.state.Load(), s.now()
	day := authority.DayOf(now)
	out := api.Budgets{
		Day: day.Start().Format(time.DateOnly), Until: (day + 1).Start(), Budgets: []api.Budget{}, Loops: api.Loops(st.Config.Loops),
	}
	if u == nil {
		return out
	}
	all := s.SeesRights(id) || st.IsPerson(id, now)
	for _, x := range st.Budgets(u, now) {
		if x.ID != "" && x.ID != id && !all {
			continue
		}
		b := budgetOf(&x)
		b.Uncounted, b.MayExtend = u.Uncounted(x.ID, x.Limit, now), st.MayExtend(id, x.ID, now)
		out.Budgets = append(out.Budgets, b)
	}
	return out
}

func budgetOf(x *authority.BudgetUse) api.Budget {
	b := api.Budget{ID: x.ID}
	quantity := func(used, configured, limit float64) *api.Quantity {
		if configured == 0 {
			return nil
		}
		return &api.Quantity{Used: used, Limit: limit, Extended: limit - configured}
	}
	b.Tokens = quantity(float64(x.Used.Tokens), float64(x.Budget.Tokens), float64(x.Limit.Tokens))
	b.Calls = quantity(float64(x.Used.Calls), float64(x.Budget.Calls), float64(x.Limit.Calls))
	b.Cost = quantity(x.Used.Cost.Amount(), x.Budget.Cost.Amount(), x.Limit.Cost.Amount())
	if b.Cost != nil {
		b.Cost.Extended = (x.Limit.Cost - x.Budget.Cost).Amount() // of whole billionths
		b.Currency = x.Limit.Currency
	}
	ask := x.Ask()
	if ask != nil {
		b.Asks = ask.Text
	}
	return b
}
