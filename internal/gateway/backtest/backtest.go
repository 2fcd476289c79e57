// Package backtest runs a configuration over the log of a space and reports which
// envelopes it would have allowed, refused, asked about or masked otherwise. It decides
// each envelope by the functions that admit envelopes, and writes nothing.
//
// The log has what happened: an envelope in it was allowed, a proposal was asked. An
// envelope is different if the new configuration says something else than what happened
// and, if the configuration in force is known, something else than that one says today.
// So a change is not blamed for what an earlier reload has changed, and a configuration
// compared with itself differs nowhere.
package backtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// Policy is the part of a configuration that decides about the envelopes of one space.
type Policy struct {
	// Space returns the configuration of the space with what the administrative space has
	// made; nil: there is none.
	Space func(made authority.Directory) *authority.Config
	// Administration is the administrative space; "": none.
	Administration string
	// Safety masks texts; nil: it is known only by SafetyID.
	Safety *safety.Pipeline
	// SafetyID is equal for equal safety settings.
	SafetyID string
	// Masks reports whether a safety rule is in force for a kind.
	Masks func(kind protocol.Kind, rule string) bool
}

// Options says what to compare.
type Options struct {
	Log   journal.Reader
	Space string
	// Partial: Log has what one participant may see, without the entries and the fields
	// that only gateways read.
	Partial bool

	New     *Policy
	Current *Policy // in force; nil: not known

	// Since selects the envelopes from a time on, and After those behind a position. The
	// state before them is read in any case.
	Since time.Time
	After protocol.Seq

	Examples int // of a group; 0: none
	// Used is called with each envelope that a capability of the new configuration allows,
	// and with the capability; with a proposal also for its call. May be nil.
	Used func(e *protocol.Envelope, capability string)
	// Progress is called now and then with the number of envelopes that were decided; may
	// be nil.
	Progress func(envelopes int)
}

// ErrNoSpace means that the new configuration has no such space.
var ErrNoSpace = errors.New("the configuration has no such space")

// progressEvery is the number of entries between two reports of the progress.
const progressEvery = 1 << 16

// Run decides the envelopes of a log again.
func Run(ctx context.Context, o Options) (*api.Backtest, error) {
	r := &run{
		Options: o, st: authority.NewState(&authority.Config{Name: o.Space}), proposals: make(map[protocol.ID]*journal.Entry),
		saved: make(map[protocol.ID]*saved), groups: make(map[groupKey]*api.BacktestGroup),
		report: api.Backtest{Spaces: []string{o.Space}, Baseline: BaselineRecord},
	}
	var err error
	r.new, err = r.view(ctx, o.New)
	if err != nil {
		return nil, err
	}
	if r.new == nil {
		return nil, ErrNoSpace
	}
	if o.Current != nil {
		r.current, err = r.view(ctx, o.Current)
		if err != nil {
			return nil, err
		}
	}
	r.views = []*view{r.new}
	if r.current != nil {
		r.views = append(r.views, r.current)
		r.report.Baseline = BaselineCurrent
	}
	after, _, err := journal.Between(ctx, o.Log, o.Space, o.Since, time.Time{})
	if err != nil {
		return nil, err
	}
	after = max(after, o.After)
	if after > 0 { // the state before the first envelope that is decided
		for e, err := range o.Log.Range(ctx, o.Space, journal.Query{StateOnly: true, Before: after + 1}) {
			if err != nil {
				return nil, err
			}
			r.fold(e)
		}
	}
	for e, err := range o.Log.Range(ctx, o.Space, journal.Query{After: after}) {
		if err != nil {
			return nil, err
		}
		if err := r.add(ctx, e); err != nil {
			return nil, err
		}
	}
	// The proposals that nobody would have been asked about are counted with what people decided on them.
	bySeq := slices.SortedFunc(maps.Values(r.saved), func(a, b *saved) int { return cmp.Compare(a.example.Seq, b.example.Seq) })
	for _, s := range bySeq {
		r.count(s.key, s.example, nil)
	}
	r.report.Groups = make([]api.BacktestGroup, 0, len(r.groups))
	for _, g := range r.groups {
		r.report.Groups = append(r.report.Groups, *g)
	}
	conclude(&r.report)
	return &r.report, nil
}

// run is a backtest in progress.
type run struct {
	Options
	st      *authority.State // folded from the log
	new     *view
	current *view   // nil: not known
	views   []*view // both

	proposals map[protocol.ID]*journal.Entry // that were not decided yet
	saved     map[protocol.ID]*saved         // that nobody would have been asked about
	groups    map[groupKey]*api.BacktestGroup
	report    api.Backtest
	read      int
	last      protocol.Seq // of a partial log
}

