package suggest

import (
	"context"
	"maps"
	"slices"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/capability/argument"
)

// deny returns the least general deny rules of the deciders for what was rejected and never
// approved. It returns early if the context ends.
func (g *group) deny(ctx context.Context) []*candidate {
	wanted := g.wanted(ctx, g.rejected, true)
	rest := slices.DeleteFunc(slices.Clone(wanted), func(c *call) bool { return c.outcome != rejected || c.masked })
	var out []*candidate
	for _, level := range []func(*call) *rule{family, exact, uncommanded(levelSimilar), uncommanded(levelFile), uncommanded(levelSame)} {
		for _, b := range buckets(rest, level) {
			if ctx.Err() != nil {
				return nil
			}
			x := b.rule
			if _, ok := b.calls[0].command(); !ok {
				x = b.narrowest(true)
			}
			c := g.denial(x, b.calls)
			if c == nil {
				continue
			}
			out = g.addDenial(ctx, out, c)
			rest = except(rest, b.calls)
		}
	}
	whole := g.wholeTool(g.rejected, g.favor, rest)
	if whole == nil || len(wanted) < len(g.rejected) {
		return out
	}
	if c := g.denial(whole, g.rejected); c != nil {
		return []*candidate{c}
	}
	return out
}

// uncommanded returns the rules of a level for calls without a command: as a deny rule, the text
// of a command is evaded by a blank, and one for several commands denies each of them.
func uncommanded(level string) func(*call) *rule {
	return func(c *call) *rule {
		if _, ok := c.command(); ok {
			return nil
		}
		return c.levels()[level]
	}
}

// addDenial adds a candidate, or widens another one by it that has the same reason.
func (g *group) addDenial(ctx context.Context, list []*candidate, c *candidate) []*candidate {
	for i, x := range list {
		if ctx.Err() != nil {
			break
		}
		both := join(x.rule, c.rule)
		if both == nil || x.reason() != c.reason() {
			continue
		}
		if wider := g.denial(both, slices.Concat(x.calls, c.calls)); wider != nil {
			list[i] = wider
			return list
		}
	}
	return append(list, c)
}

// family returns the rule for commands of the same program and subcommand; nil: there is none.
func family(c *call) *rule {
	text, _ := c.command()
	name, ok := argument.Family(argument.Parse(text))
	if !ok {
		return nil
	}
	return c.shell(name + " **")
}

// exact returns the rule for the words of a single command; nil: there is none.
func exact(c *call) *rule {
	text, _ := c.command()
	parsed := argument.Parse(text)
	_, single := argument.Family(parsed)
	words := argument.Exact(parsed)
	if !single || len(words) != 1 {
		return nil
	}
	return c.shell(words[0])
}

// shell returns the rule for a pattern of a command in the tool of a call.
func (c *call) shell(pattern string) *rule {
	whole := c.levels()[levelAny]
	if whole == nil {
		return nil
	}
	args := map[string]any{}
	for key := range c.arguments().Members {
		if capability.ArgumentMatcher(key.Text()) == "$shell" {
			args[key.Text()] = map[string]any{"$shell": map[string]any{"commands": []any{pattern}}}
		}
	}
	return compile(rewrite(whole.tree, func(key string, v any) any {
		params, ok := v.(map[string]any)
		if key == "params" && ok {
			params = maps.Clone(params)
			params["arguments"] = args
			return params
		}
		return v
	}))
}

// denial returns the candidate that rejects what can be seen to match a rule. nil: it would
// reject an approved call, or one that was edited, too few were rejected, or it contains a secret.
func (g *group) denial(x *rule, calls []*call) *candidate {
	if len(calls) < g.run.Min {
		return nil
	}
	tree := rewrite(x.tree, func(_ string, v any) any {
		m, ok := v.(map[string]any)
		if ok && m["below"] != nil {
			return map[string]any{"below": m["below"]} // all of it
		}
		return v
	})
	foreign := func(c *call) bool { return c.proposal.From != g.host }
	if !slices.ContainsFunc(g.rejected, foreign) && !slices.ContainsFunc(g.approved, foreign) { // of hosts to themselves, as those of coding agents
		anywhere := maps.Clone(tree)
		delete(anywhere, "to")
		if c := g.denialOf(anywhere, calls); c != nil {
			return c
		}
	}
	return g.denialOf(tree, calls)
}

func (g *group) denialOf(tree map[string]any, calls []*call) *candidate {
	denying := maps.Clone(tree)
	denying["deny"] = true
	plain, denies := compile(tree), compile(denying)
	if plain == nil || denies == nil || g.run.Policy.Safety.Text(denies.cap.String()) != denies.cap.String() {
		return nil
	}
	sees := func(c *call) bool { return denies.cap.Sees(&c.request) }
	if slices.ContainsFunc(g.favor, func(c *call) bool { return c.masked || sees(c) }) ||
		slices.ContainsFunc(g.rejected, func(c *call) bool { return c.outcome == edited && sees(c) }) ||
		slices.ContainsFunc(calls, func(c *call) bool { return !sees(c) }) {
		return nil
	}
	return &candidate{group: g, rule: plain, calls: calls, denies: true, capability: denies.cap}
}
