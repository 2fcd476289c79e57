package space

import (
	"context"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// countDay counts the entries of today up to a Seq, if the configuration limits anything.
// Delivery adds the later ones.
func (s *Space) countDay(ctx context.Context, cfg *authority.Config, upTo protocol.Seq) error {
	if !cfg.Counts() {
		return nil
	}
	u := authority.NewUsage()
	err := s.readDay(ctx, u, upTo)
	if err == nil {
		s.usage.Store(u)
	}
	return err
}

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
	u := s.usage.Load()
	if u == nil {
		return ""
	}
	return s.state.Load().AskedBecause(u, p, p.ParsePayload(), s.now())
}

// BudgetUse is a budget and what was used of it today.
type BudgetUse struct {
	authority.BudgetUse
	Uncounted int64  // reports that lack what the budget limits
	Asks      string // why calls have to be proposed; "": they need not be
	MayExtend bool   // the participant that asks may extend it
}

// Budgets returns the budgets that a participant may see, and the day that they are of: that
// of the space, its own, and those of all if it may read their rights or extend one; and what
// counts as a loop.
func (s *Space) Budgets(id protocol.ParticipantID) (list []BudgetUse, loops authority.Loops, day authority.Day) {
	u, st, now := s.usage.Load(), s.state.Load(), s.now()
	day = authority.DayOf(now)
	if u == nil {
		return nil, st.Config.Loops, day
	}
	all := s.SeesRights(id) || st.IsPerson(id, now)
	for _, x := range st.Budgets(u, now) {
		if x.ID != "" && x.ID != id && !all {
			continue
		}
		out := BudgetUse{BudgetUse: x, Uncounted: u.Uncounted(x.ID, x.Limit, now), MayExtend: st.MayExtend(id, x.ID, now)}
		ask := x.Ask()
		if ask != nil {
			out.Asks = ask.Text
		}
		list = append(list, out)
	}
	return list, st.Config.Loops, day
}
