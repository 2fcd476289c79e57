package authority

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Budget is what a participant, or a whole space, may use in a day by UTC before its calls
// have to be proposed. A zero is no limit.
type Budget struct {
	Tokens, Calls int64
	Cost          Money
	Currency      string // of Cost
}

// IsSet reports whether the budget limits anything.
func (b *Budget) IsSet() bool { return b.Tokens > 0 || b.Calls > 0 || b.Cost > 0 }

// Money is an amount in billionths of a currency, so that sums do not depend on their order.
type Money int64

// moneyUnit is one unit of a currency.
const moneyUnit = 1e9

// maxCost bounds an amount of money.
const maxCost = 1e9

// MoneyOf returns an amount of at most maxCost as Money: of one above 0, the least there is or more.
func MoneyOf(amount float64) Money {
	if amount <= 0 {
		return 0
	}
	return max(1, Money(amount*moneyUnit+0.5))
}

// Amount returns the money in units of its currency.
func (m Money) Amount() float64 { return float64(m) / moneyUnit }

// String returns the amount with two digits, or with as many as a smaller one needs.
func (m Money) String() string {
	if cents := moneyUnit / 100; m == 0 || float64(m) >= cents {
		return strconv.FormatFloat(m.Amount(), 'f', 2, 64)
	}
	return strconv.FormatFloat(m.Amount(), 'f', -1, 64)
}

// Extension is what was added to a budget for one day.
type Extension struct {
	Day           Day
	Tokens, Calls int64
	Cost          Money
	Currency      string // of Cost
}

// Day is a day by UTC: the number of days since 1970.
type Day int64

const daySeconds = 24 * 60 * 60

// DayOf returns the day of a time.
func DayOf(t time.Time) Day {
	s := t.Unix()
	d := s / daySeconds
	if s < d*daySeconds { // before 1970
		d--
	}
	return Day(d)
}

// Start returns the first moment of the day.
func (d Day) Start() time.Time { return time.Unix(int64(d)*daySeconds, 0).UTC() }

// Counts reports whether the configuration has a budget or looks for loops, so that usage has
// to be counted.
func (c *Config) Counts() bool {
	if c.Budget.IsSet() || c.Loops != (Loops{}) || c.Guests != nil && c.Guests.Budget.IsSet() {
		return true
	}
	for _, p := range c.Participants {
		if p.Budget.IsSet() {
			return true
		}
	}
	return false
}

// maxExtension bounds the tokens and the calls of an extension.
const maxExtension = 1 << 40

// readExtension decodes a budget.extend. ok: every amount is readable.
func readExtension(payload protocol.Value) (id protocol.ParticipantID, x Extension, ok bool) {
	ok = true
	count := func(name string) int64 {
		v := payload.Get(name)
		if !v.Exists() {
			return 0
		}
		n, whole := v.Int()
		if !whole || n < 1 || n > maxExtension {
			ok = false
			return 0
		}
		return n
	}
	x.Tokens, x.Calls = count("tokens"), count("calls")
	cost := payload.Get("cost")
	if cost.Exists() {
		amount, number := cost.Float()
		ok = ok && number && amount > 0 && amount <= maxCost
		if ok {
			x.Cost, x.Currency = MoneyOf(amount), strings.Clone(payload.Get("currency").Text())
		}
	}
	return protocol.ParticipantIn(payload, "participant_id"), x, ok
}

// budgetOf returns the configured budget of a participant; "": of the space.
func (st *State) budgetOf(id protocol.ParticipantID) Budget {
	if id == "" {
		return st.Config.Budget
	}
	return st.Settings(id).Budget
}

