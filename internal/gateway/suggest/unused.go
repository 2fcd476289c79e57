package suggest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/gateway/backtest"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// right is a configured capability, or all capabilities of a grant.
type right struct {
	participant  protocol.ParticipantID
	capabilities []*capability.Capability
	grant        protocol.ID
}

type usedRule struct {
	participant protocol.ParticipantID
	text        string
}

// findUnused lists the rights that no envelope needed. A right that decided about none is only
// listed if the log would have been the same without it: the right to decide on proposals, and
// rights that others pass on, are used without deciding themselves.
func (r *run) findUnused(ctx context.Context) error {
	begin := r.UnusedSince
	var first time.Time // of the oldest envelope that retention has left
	for e, err := range r.Log.Range(ctx, r.Space, journal.Query{}) {
		if err != nil {
			return err
		}
		if !e.State && !e.Hidden { // state entries are exempt from retention
			first = e.Envelope.TS
			break
		}
	}
	switch {
	case first.IsZero() || first.After(begin):
		r.report.UnusedUnknown = fmt.Sprintf("the log begins after %s", begin.UTC().Format(time.RFC3339))
		return nil
	case r.file == nil:
		r.report.UnusedUnknown = "the configuration file does not have the space"
		return nil
	case r.file.PatternName() != r.Space:
		r.report.UnusedUnknown = fmt.Sprintf("the configuration is for all spaces %s, and the rights may be used in another one", r.file.PatternName())
		return nil
	}
	last := map[usedRule]time.Time{}
	recent := *r
	recent.After = 0
	report, err := backtest.Run(ctx, backtest.Options{
		Log: r.Log, Space: r.Space, Partial: r.Partial, New: r.Policy, Progress: r.Progress,
		Used: func(e *protocol.Envelope, rule string) {
			u := usedRule{e.From, rule}
			if e.TS.After(last[u]) {
				last[u] = e.TS
			}
		},
	})
	if err != nil {
		return err
	}
	if r.Partial && report.Unseen > 0 {
		r.report.UnusedUnknown = "the token may not see all envelopes"
		return nil
	}
	rights := slices.DeleteFunc(r.rights(begin), func(x right) bool {
		return slices.ContainsFunc(x.capabilities, func(c *capability.Capability) bool { return !last[usedRule{x.participant, c.String()}].Before(begin) })
	})
	recent.Since = begin
	before, err := recent.backtest(ctx, func(*authority.Config) {}, nil, r.Log)
	if err != nil {
		return err
	}
	unneeded, err := recent.unneeded(ctx, before, nil, rights)
	if err != nil {
		return err
	}
	for _, x := range unneeded {
		u := api.UnusedRight{Participant: x.participant, Grant: x.grant}
		for _, c := range x.capabilities {
			u.Capabilities = append(u.Capabilities, json.RawMessage(c.String()))
			t := last[usedRule{x.participant, c.String()}].UTC()
			if !t.IsZero() && (u.Last == nil || t.After(*u.Last)) {
				u.Last = &t
			}
		}
		r.report.Unused = append(r.report.Unused, u)
	}
	return nil
}

// rights returns the configured capabilities that allow something to be sent, and the grants
// from before a time that are in force.
func (r *run) rights(before time.Time) []right {
	var out []right
	for id := range r.file.Participants {
		for _, c := range r.file.Participants[id].Capabilities {
			if !c.Deny() && c.String() != `"observe"` {
				out = append(out, right{participant: id, capabilities: []*capability.Capability{c}})
			}
		}
	}
	for id, h := range r.state.Ledger.Holdings() {
		for _, g := range h.Grants {
			expired := !g.ExpiresAt.IsZero() && !r.Now.Before(g.ExpiresAt)
			if g.At.Before(before) && !g.Invitation && !expired && !r.state.IsGone(id) {
				out = append(out, right{id, g.Capabilities, g.ID})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b right) int {
		return cmp.Or(cmp.Compare(a.participant, b.participant), cmp.Compare(a.grant, b.grant))
	})
	return out
}

// unneeded returns those of the rights without which, and without the ones in gone, the log would
// have been the same as before.
func (r *run) unneeded(ctx context.Context, before *api.Backtest, gone, rights []right) ([]right, error) {
	if len(rights) == 0 {
		return nil, nil
	}
	same, err := r.sameWithout(ctx, before, slices.Concat(gone, rights))
	if err != nil || same {
		return rights, err
	}
	if len(rights) == 1 {
		return nil, nil
	}
	half := len(rights) / 2
	first, err := r.unneeded(ctx, before, gone, rights[:half])
	if err != nil {
		return nil, err
	}
	second, err := r.unneeded(ctx, before, slices.Concat(gone, first), rights[half:])
	return slices.Concat(first, second), err
}

// sameWithout reports whether the log would have been the same without some rights.
func (r *run) sameWithout(ctx context.Context, before *api.Backtest, gone []right) (bool, error) {
	log := without{r.Log, map[protocol.ID]bool{}}
	for _, x := range gone {
		log.grants[x.grant] = true
	}
	change := func(cfg *authority.Config) {
		for id, p := range cfg.Participants {
			p.Capabilities = slices.DeleteFunc(slices.Clone(p.Capabilities), func(c *capability.Capability) bool {
				return slices.ContainsFunc(gone, func(x right) bool { return x.grant == "" && x.participant == id && x.capabilities[0] == c })
			})
			cfg.Participants[id] = p
		}
	}
	after, err := r.backtest(ctx, change, nil, log)
	if err != nil {
		return false, err
	}
	return after.Different == before.Different && after.Unjudged == before.Unjudged, nil
}

// without is a log without some grants.
type without struct {
	journal.Reader
	grants map[protocol.ID]bool
}

// Range implements [journal.Reader].
func (w without) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		for e, err := range w.Reader.Range(ctx, space, q) {
			if err == nil && e.State && w.grants[e.Envelope.ID] {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
