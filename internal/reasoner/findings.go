package reasoner

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
)

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
			return listHits(hits)
		}
	}
	return "> " + strings.ReplaceAll(textutil.Shorten(strings.TrimSpace(r.Text), maxQuoted), "\n", "\n> ")
}

func listHits(hits []any) string {
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

// describeHit formats the location and the excerpt of a hit.
func describeHit(hit any) string {
	fields, ok := hit.(map[string]any)
	if !ok {
		return oneLine(scalar(hit))
	}
	where := named(fields, "path", "file", "rel_path", "uri", "url", "title", "name", "id")
	what := named(fields, "snippet", "chunk", "text", "content", "line", "excerpt", "description")
	switch {
	case where == "" && what == "":
		return oneLine(scalar(hit))
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