// fold applies a state entry. An entry that cannot be applied changes nothing, as at a
// gateway.
func (r *run) fold(e *journal.Entry) {
	if r.Partial {
		r.complete(e)
	}
	_ = r.st.Fold(e)
	for _, v := range r.views {
		v.state = nil
	}
}

// add decides one entry, and folds it.
func (r *run) add(ctx context.Context, e *journal.Entry) error {
	r.read++
	if r.read%progressEvery == 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.Progress != nil {
			r.Progress(r.report.Envelopes)
		}
	}
	if r.Partial {
		r.countUnseen(e)
	}
	if !e.Hidden && !e.Envelope.From.IsReserved() && !e.Envelope.TS.Before(r.Since) {
		if err := r.decide(ctx, e); err != nil {
			return err
		}
	}
	switch {
	case e.State:
		r.fold(e)
	case e.Envelope.Kind == protocol.KindMCPProposal:
		r.proposals[e.Envelope.ID] = e
	}
	return nil
}

// decide compares what happened to an envelope with the configurations.
func (r *run) decide(ctx context.Context, e *journal.Entry) error {
	q, err := r.question(ctx, e)
	if err != nil {
		return err
	}
	env := &e.Envelope
	if r.report.Envelopes == 0 || env.TS.Before(r.report.From) {
		r.report.From = env.TS
	}
	if env.TS.After(r.report.To) {
		r.report.To = env.TS
	}
	r.report.Envelopes++

	happened := Allowed
	if env.Kind == protocol.KindMCPProposal {
		happened = Asked
	}
	says := r.new.decide(q)
	if r.Used != nil {
		r.used(q, says)
	}
	if says.outcome == unknown {
		r.report.Unjudged++
		says.outcome = happened
	}
	if says.outcome != happened {
		var before verdict
		if r.current != nil {
			before = r.current.decide(q)
		}
		if before.outcome != says.outcome {
			r.differs(q, says, before)
		}
		return nil
	}
	if exchange.IsDecision(env.Kind) {
		r.decided(env, q.payload)
	}
	r.decideMasks(q)
	return nil
}

// used reports the capabilities that allow an envelope.
func (r *run) used(q *question, says verdict) {
	e := &q.entry.Envelope
	if says.rule != "" && (says.outcome == Allowed || says.outcome == Asked) {
		r.Used(e, says.rule)
	}
	if e.Kind != protocol.KindMCPProposal || says.outcome != Allowed {
		return
	}
	st := r.new.at(e.TS)
	request := st.Request(e.From, e, q.payload, e.TS)
	d := st.Ledger.Effective(e.From, e.TS).Decide(&request)
	if d.Allowed {
		r.Used(e, d.By.String())
	}
}

// decideMasks compares what the safety rules do to an envelope that is in the log. What
// they have masked is only compared with a configuration in force that is known.
func (r *run) decideMasks(q *question) {
	if r.current != nil && r.current.policy.SafetyID == r.new.policy.SafetyID {
		return
	}
	says := r.new.masks(q)
	if says.outcome == Allowed && r.current != nil {
		says = r.unmasks(q)
	}
	if says.outcome == Allowed {
		return
	}
	if r.current != nil && r.current.policy.Safety != nil {
		before := r.current.masks(q)
		if before.outcome == says.outcome && before.rule == says.rule {
			return
		}
	}
	r.differs(q, says, verdict{})
}

// question returns what decides about an entry.
func (r *run) question(ctx context.Context, e *journal.Entry) (*question, error) {
	q := &question{entry: e, payload: e.Payload()}
	env := &e.Envelope
	judges := env.Kind == protocol.KindMCPOpinion
	if !judges && !exchange.IsDecision(env.Kind) {
		return q, nil
	}
	settles := []protocol.ID{e.Settles}
	if judges {
		settles = env.Correlation.IDs
	} else if e.Settles == "" {
		if !r.Partial {
			return q, nil // the gateway found no proposal
		}
		settles = env.Correlation.IDs
	}
	for _, id := range settles {
		x := r.proposals[id]
		if !judges {
			delete(r.proposals, id)
		}
		if x == nil {
			found, err := r.Log.Lookup(ctx, r.Space, id)
			switch {
			case errors.Is(err, journal.ErrNotFound):
				q.cut = q.cut || !r.Partial
				continue
			case err != nil:
				return nil, fmt.Errorf("read the proposal %s: %w", id, err)
			}
			x = found
		}
		if x.Envelope.Kind == protocol.KindMCPProposal {
			p := &admission.Proposal{Envelope: &x.Envelope, Audience: x.Audience, Payload: x.Payload()}
			if r.Partial { // it does not say who may see the proposal: the one who decided did
				p.Audience = []protocol.ParticipantID{ring.AllParticipants}
			}
			q.proposals = append(q.proposals, p)
		}
	}
	return q, nil
}
