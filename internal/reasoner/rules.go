package reasoner

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// knownTools are the tools of a request that names none.
var knownTools = []planner.Tool{{
	Name:        wire.SearchTool,
	Description: "Full-text search over the indexed files of the repository and its notes.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","minLength":1,"description":"what to look for, in words"}},"required":["query"]}`),
	ReadOnly:    true, Hinted: true,
}}

// maxQuery bounds a query that is derived from a goal, in bytes.
const maxQuery = 2000

// leadingDashes would exclude a word of a query.
var leadingDashes = regexp.MustCompile(`(^|\s)-+`)

// query returns a goal as search terms.
func query(goal string) string {
	return textutil.Shorten(strings.TrimSpace(leadingDashes.ReplaceAllString(goal, "$1")), maxQuery)
}

// heuristics decides without a model. It searches once for a goal that asks for
// something and answers with the result. If there is no search tool, or it
// found nothing, the planner's rules continue with the other tools.
type heuristics struct{}

// Next returns the next decision. It fails only with the error of ctx.
func (heuristics) Next(ctx context.Context, s planner.State) (planner.Decision, error) {
	if err := ctx.Err(); err != nil {
		return planner.Decision{}, err
	}
	if found := findings(s.Steps, isSearch); len(found) > 0 {
		return reportFound(s.Question, found[len(found)-1]), nil
	}
	i := slices.IndexFunc(s.Tools, func(t planner.Tool) bool { return isSearch(t.Name) })
	switch {
	case i < 0:
		return (rules.Rules{}).Next(ctx, s)
	case called(s.Steps, isSearch) && len(s.Tools) == 1:
		return nothingFound(s), nil
	case called(s.Steps, isSearch): // the rules would quote the empty result of a search
		steps := slices.DeleteFunc(slices.Clone(s.Steps), func(r contextwindow.Record) bool {
			return called([]contextwindow.Record{r}, isSearch)
		})
		if s.MaxSteps > 0 {
			s.MaxSteps = max(1, s.MaxSteps-(len(s.Steps)-len(steps)))
		}
		s.Steps, s.Tools = steps, slices.Concat(s.Tools[:i], s.Tools[i+1:])
		return (rules.Rules{}).Next(ctx, s)
	case !rules.AsksAnything(s.Question):
		s.Tools, s.Steps, s.MaxSteps, s.Stuck = knownTools, nil, 0, false
		return (rules.Rules{}).Next(ctx, s)
	}
	args, missing := rules.Fill(&s.Tools[i], s.Question, query(s.Question))
	if len(missing) > 0 {
		return (rules.Rules{}).Next(ctx, s)
	}
	return planner.Decision{
		Action: contextwindow.UseTools, Source: planner.ByRules,
		Calls: []contextwindow.Call{{Tool: s.Tools[i].Name, Arguments: args, Reason: "A full-text search for the goal tells what there is about it."}},
	}, nil
}

// isSearch reports whether a tool is a full-text search, by the end of its
// name: a multiplexer may add any prefix.
func isSearch(tool string) bool {
	return strings.HasSuffix(strings.ToLower(tool), "fts_search")
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

// Bounds of a final text that is built from results.
const (
	maxHits    = 10
	maxSnippet = 300 // bytes of one hit
	maxQuoted  = 4000
)

// findings returns the results of matching tools that are successful and not
// empty, newest last.
func findings(steps []contextwindow.Record, is func(tool string) bool) []contextwindow.Result {
	var list []contextwindow.Result
	for _, step := range steps {
		for _, r := range step.Results {
			if r.Success && is(r.Tool) && !isEmptyResult(r.Text) {
				list = append(list, r)
			}
		}
	}
	return list
}

// called reports whether a matching tool was called.
func called(steps []contextwindow.Record, is func(tool string) bool) bool {
	for _, step := range steps {
		for _, c := range step.Calls {
			if is(c.Tool) {
				return true
			}
		}
	}
	return false
}

// isEmptyResult reports whether a result is empty: no text, an empty list, or
// an object that contains only empty values.
func isEmptyResult(words string) bool {
	words = strings.TrimSpace(words)
	if words == "" {
		return true
	}
	var v any
	if json.Unmarshal([]byte(words), &v) != nil {
		return strings.HasPrefix(strings.ToLower(words), "no results")
	}
	return isEmpty(v)
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return strings.TrimSpace(v) == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		if hits, ok := hitsOf(v); ok {
			return len(hits) == 0
		}
		for _, x := range v {
			if !isEmpty(x) {
				return false
			}
		}
		return true
	}
	return false
}

// hitsOf returns the list of hits in a search result.
func hitsOf(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case map[string]any:
		for _, name := range []string{"results", "hits", "matches", "items", "chunks", "rows", "documents"} {
			if list, ok := v[name].([]any); ok {
				return list, true
			}
		}
	}
	return nil, false
}

// report formats a result: as a list if it has hits, otherwise as a quotation.
func report(r contextwindow.Result) string {
	var v any
	if json.Unmarshal([]byte(r.Text), &v) == nil {
		if hits, ok := hitsOf(v); ok {
			var b strings.Builder
			for i, hit := range hits {
				if i == maxHits {
					fmt.Fprintf(&b, "- … and %d more\n", len(hits)-maxHits)
					break
				}
				b.WriteString("- " + describeHit(hit) + "\n")
			}
			return strings.TrimSpace(b.String())
		}
	}
	return "> " + strings.ReplaceAll(textutil.Shorten(strings.TrimSpace(r.Text), maxQuoted), "\n", "\n> ")
}

// describeHit formats the location and the excerpt of a hit.
func describeHit(hit any) string {
	fields, ok := hit.(map[string]any)
	if !ok {
		return oneLine(textOf(hit))
	}
	where := named(fields, "path", "file", "rel_path", "uri", "url", "title", "name", "id")
	what := named(fields, "snippet", "chunk", "text", "content", "line", "excerpt", "description")
	switch {
	case where == "" && what == "":
		return oneLine(textOf(hit))
	case what == "":
		return "`" + where + "`"
	case where == "":
		return what
	}
	return "`" + where + "`: " + what
}

func named(fields map[string]any, names ...string) string {
	for _, name := range names {
		if s, ok := fields[name].(string); ok && strings.TrimSpace(s) != "" {
			return oneLine(s)
		}
	}
	return ""
}

func oneLine(s string) string {
	return textutil.Shorten(strings.Join(strings.Fields(s), " "), maxSnippet)
}
