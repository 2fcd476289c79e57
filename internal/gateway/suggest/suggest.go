// Package suggest derives rules from what people decided in a space: the least general
// capabilities that would have asked less and let nothing through that anybody rejected,
// deny rules of the deciders for what was only ever rejected, and rights that nobody used. It
// writes nothing.
//
// A rule is only suggested after a backtest: the configuration with the rule decides the
// same log again.
package suggest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/backtest"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// Options says what to derive rules from.
type Options struct {
	Log   journal.Reader
	Space string
	// Partial: Log has what one participant may see, without what only gateways read.
	Partial bool
	Policy  *backtest.Policy // in force

	// Since selects the decisions from a time on, and After those behind a position.
	Since time.Time
	After protocol.Seq
	Now   time.Time

	Min       int                      // approvals of a rule, or rejections of a deny rule
	Approvers []protocol.ParticipantID // whose approvals count; none: those of all but the proposer and reviewers
	Never     []string                 // globs of tools for which no rule is suggested, beside the known ones
	// UnusedSince is the time since which a right was not used; zero: unused rights are not
	// looked for.
	UnusedSince time.Time
	// Only are the ids of the suggestions that are returned, without what is left to people
	// and unused rights; none: all.
	Only []string

	Examples int
	Progress func(envelopes int) // of each backtest; may be nil
}

// What a suggestion does.
const (
	Allow = "allow"
	Deny  = "deny"
)

// Run derives suggestions from a log.
func Run(ctx context.Context, o Options) (*api.Suggestions, error) {
	r := &run{Options: o, known: map[string]map[string]*rule{}, dismissals: map[protocol.ParticipantID][]dismissal{}, undone: map[protocol.ID]protocol.ParticipantID{}, report: api.Suggestions{
		Space: o.Space, Suggestions: []api.Suggestion{}, People: []api.LeftToPeople{}, Unused: []api.UnusedRight{},
	}}
	r.file = r.Policy.Space(authority.Directory{})
	r.effective = r.file
	if r.Policy.Administration != "" && r.Policy.Administration != r.Space && !r.Partial {
		administration := authority.NewState(&authority.Config{Name: r.Policy.Administration})
		for e, err := range r.Log.Range(ctx, r.Policy.Administration, journal.Query{StateOnly: true}) {
			if err != nil {
				return nil, err
			}
			_ = administration.Fold(e) // as at a gateway: an entry that cannot be applied changes nothing
		}
		r.effective = r.Policy.Space(administration.Directory)
	}
	if r.effective == nil {
		return nil, backtest.ErrNoSpace
	}
	if err := r.readState(ctx); err != nil {
		return nil, err
	}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	if err := r.suggest(ctx); err != nil {
		return nil, err
	}
	if !o.UnusedSince.IsZero() && len(o.Only) == 0 {
		if err := r.findUnused(ctx); err != nil {
			return nil, err
		}
	}
	return &r.report, nil
}

// run derives suggestions.
type run struct {
	Options
	file      *authority.Config // as it is configured; nil: it does not have the space
	effective *authority.Config // and with what the administrative space has made; nil: there is none
	calls     []*call           // settled proposals, in the order of the log
	known     map[string]map[string]*rule
	state     *authority.State // at the end of the log
	// dismissals are by the participant for whose calls the rules would be.
	dismissals map[protocol.ParticipantID][]dismissal
	undone     map[protocol.ID]protocol.ParticipantID // who said that a decision of a reviewer was wrong
	report     api.Suggestions
}

