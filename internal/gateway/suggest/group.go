package suggest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/internal/kit/glob"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// group is the calls of one tool that one participant has proposed, or everybody ("").
type group struct {
	participant, host protocol.ParticipantID
	tool              string

	run      *run
	approved []*call // that count
	rejected []*call
	against  []*call // calls of the tool, at any host, that somebody rejected or edited
	favor    []*call // and that somebody approved, counted or not
	left     []api.LeftToPeople
}

// groups returns the calls by their tool and, unless those of everybody are one group, by who
// proposed them.
func (r *run) groups(everybody bool) []*group {
	type key struct {
		participant, host protocol.ParticipantID
		tool              string
	}
	var out []*group
	index := map[key]*group{}
	against, favor := map[key][]*call{}, map[key][]*call{}
	for _, c := range r.calls {
		id := c.proposal.From
		if everybody {
			id = ""
		}
		anywhere := key{participant: id, tool: c.tool()}
		if c.outcome == approved {
			favor[anywhere] = append(favor[anywhere], c)
		} else {
			against[anywhere] = append(against[anywhere], c)
		}
		k := key{id, c.host(), c.tool()}
		g := index[k]
		if g == nil {
			g = &group{participant: k.participant, host: k.host, tool: k.tool, run: r}
			index[k] = g
			out = append(out, g)
		}
		switch {
		case r.counts(c):
			g.approved = append(g.approved, c)
		case c.outcome != approved:
			g.rejected = append(g.rejected, c)
		}
	}
	out = slices.DeleteFunc(out, func(g *group) bool { return g.host == "" })
	for _, g := range out {
		anywhere := key{participant: g.participant, tool: g.tool}
		g.against, g.favor = against[anywhere], favor[anywhere]
	}
	slices.SortFunc(out, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.participant, b.participant), cmp.Compare(a.host, b.host), cmp.Compare(a.tool, b.tool))
	})
	return out
}

// candidate is a rule for the calls of a group that has not passed a backtest yet.
type candidate struct {
	group      *group
	rule       *rule
	calls      []*call // that it is for
	samples    []*call // one of each rule that was merged
	denies     bool    // it is a rule of the deciders
	capability *capability.Capability
}

// contradicts returns the calls that somebody rejected and the rule would allow. A call that
// the log does not have as it was sent may be any call of its tool.
func (g *group) contradicts(x *rule) []*call {
	var out []*call
	for _, c := range g.against {
		hidden := c.masked && (c.host() == "" || c.host() == g.host)
		if hidden || x.allows(c, g.host) {
			out = append(out, c)
		}
	}
	return out
}

// bucket is calls from which the same rule is derived.
type bucket struct {
	rule  *rule
	calls []*call
}

// buckets returns calls by their rule of a level, those with the most calls first.
func buckets(calls []*call, level func(*call) *rule) []*bucket {
	var out []*bucket
	index := map[string]*bucket{}
	for _, c := range calls {
		x := level(c)
		if x == nil {
			continue
		}
		b := index[x.cap.String()]
		if b == nil {
			b = &bucket{rule: x}
			index[x.cap.String()] = b
			out = append(out, b)
		}
		b.calls = append(b.calls, c)
	}
	slices.SortStableFunc(out, func(a, b *bucket) int { return len(b.calls) - len(a.calls) })
	return out
}

func atLevel(level string) func(*call) *rule {
	return func(c *call) *rule { return c.levels()[level] }
}

// narrowest returns the least general rule that covers the calls of a bucket.
func (b *bucket) narrowest(deny bool) *rule {
	levels := []string{levelExact, levelSame, levelFile}
	if deny { // the text is evaded by another content, or another spelling
		levels = []string{levelFile, levelSimilar, levelSame}
	}
	for _, level := range levels {
		list := buckets(b.calls, atLevel(level))
		if len(list) == 1 && len(list[0].calls) == len(b.calls) {
			return list[0].rule
		}
	}
	return b.rule
}

