package reasoner

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/planner"
)

// SearchTool is the tool that the service assumes when a request names none.
const SearchTool = "context.fts_search"

// knownTools are the tools of a request that names none.
var knownTools = []planner.Tool{{
	Name:        SearchTool,
	Description: "Full-text search over the indexed files of the repository and its notes.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","minLength":1,"description":"what to look for, in words"}},"required":["query"]}`),
	ReadOnly:    true, Hinted: true,
}}

// maxQuery bounds a query that is derived from a goal, in bytes.
const maxQuery = 2000

// heuristics decides without a model. It searches once for a goal that asks for
// something and answers with the result. If there is no search tool, or it
// found nothing, the planner's rules continue with the other tools.
type heuristics struct{ rules planner.Decider }

// Next returns the next decision. It fails only with the error of ctx.
func (h heuristics) Next(ctx context.Context, s planner.State) (planner.Decision, error) {
	if err := ctx.Err(); err != nil {
		return planner.Decision{}, err
	}
	if found := findings(s.Steps, isSearch); len(found) > 0 {
		return reportFound(s.Question, found[len(found)-1]), nil
	}
	search, rest := splitSearch(s.Tools)
	switch {
	case search == nil:
		return h.rules.Next(ctx, s)
	case !called(s.Steps, isSearch):
		return h.search(ctx, s, search)
	case len(rest) == 0:
		return nothingFound(s), nil
	}
	s.Tools = rest
	return h.rules.Next(ctx, withoutSearches(s))
}

// withoutSearches removes the steps whose search found nothing: the rules would
// quote an empty result.
func withoutSearches(s planner.State) planner.State {
	all := len(s.Steps)
	s.Steps = slices.DeleteFunc(slices.Clone(s.Steps), func(r contextwindow.Record) bool {
		return called([]contextwindow.Record{r}, isSearch)
	})
	if s.MaxSteps > 0 {
		s.MaxSteps = max(1, s.MaxSteps-(all-len(s.Steps)))
	}
	return s
}

// search searches for the goal. If the goal asks for nothing, the rules decide.
func (h heuristics) search(ctx context.Context, s planner.State, search *planner.Tool) (planner.Decision, error) {
	if !planner.AsksAnything(s.Question) {
		s.Tools, s.Steps, s.MaxSteps, s.Stuck = knownTools, nil, 0, false
		return h.rules.Next(ctx, s)
	}
	args, missing := fill(*search, s.Question)
	if len(missing) > 0 {
		return h.rules.Next(ctx, s)
	}
	return planner.Decision{
		Action: contextwindow.UseTools, Source: planner.ByRules,
		Calls: []contextwindow.Call{{Tool: search.Name, Arguments: args, Reason: "A full-text search for the goal tells what there is about it."}},
	}, nil
}

// isSearch reports whether a tool is a full-text search, by the end of its
// name: a multiplexer may add any prefix.
func isSearch(tool string) bool {
	return strings.HasSuffix(strings.ToLower(tool), "fts_search")
}

func splitSearch(tools []planner.Tool) (search *planner.Tool, rest []planner.Tool) {
	i := slices.IndexFunc(tools, func(t planner.Tool) bool { return isSearch(t.Name) })
	if i < 0 {
		return nil, tools
	}
	return &tools[i], slices.Concat(tools[:i], tools[i+1:])
}

func reportFound(goal string, r contextwindow.Result) planner.Decision {
	return planner.Decision{
		Action: contextwindow.Finish, Source: planner.ByRules,
		Answer:     "The search for “" + oneLine(goal) + "” found:\n\n" + report(r),
		Conclusion: "The history has results of `" + r.Tool + "`, so nothing is searched for again.",
		Confidence: 0.6,
	}
}

// nothingFound returns the final decision after a search that found nothing or
// failed.
func nothingFound(s planner.State) planner.Decision {
	d := planner.Decision{
		Action: contextwindow.Finish, Source: planner.ByRules,
		Answer:     "The search for “" + oneLine(s.Question) + "” found nothing.",
		Conclusion: "The search was made and found nothing.",
		Confidence: 0.2,
	}
	if fault, failed := searchFault(s.Steps); failed {
		d.Answer = "The search for “" + oneLine(s.Question) + "” failed: " + oneLine(fault)
		d.Conclusion, d.Confidence = "The search did not work.", 0.1
	}
	return d
}

// searchFault returns the error of the last search, if it failed.
func searchFault(steps []contextwindow.Record) (fault string, failed bool) {
	for _, step := range steps {
		for _, r := range step.Results {
			if isSearch(r.Tool) {
				fault, failed = r.Error, !r.Success && r.Error != ""
			}
		}
	}
	return fault, failed
}

// conclude returns a final decision from the results so far; it calls no more
// tools.
func conclude(s planner.State) planner.Decision {
	if found := findings(s.Steps, isSearch); len(found) > 0 {
		return reportFound(s.Question, found[len(found)-1])
	}
	d := planner.Decision{Action: contextwindow.Finish, Source: planner.ByRules}
	found := findings(s.Steps, func(string) bool { return true })
	if _, failed := searchFault(s.Steps); failed && len(found) == 0 {
		return nothingFound(s)
	}
	if len(found) == 0 {
		d.Answer = "I have found nothing for “" + oneLine(s.Question) + "”."
		d.Conclusion = "None of the steps so far gave a result."
		d.Confidence = 0.1
		return d
	}
	last := found[len(found)-1]
	d.Answer = "`" + last.Tool + "` says:\n\n" + report(last)
	d.Conclusion = "`" + last.Tool + "` gave the last result."
	d.Confidence = 0.4
	return d
}