// CheckExtend checks a budget.extend: nobody extends its own budget, and there must be one.
func (st *State) CheckExtend(e *protocol.Envelope, payload protocol.Value) error {
	id, x, ok := readExtension(payload)
	if !ok {
		return inPayload(refuse("", "the amounts must be above 0: at most %d tokens or calls, and a cost of at most %.0f", int64(maxExtension), maxCost))
	}
	if id == e.From {
		return protocol.Errorf(protocol.CodeCapabilityViolation, "Nobody extends its own budget; ask another participant.")
	}
	whose := "the space"
	if id != "" {
		if err := st.checkKnown(id); err != nil {
			return err
		}
		whose = string(id)
	}
	b := st.budgetOf(id)
	for _, q := range []struct {
		name  string
		added bool
		limit bool
	}{{"tokens", x.Tokens > 0, b.Tokens > 0}, {"calls", x.Calls > 0, b.Calls > 0}, {"cost", x.Cost > 0, b.Cost > 0}} {
		if q.added && !q.limit {
			return inPayload(refuse("/"+q.name, "%s has no budget for %s", whose, q.name))
		}
	}
	if x.Cost > 0 && x.Currency != b.Currency {
		return inPayload(refuse("/currency", "the budget of %s is in %s", whose, b.Currency))
	}
	return nil
}

// extend folds a budget.extend. Extensions of earlier days are dropped.
func (st *State) extend(e *protocol.Envelope, payload protocol.Value) error {
	id, x, ok := readExtension(payload)
	if !ok {
		return fmt.Errorf("the amounts of %s cannot be read", e.ID)
	}
	x.Day = DayOf(e.TS)
	for other, before := range st.extended.All() {
		if before.Day < x.Day {
			st.extended = st.extended.Delete(other)
		}
	}
	if before, again := st.extended.Get(id); again && before.Day == x.Day {
		x.Tokens, x.Calls = sum(x.Tokens, before.Tokens), sum(x.Calls, before.Calls)
		switch {
		case x.Cost == 0:
			x.Cost, x.Currency = before.Cost, before.Currency
		case x.Currency == before.Currency:
			x.Cost = sum(x.Cost, before.Cost)
		}
	} else if again && before.Day > x.Day {
		return nil // of a gateway whose clock was behind
	}
	st.extended = st.extended.Set(id, x)
	return nil
}

// IsPerson reports whether a participant counts as a person for budgets and loops, whose calls
// nobody has to be asked about on behalf of a space: it is one of the people who decide, or may
// extend a budget.
func (st *State) IsPerson(id protocol.ParticipantID, now time.Time) bool {
	return st.isOfPeople(id) || st.Ledger.Effective(id, now).Possible(protocol.KindBudgetExtend)
}

// MayExtend reports whether a participant may extend the budget of another one, or of the space.
func (st *State) MayExtend(by, id protocol.ParticipantID, now time.Time) bool {
	payload := []byte(`{}`)
	if id != "" {
		payload = append(protocol.AppendString([]byte(`{"participant_id":`), string(id)), '}')
	}
	allowed, _ := st.Rights(by, &protocol.Envelope{Kind: protocol.KindBudgetExtend, Payload: payload}, now)
	return allowed && by != id
}

// Ask says why a call that the capabilities of its sender allow has to be proposed.
type Ask struct {
	Limit string // the budget or the loop, for programs: "budget.cost"
	Text  string // for people: "coder has used 5.00 of 5.00 USD today"
}

// Ask returns why a call that the capabilities of its sender allow has to be proposed; nil: it
// may be made. e is the request, or its proposal. waiting is the number of calls of the sender
// that were admitted and are not counted yet.
func (st *State) Ask(u *Usage, e *protocol.Envelope, call protocol.Value, waiting int, now time.Time) *Ask {
	ask := st.askForBudget(u, e.From, waiting, now)
	if ask == nil && st.Config.Loops != (Loops{}) && !st.IsPerson(e.From, now) {
		return u.trail.ask(st.Config.Loops, e, call, now)
	}
	return ask
}

// MayCall returns what the rights of a proposer say about the call that it proposes.
func (st *State) MayCall(p *protocol.Envelope, proposed protocol.Value, now time.Time) capability.Decision {
	r := st.Request(p.From, &protocol.Envelope{Kind: protocol.KindMCPRequest, To: HostOf(proposed), Context: p.Context}, proposed, now)
	return st.Ledger.Effective(p.From, now).Decide(&r)
}

// NeedsNoQuestion reports whether the rights of a proposer, or a rule of the deciders, allow the call
// that it proposes, so that a budget or a loop is why it is proposed.
func (st *State) NeedsNoQuestion(p *protocol.Envelope, proposed protocol.Value, now time.Time) bool {
	verdict, _ := st.Judge(p.From, HostOf(proposed), p.Context, proposed, now)
	return verdict == Allowed
}