// allow returns the least general rules that cover what was approved and nothing that was
// rejected. It returns early if the context ends.
func (g *group) allow(ctx context.Context) []*candidate {
	wanted := g.wanted(ctx, g.approved, false)
	human := slices.DeleteFunc(slices.Clone(wanted), func(c *call) bool { return g.run.effective.Deciders.HumanOnlyBy(&c.request) == nil })
	g.leaveTo(human, "only people decide on it, by human_only")
	wanted = except(wanted, human)
	rest := g.leave(wanted)
	var out []*candidate
	stopped := map[*call][]*call{} // approved calls, by which a wider rule was contradicted
	for _, level := range []string{levelSimilar, levelFile, levelExact, levelSame} {
		for _, b := range buckets(rest, atLevel(level)) {
			if len(b.calls) < g.run.Min || ctx.Err() != nil {
				continue
			}
			x := b.narrowest(false)
			against := g.contradicts(x)
			for _, c := range b.calls {
				if len(against) > 0 {
					stopped[c] = against
				}
			}
			if len(against) == 0 {
				out = g.add(ctx, out, &candidate{group: g, rule: x, calls: b.calls, samples: b.calls[:1]})
				rest = except(rest, b.calls)
			}
		}
	}
	if whole := g.wholeTool(wanted, g.rejected, rest); whole != nil && len(wanted) == len(g.approved) && len(g.contradicts(whole)) == 0 {
		return []*candidate{{group: g, rule: whole, calls: g.approved, capability: whole.cap}}
	}
	for _, x := range out {
		x.calls = slices.Concat(x.calls, slices.DeleteFunc(slices.Clone(rest), func(c *call) bool { return !x.rule.allows(c, g.host) }))
		rest = except(rest, x.calls)
		x.capability = x.rule.cap
	}
	g.leaveStopped(rest, stopped)
	g.leaveKinds(slices.DeleteFunc(rest, func(c *call) bool { return stopped[c] != nil }), g.differ)
	return out
}

// except returns calls without others.
func except(calls, others []*call) []*call {
	not := make(map[*call]bool, len(others))
	for _, c := range others {
		not[c] = true
	}
	return slices.DeleteFunc(slices.Clone(calls), func(c *call) bool { return not[c] })
}

// wholeTool returns the rule for all calls of a tool whose arguments are plain text, if calls
// with enough different arguments were decided like this and none otherwise; nil: they were not.
func (g *group) wholeTool(calls, others, rest []*call) *rule {
	if len(rest) == 0 || len(others) > 0 || slices.ContainsFunc(calls, (*call).typed) {
		return nil
	}
	different := map[string]bool{}
	for _, c := range calls {
		different[string(c.arguments().AppendCanonical(nil))] = true
	}
	if len(different) < g.run.Min {
		return nil
	}
	return calls[0].levels()[levelAny]
}

// add adds a candidate, or widens another one by it, if the rule for both is no more general
// than the two.
func (g *group) add(ctx context.Context, list []*candidate, c *candidate) []*candidate {
	for _, x := range list {
		if ctx.Err() != nil {
			break
		}
		both := join(x.rule, c.rule)
		samples := slices.Concat(x.samples, c.samples)
		if both == nil || len(g.contradicts(both)) > 0 || slices.ContainsFunc(samples, func(y *call) bool { return !both.allows(y, g.host) }) {
			continue
		}
		x.rule, x.calls, x.samples = both, slices.Concat(x.calls, c.calls), samples
		return list
	}
	return append(list, c)
}

