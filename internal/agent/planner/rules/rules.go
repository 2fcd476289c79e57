// Package rules decides an agent's next step without a model.
//
// It recognizes tools that list, read and search by their names and schemas,
// and calls other tools if the question has values for their parameters. Its
// answers quote the results.
package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/planner"
)

// Rules decides by rules. The zero value is ready to use. Rules is safe for
// concurrent use.
type Rules struct{}

// Next decides the next step.
//
// It never repeats a call that succeeded or may not be retried, and finishes
// when MaxSteps steps have used tools. It does not call tools that may change
// something, unless the caller forces one. It divides a question of several
// parts if sub-problems are still allowed. It reads the first 8 KiB of a
// question. Errors are ctx's, and one that wraps planner.ErrForced if the
// forced tool does not exist or the question lacks its arguments.
func (Rules) Next(ctx context.Context, s planner.State) (planner.Decision, error) {
	if err := ctx.Err(); err != nil {
		return planner.Decision{}, err
	}
	r := &run{s: &s, q: parse(s.Question), box: sortTools(s.Tools)}
	r.q.resolve(s.History, s.Asker)
	r.facts = readFacts(s.Steps, &r.box)
	switch {
	case s.Forced != "":
		t := s.Tool(s.Forced)
		if t == nil {
			return planner.Decision{}, fmt.Errorf("%w: there is no tool %q", planner.ErrForced, s.Forced)
		}
		c, err := r.fill(parseTool(t)).call()
		if err != nil {
			return planner.Decision{}, fmt.Errorf("%w: %s: %w", planner.ErrForced, t.Name, err)
		}
		c.Reason = "I was told to call " + code(t.Name) + " now."
		return planner.Decision{Action: contextwindow.UseTools, Source: planner.ByForce, Calls: []contextwindow.Call{c}}, nil
	case len(s.Tools) == 0:
		return finish("I have no tools to look that up with, so I cannot say anything about it.", "There are no tools to work with.", 0.1), nil
	}
	decisions := []func() (planner.Decision, bool){r.divide, r.callNamed, r.useFiles, r.callLikely}
	if !r.q.asks() { // files tell nothing about what it does not name
		if !r.q.wants() || !slices.ContainsFunc(r.box.others, (*tool).isSearch) {
			return r.introduce(), nil
		}
		decisions = []func() (planner.Decision, bool){r.callNamed, r.callLikely}
	}
	for _, decide := range decisions {
		if d, ok := decide(); ok {
			return d, nil
		}
	}
	return r.answer(), nil
}

// AsksAnything reports whether a text asks for something that a search could
// find, as opposed to a greeting.
func AsksAnything(text string) bool {
	q := parse(text)
	return q.asks() || q.wants()
}

// run is the state of one decision.
type run struct {
	s   *planner.State
	q   question
	box toolbox
	facts
}

// use decides on the calls that are new, if there are any and another step is
// allowed and useful.
func (r *run) use(thought string, calls []contextwindow.Call) (planner.Decision, bool) {
	if r.s.Stuck || len(r.s.Steps) >= r.s.Limit() {
		return planner.Decision{}, false
	}
	calls = slices.DeleteFunc(calls, func(c contextwindow.Call) bool {
		spent := r.spent[c.Key()]
		r.spent[c.Key()] = true // also for duplicates within calls
		return spent
	})
	return planner.Decision{Action: contextwindow.UseTools, Source: planner.ByRules, Thought: thought, Calls: calls}, len(calls) > 0
}

// sparing returns the new calls without those that need an approval, except the
// first few of them: a person decides about one call at a time. After a
// rejection, or without a decision, none is left.
func (r *run) sparing(most int, calls []contextwindow.Call) []contextwindow.Call {
	return slices.DeleteFunc(calls, func(c contextwindow.Call) bool {
		if t := r.s.Tool(c.Tool); r.spent[c.Key()] || t == nil || !t.NeedsApproval {
			return r.spent[c.Key()]
		}
		most--
		return most < 0 || r.declined
	})
}

// fill fills a tool's parameters. The path is the file that the question names,
// as it was listed if the tool's host listed it, or a root for a tool that
// lists or searches. Search terms are the keywords, or the whole question if it
// has none.
func (r *run) fill(t *tool) *filler {
	f := &filler{q: &r.q, tool: t, terms: queryRole, text: strings.Join(r.q.terms(), " ")}
	if f.text == "" {
		f.text = r.q.text
	}
	if len(r.q.files) > 0 {
		f.path = r.q.files[0]
		listed := r.files()
		if i := slices.IndexFunc(listed, func(p string) bool { return sameFile(p, f.path) }); i >= 0 && t.Host == r.box.host {
			f.path = listed[i]
		}
	} else if r.box.list.isNamed(t.Name) || r.box.search.isNamed(t.Name) {
		f.path = r.rootFolders()[0]
	}
	f.fill()
	return f
}

// callNamed calls the tool that the question names, if the question has all its
// arguments, and finishes when the result is there.
func (r *run) callNamed() (planner.Decision, bool) {
	c, ok := r.choose(true)
	if !ok {
		return planner.Decision{}, false
	}
	if res, done := r.results[c.Key()]; done {
		return r.answerWith(res), res.OK()
	}
	c.Reason = "The question asks for what " + code(c.Tool) + " does."
	return r.use("", []contextwindow.Call{c})
}

// callLikely calls the one other tool that fits the question best, if nothing
// was found yet.
func (r *run) callLikely() (planner.Decision, bool) {
	if len(r.other) > 0 || len(r.passages()) > 0 || r.passage() != "" || r.box.hasFiles() && r.isListing() {
		return planner.Decision{}, false
	}
	c, ok := r.choose(false)
	if !ok {
		return planner.Decision{}, false
	}
	c.Reason = code(c.Tool) + " may know something about " + r.q.subject() + "."
	return r.use("", r.sparing(1, []contextwindow.Call{c}))
}

// choose returns the best call of a tool without a role: of the tools that the
// question names with all words of their own, or else of all that were not
// called yet. A tool without arguments must be named by a word.
func (r *run) choose(named bool) (best contextwindow.Call, ok bool) {
	top := 0
	for _, t := range r.box.others {
		own := t.ownWords()
		mentioned := slices.DeleteFunc(slices.Clone(own), func(w string) bool { return !r.q.mentions(w) })
		if named && len(mentioned) < max(1, len(own)) {
			continue
		}
		f := r.fill(t)
		c, err := f.call()
		if err != nil || t.isArithmetic() && f.numbers < len(r.q.numbers) {
			continue
		}
		score := len(own) + f.numbers + f.chosen
		if !named {
			if r.spent[c.Key()] || len(f.args)+len(mentioned) == 0 {
				continue
			}
			score = 2*r.q.matches(strings.Join(t.parts, " ")) + r.q.matches(t.Description) + 2*f.chosen
			if t.isSearch() {
				score += 2
			}
		}
		if score > top {
			best, top = c, score
		}
	}
	return best, top > 0
}