// AskedBecause returns why the call of a proposal has to be proposed, although it needs no question
// otherwise, in words for people; "": it may be made, or its sender lacks the right. u: nil if nothing
// is limited.
func (st *State) AskedBecause(u *Usage, p *protocol.Envelope, proposed protocol.Value, now time.Time) string {
	if u == nil || !IsToolCall(proposed) || !st.NeedsNoQuestion(p, proposed, now) {
		return ""
	}
	ask := st.Ask(u, p, proposed, 0, now)
	if ask == nil {
		return ""
	}
	return ask.Text
}

// askForBudget returns why a participant has to propose its next call, by its budget and
// that of the space; nil: neither is used up.
func (st *State) askForBudget(u *Usage, id protocol.ParticipantID, waiting int, now time.Time) *Ask {
	own := st.budgetOf(id)
	of := make([]protocol.ParticipantID, 0, 2)
	if own.IsSet() {
		of = append(of, id)
	}
	if st.Config.Budget.IsSet() && !st.IsPerson(id, now) {
		of = append(of, "")
	}
	for _, whose := range of {
		x := st.useOf(u, whose, now)
		x.Used.Calls = sum(x.Used.Calls, int64(waiting))
		ask := x.Ask()
		if ask != nil {
			return ask
		}
	}
	return nil
}

// BudgetUse is a budget and what was used of it on a day.
type BudgetUse struct {
	ID     protocol.ParticipantID // "": of the space
	Budget Budget                 // as it is configured
	Limit  Budget                 // with what it was extended by
	Used   Used
	Known  bool // what was used could be read
}

// useOf returns the budget of a participant ("": of the space), and what was used of it today.
func (st *State) useOf(u *Usage, id protocol.ParticipantID, now time.Time) BudgetUse {
	b := st.budgetOf(id)
	x := BudgetUse{ID: id, Budget: b, Limit: b}
	more, _ := st.extended.Get(id)
	if more.Day == DayOf(now) {
		if b.Tokens > 0 {
			x.Limit.Tokens = sum(b.Tokens, more.Tokens)
		}
		if b.Calls > 0 {
			x.Limit.Calls = sum(b.Calls, more.Calls)
		}
		if b.Cost > 0 && more.Currency == b.Currency {
			x.Limit.Cost = sum(b.Cost, more.Cost)
		}
	}
	x.Used, x.Known = u.Used(id, x.Limit.Currency, now)
	return x
}

// Budgets returns the budgets of a space and what was used of them today: of the space, of
// configured participants, and of others that have used something. They are sorted by id.
func (st *State) Budgets(u *Usage, now time.Time) []BudgetUse {
	var list []BudgetUse
	for _, id := range slices.Sorted(maps.Keys(u.participants(st, now))) {
		b := st.budgetOf(id)
		if b.IsSet() {
			list = append(list, st.useOf(u, id, now))
		}
	}
	return list
}

// Ask returns why calls have to be proposed; nil: the budget is not used up.
func (x *BudgetUse) Ask() *Ask {
	name, prefix := string(x.ID), "budget"
	if x.ID == "" {
		name, prefix = "the space", "space_budget"
	}
	used, limit := &x.Used, &x.Limit
	switch {
	case !x.Known:
		return &Ask{prefix, "what " + name + " has used today cannot be read"}
	case limit.Cost > 0 && used.Cost >= limit.Cost:
		return &Ask{prefix + ".cost", fmt.Sprintf("%s has used %s of %s %s today", name, used.Cost, limit.Cost, limit.Currency)}
	case limit.Tokens > 0 && used.Tokens >= limit.Tokens:
		return &Ask{prefix + ".tokens", fmt.Sprintf("%s has used %s of %s tokens today", name, textutil.Thousands(used.Tokens), textutil.Thousands(limit.Tokens))}
	case limit.Calls > 0 && used.Calls >= limit.Calls:
		return &Ask{prefix + ".calls", fmt.Sprintf("%s has made %s of %s calls today", name, textutil.Thousands(used.Calls), textutil.Thousands(limit.Calls))}
	}
	return nil
}