// leave returns the calls for which rules may be suggested. The others are left to people, however
// often they were approved: commands and tools that may destroy, and what the safety rules mask.
func (g *group) leave(calls []*call) []*call {
	never := slices.ContainsFunc(g.run.Never, func(p string) bool { return glob.Match(glob.CompileFlat(p), g.tool) })
	shell := slices.ContainsFunc(g.approved, func(c *call) bool { _, ok := c.command(); return ok })
	if never || !shell && capability.MayDestroy(g.tool) { // a tool that runs commands is judged by its commands
		g.leaveTo(calls, "a tool of this name is never suggested, however often it was approved")
		return nil
	}
	var rest, destroying, secret, file, unclear []*call
	for _, c := range calls {
		text, ok := c.command()
		same := c.levels()[levelSame]
		switch {
		case ok && argument.MayDestroy(argument.Parse(text)):
			destroying = append(destroying, c)
		case same != nil && g.run.Policy.Safety.Text(same.cap.String()) != same.cap.String():
			secret = append(secret, c)
		case c.namesSecret():
			file = append(file, c)
		case !ok && c.typed() && c.levels()[levelFile] == nil && c.levels()[levelSimilar] == nil:
			unclear = append(unclear, c)
		default:
			rest = append(rest, c)
		}
	}
	const destroys = "it may destroy or send something, so it is never suggested, however often it was approved"
	for _, b := range buckets(destroying, atLevel(levelSame)) {
		if len(b.calls) >= g.run.Min {
			g.leaveTo(b.calls, destroys)
			destroying = except(destroying, b.calls)
		}
	}
	g.leaveKinds(destroying, func([]*call) string { return destroys })
	g.leaveTo(secret, "it contains a secret")
	g.leaveTo(file, "it has the name of a file with keys, so it is never suggested, however often it was approved")
	g.leaveTo(unclear, "it is not certain which path or URL is meant")
	return rest
}

// leaveTo lists calls that are left to people, if a rule would be suggested otherwise.
func (g *group) leaveTo(calls []*call, why string) {
	if len(calls) < g.run.Min {
		return
	}
	g.left = append(g.left, api.LeftToPeople{
		Participant: g.participant, Host: g.host, Tool: g.tool, Words: g.run.describe(calls[len(calls)-1]), Why: why,
		Approved: len(calls), For: g.run.examples(calls), Against: g.run.examples(g.rejected),
	})
}

// leaveKinds lists calls that are left to people by the programs of their commands, and together
// those of which there are too few.
func (g *group) leaveKinds(calls []*call, why func([]*call) string) {
	kinds := map[string][]*call{}
	for _, c := range calls {
		kinds[c.family()] = append(kinds[c.family()], c)
	}
	few := calls
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		kind := kinds[name]
		if len(kind) >= g.run.Min {
			g.leaveTo(kind, why(kind))
			few = except(few, kind)
		}
	}
	g.leaveTo(few, why(few))
}

// differ says why no rule is suggested for calls that were approved often only together.
func (g *group) differ(calls []*call) string {
	if slices.ContainsFunc(calls, func(c *call) bool { return c.levels()[levelSimilar] != nil }) {
		return fmt.Sprintf("they differ: no rule allows %d of them and leaves out what it should", g.run.Min)
	}
	return fmt.Sprintf("a rule would allow each of these calls only as it is, and none was approved %s", textutil.Count(g.run.Min, "time"))
}

// leaveStopped lists calls for which every rule would have allowed a rejected call too.
func (g *group) leaveStopped(rest []*call, stopped map[*call][]*call) {
	var calls, against []*call
	known := map[*call]bool{}
	for _, c := range rest {
		if stopped[c] == nil {
			continue
		}
		calls = append(calls, c)
		for _, x := range stopped[c] {
			if !known[x] {
				known[x] = true
				against = append(against, x)
			}
		}
	}
	if len(calls) == 0 {
		return
	}
	g.left = append(g.left, api.LeftToPeople{
		Participant: g.participant, Host: g.host, Tool: g.tool, Words: g.run.describe(calls[len(calls)-1]),
		Why:      fmt.Sprintf("a rule for it would also allow what %s rejected", against[0].by),
		Approved: len(calls), For: g.run.examples(calls), Against: g.run.examples(against),
	})
}