// suggest derives the rules, and keeps those that pass a backtest: all of them together, or
// else each by itself.
func (r *run) suggest(ctx context.Context) error {
	var all []*candidate
	for _, g := range r.groups(false) {
		all = append(all, g.allow(ctx)...)
		r.report.People = append(r.report.People, g.left...)
	}
	if r.file != nil { // deciders are in the configuration file alone
		for _, g := range r.groups(true) {
			for _, c := range g.deny(ctx) {
				same := slices.IndexFunc(all, func(x *candidate) bool { return x.denies && x.capability.String() == c.capability.String() })
				if same < 0 {
					all = append(all, c)
				} else { // of another host that calls itself
					all[same].calls = append(all[same].calls, c.calls...)
				}
			}
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	defer func() {
		slices.SortStableFunc(r.report.People, func(a, b api.LeftToPeople) int { return b.Approved - a.Approved })
	}()
	if len(all) == 0 && !r.Partial { // a backtest counts what is not visible
		_, err := r.only(nil)
		return err
	}
	together, err := r.try(ctx, all...)
	if err != nil {
		return err
	}
	derived := all
	if !passes(together, all) {
		all, together, err = r.passing(ctx, all)
		if err != nil {
			return err
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(c *candidate) bool { return c.fewer(together) == 0 })
	r.leaveDropped(derived, all)
	slices.SortStableFunc(all, func(a, b *candidate) int { return b.fewer(together) - a.fewer(together) })
	if len(r.Only) > 0 {
		all, err = r.only(all)
		if err != nil {
			return err
		}
		r.report.People = []api.LeftToPeople{}
		together, err = r.try(ctx, all...)
		if err != nil {
			return err
		}
	}
	for _, c := range all {
		r.report.Suggestions = append(r.report.Suggestions, r.suggestion(c, together))
	}
	for i := range together.Groups {
		r.report.Fewer += together.Groups[i].Count
	}
	r.report.LetThrough, r.report.Unseen = together.LetThrough, together.Unseen
	return nil
}

// leaveDropped lists the calls of rules that were derived and are not suggested, unless suggested
// ones allow them.
func (r *run) leaveDropped(derived, suggested []*candidate) {
	for _, c := range derived {
		if c.denies || slices.Contains(suggested, c) {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(c.calls), func(x *call) bool {
			return slices.ContainsFunc(suggested, func(y *candidate) bool {
				return !y.denies && y.group.participant == c.group.participant && y.rule.allows(x, c.group.host)
			})
		})
		c.group.left = nil
		c.group.leaveTo(left, "a rule for it would have asked nothing less, or changed other decisions too, by a backtest")
		r.report.People = append(r.report.People, c.group.left...)
	}
}

// UnknownError are ids that no suggestion has.
type UnknownError struct {
	IDs   []string
	Known []string
}

func (e *UnknownError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no suggestion %s: nothing is suggested", strings.Join(e.IDs, ", "))
	}
	return fmt.Sprintf("there is no suggestion %s; there are %s", strings.Join(e.IDs, ", "), strings.Join(e.Known, ", "))
}

// only returns the candidates of Only; an error if one of these ids is none of all.
func (r *run) only(all []*candidate) ([]*candidate, error) {
	var known []string
	for _, c := range all {
		known = append(known, c.id())
	}
	unknown := slices.DeleteFunc(slices.Clone(r.Only), func(id string) bool { return slices.Contains(known, id) })
	if len(unknown) > 0 {
		return nil, &UnknownError{unknown, known}
	}
	return slices.DeleteFunc(all, func(c *candidate) bool { return !slices.Contains(r.Only, c.id()) }), nil
}

// passing returns the candidates that pass a backtest by themselves, and the backtest of all of
// them together.
func (r *run) passing(ctx context.Context, all []*candidate) ([]*candidate, *api.Backtest, error) {
	var out []*candidate
	for _, c := range all {
		report, err := r.try(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		if passes(report, []*candidate{c}) {
			out = append(out, c)
		}
	}
	together, err := r.try(ctx, out...)
	return out, together, err
}

// try runs a backtest of the configuration with further rules.
func (r *run) try(ctx context.Context, list ...*candidate) (*api.Backtest, error) {
	return r.backtest(ctx, func(cfg *authority.Config) {
		for _, c := range list {
			if c.denies {
				cfg.Deciders.Rules = append(slices.Clip(cfg.Deciders.Rules), authority.Rule{Capability: c.capability, Reason: c.reason()})
				continue
			}
			id := c.group.participant
			p, ok := cfg.Participants[id]
			if !ok && cfg.Guests != nil {
				p = *cfg.Guests
			}
			p.Capabilities = append(slices.Clip(p.Capabilities), c.capability)
			cfg.Participants[id] = p
		}
	}, r.Policy, r.Log)
}

// backtest compares the configuration after a change with another one, and with what
// happened.
func (r *run) backtest(ctx context.Context, change func(*authority.Config), current *backtest.Policy, log journal.Reader) (*api.Backtest, error) {
	changed := *r.Policy
	changed.Space = func(made authority.Directory) *authority.Config {
		cfg := r.Policy.Space(made)
		if cfg == nil {
			return nil
		}
		next := *cfg
		next.Participants = maps.Clone(cfg.Participants)
		change(&next)
		return next.Shared()(cfg.Name)
	}
	return backtest.Run(ctx, backtest.Options{
		Log: log, Space: r.Space, Partial: r.Partial, New: &changed, Current: current, Since: r.Since, After: r.After, Examples: 1, Progress: r.Progress,
	})
}

// passes reports whether a backtest shows that the rules ask less and do nothing else.
func passes(r *api.Backtest, list []*candidate) bool {
	if r.LetThrough > 0 {
		return false
	}
	return !slices.ContainsFunc(r.Groups, func(g api.BacktestGroup) bool {
		return !slices.ContainsFunc(list, func(c *candidate) bool { return c.explains(&g) })
	})
}

// explains reports whether the envelopes of a group are proposals that the rule decides.
func (c *candidate) explains(g *api.BacktestGroup) bool {
	outcome := backtest.Allowed
	if c.denies {
		outcome = backtest.Refused
	}
	return g.Outcome == outcome && g.Kind == protocol.KindMCPProposal && (c.denies || g.Participant == c.group.participant) &&
		c.capability.String() == g.Rule
}

// fewer returns how many proposals of a backtest the rule decides.
func (c *candidate) fewer(r *api.Backtest) int {
	n := 0
	for i := range r.Groups {
		if c.explains(&r.Groups[i]) {
			n += r.Groups[i].Count
		}
	}
	return n
}

// id is the same for the same rule.
func (c *candidate) id() string {
	sum := sha256.Sum256([]byte(string(c.group.participant) + c.capability.String()))
	return hex.EncodeToString(sum[:4])
}

// proposer returns who has proposed most of the calls.
func (c *candidate) proposer() protocol.ParticipantID {
	var most protocol.ParticipantID
	times := map[protocol.ParticipantID]int{}
	for _, x := range c.calls {
		id := x.proposal.From
		times[id]++
		if times[id] > times[most] {
			most = id
		}
	}
	return most
}

// reason returns the reason that was given most often, and among those the newest.
func (c *candidate) reason() string {
	most := ""
	times := map[string]int{}
	for _, x := range c.calls {
		if x.reason == "" || x.outcome != rejected || c.group.run.effective.Deciders.Reviewer(x.by) != nil {
			continue
		}
		times[x.reason]++
		if times[x.reason] >= times[most] {
			most = x.reason
		}
	}
	return c.group.run.Policy.Safety.Text(most)
}

// suggestion describes a candidate.
func (r *run) suggestion(c *candidate, report *api.Backtest) api.Suggestion {
	slices.SortFunc(c.calls, func(a, b *call) int { return cmp.Compare(a.proposal.Seq, b.proposal.Seq) })
	text := c.capability.String()
	s := api.Suggestion{
		ID: c.id(), Does: Allow, Participant: c.proposer(), Host: c.group.host, Tool: c.group.tool, Words: c.words(),
		Capabilities: []json.RawMessage{json.RawMessage(text)}, Approved: len(c.calls), Fewer: c.fewer(report),
		For: r.examples(c.calls), Against: r.examples(c.group.rejected), By: []protocol.ParticipantID{},
	}
	days := map[string]bool{}
	for _, x := range c.calls {
		days[x.decided.Format(time.DateOnly)] = true
		if !slices.Contains(s.By, x.by) {
			s.By = append(s.By, x.by)
		}
	}
	s.Days = len(days)
	slices.Sort(s.By)
	subject := protocol.AppendString([]byte(`{"recipient":`), string(s.Participant))
	subject = fmt.Appendf(subject, `,"capabilities":[%s]`, text)
	s.Dismissal = fmt.Appendf(slices.Clip(subject), `,"decisions":%d}`, len(c.calls))
	if c.denies {
		s.Does, s.Approved, s.Rejected, s.Against = Deny, 0, len(c.calls), r.examples(c.group.approved)
		rule := decode(c.capability) // as it stands in the configuration, among the rules of the deciders
		delete(rule, "kind")
		if why := c.reason(); why != "" {
			rule["reason"] = why
		}
		s.Rule = json.RawMessage(compact(rule))
		if c.rule.tree["to"] == nil {
			s.Host = ""
		}
		s.ConfiguredIn = r.file.PatternName()
		s.Patch = fmt.Sprintf("spaces:\n  %s:\n    proposals:\n      deciders:\n        - rules:\n            - %s\n", key(s.ConfiguredIn), termsafe.JSON(s.Rule)) // JSON is YAML
		return s
	}
	s.Grant = append(slices.Clip(subject), '}')
	if r.file == nil {
		return s
	}
	_, configured := r.file.Participants[s.Participant]
	if configured {
		s.ConfiguredIn = r.file.PatternName()
		s.Patch = fmt.Sprintf("spaces:\n  %s:\n    participants:\n      %s:\n        capabilities:\n          - %s\n",
			key(s.ConfiguredIn), key(string(s.Participant)), termsafe.JSON(s.Capabilities[0]))
	}
	return s
}
