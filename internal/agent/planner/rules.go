package planner

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
)

// Rules decides by rules. The zero value is ready; it may be used by many at
// the same time.
type Rules struct{}

// Bounds of what is done for one question.
const (
	maxRoots    = 4  // folders listed to begin with
	maxFolders  = 6  // folders listed in one step
	maxReads    = 8  // files read in one step
	maxSearches = 3  // words searched for in one step
	headGist    = 15 // lines read to say what a file is about
	headSearch  = 2000
)

// Next decides the next step.
//
// It never asks for a call that the records have already, and finishes when
// MaxSteps steps used tools. Tools that may change something are left alone,
// unless the caller forces one. A question of several parts is divided, as long
// as there may be sub-problems. Of a question the first 8 KiB are read. Errors
// are ctx's, and one that wraps ErrForced where the forced tool is not there or
// the question does not say what it needs.
func (Rules) Next(ctx context.Context, s State) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	r := &ruling{q: parseQuestion(s.Question), box: sortTools(s.Tools), s: &s}
	r.known = learn(s.Steps, r.box)
	if s.Forced != "" {
		return r.force()
	}
	if len(s.Tools) == 0 {
		return finish("I have no tools to look that up with, so I cannot say anything about it.", "There are no tools to work with.", 0.1), nil
	}
	if !r.asksAnything() {
		return r.introduce(), nil
	}
	for _, step := range []func() (Decision, bool){r.divide, r.direct, r.act} {
		if d, ok := step(); ok {
			return d, nil
		}
	}
	return r.answer(), nil
}

// ruling is one decision in the making.
type ruling struct {
	q     question
	box   toolbox
	known *knowledge
	s     *State
}

// mayAct reports whether there is another step, and sense in taking it.
func (r *ruling) mayAct() bool { return !r.s.Stuck && len(r.s.Steps) < r.s.limit() }

// AsksAnything reports whether a text asks for something that a search could
// find, rather than just saying hello.
func AsksAnything(text string) bool {
	return parseQuestion(text).asks() || strings.ContainsAny(text, "?？")
}

func (q question) asks() bool {
	return len(q.keywords) > 0 || len(q.files) > 0 || len(q.numbers) > 0 || q.places
}

func (r *ruling) asksAnything() bool {
	if r.q.asks() {
		return true
	}
	return strings.ContainsAny(r.q.text, "?？") && !r.box.files() && r.box.searcher()
}

// act returns the first of the possible next steps that is not done yet.
func (r *ruling) act() (Decision, bool) {
	if !r.mayAct() {
		return Decision{}, false
	}
	if !r.box.files() {
		return r.askElsewhere()
	}
	for _, step := range []func() (Decision, bool){r.findRoots, r.listRoots, r.listNamed, r.readNamed, r.gist, r.searchWider, r.readLikely, r.askElsewhere} {
		if d, ok := step(); ok {
			return d, true
		}
	}
	return Decision{}, false
}

// use makes a decision of those calls that are new, if there are any.
func (r *ruling) use(thought string, calls []contextwindow.Call) (Decision, bool) {
	calls = slices.DeleteFunc(calls, func(c contextwindow.Call) bool {
		again := r.known.called[signature(c)]
		r.known.called[signature(c)] = true // also for twins within calls
		return again
	})
	if len(calls) == 0 {
		return Decision{}, false
	}
	return Decision{Action: contextwindow.UseTools, Source: ByRules, Thought: thought, Calls: calls}, true
}

func call(t *Tool, reason string, values ...value) []contextwindow.Call {
	args, err := t.build(values...)
	if err != nil {
		return nil // a tool that takes something else than it seemed to
	}
	return []contextwindow.Call{{Tool: t.Name, Arguments: args, Reason: reason}}
}

func (r *ruling) findRoots() (Decision, bool) {
	if r.box.roots == nil || len(r.known.roots) > 0 {
		return Decision{}, false
	}
	return r.use("", call(r.box.roots, "I need to know which folders I may look into."))
}

func (r *ruling) rootFolders() []string {
	if len(r.known.roots) > 0 {
		return r.known.roots[:min(len(r.known.roots), maxRoots)]
	}
	return []string{"."}
}

func (r *ruling) listRoots() (Decision, bool) {
	var calls []contextwindow.Call
	for _, root := range r.rootFolders() {
		calls = append(calls, r.listCall(root, "I list "+code(root)+" to see what there is.")...)
	}
	thought := ""
	if n := len(r.known.roots); n > 0 {
		thought = fmt.Sprintf("I may look into %s.", codes(r.known.roots))
	}
	return r.use(thought, calls)
}

func (r *ruling) listCall(dir, reason string) []contextwindow.Call {
	return call(r.box.list, reason, value{param: pathParam, value: dir})
}

// listNamed lists the folders whose names the question mentions.
func (r *ruling) listNamed() (Decision, bool) {
	var calls []contextwindow.Call
	for _, dir := range r.known.subfolders() {
		if r.names(dir) && len(calls) < maxFolders {
			calls = append(calls, r.listCall(dir, "The question is about the folder "+code(dir)+", so I list it.")...)
		}
	}
	return r.use("", calls)
}

// names reports whether the question mentions a folder by its name.
func (r *ruling) names(dir string) bool {
	name := stem(strings.ToLower(base(dir)))
	return slices.ContainsFunc(r.q.words, func(w string) bool { return stem(w) == name })
}

// readNamed reads the files that the question names.
func (r *ruling) readNamed() (Decision, bool) {
	var calls []contextwindow.Call
	for _, name := range r.q.files {
		for _, p := range r.known.files() {
			if sameFile(p, name) && len(calls) < maxReads {
				calls = append(calls, r.readCall(p, "The question names "+code(base(p))+", so I read it.", 0)...)
			}
		}
	}
	if len(calls) == 0 && len(r.q.files) > 0 && r.box.search != nil {
		return r.use("No file of that name is in the folders that I have listed.", r.searchCalls(r.q.files))
	}
	return r.use("", calls)
}

func sameFile(p, name string) bool {
	p, name = strings.ToLower(strings.ReplaceAll(p, `\`, "/")), strings.ToLower(strings.ReplaceAll(name, `\`, "/"))
	return p == name || strings.HasSuffix(p, "/"+strings.TrimPrefix(name, "./"))
}

func (r *ruling) readCall(p, reason string, head int) []contextwindow.Call {
	values := []value{{param: pathParam, value: p}}
	if head > 0 {
		values = append(values, value{param: headParam, value: head, optional: true})
	}
	return call(r.box.read, reason, values...)
}

// listing reports whether the question asks what there is, and about no matter
// beyond that.
func (r *ruling) listing() bool {
	if len(r.q.files) > 0 || !r.q.lists && !r.q.places {
		return false
	}
	return !slices.ContainsFunc(r.q.keywords, func(k string) bool { return !r.isPlace(k) })
}

// isPlace reports whether a word names one of the folders that were listed.
func (r *ruling) isPlace(word string) bool {
	return slices.ContainsFunc(r.known.order, func(dir string) bool { return stem(strings.ToLower(base(dir))) == stem(word) })
}

// subjects are the folders that a question about what there is means: those
// that it names, or else the roots.
func (r *ruling) subjects() []string {
	var named []string
	for _, dir := range r.known.order {
		if r.names(dir) {
			named = append(named, dir)
		}
	}
	if len(named) > 0 {
		return named
	}
	return r.known.order
}

// gist reads the beginnings of files, to say what they are about.
func (r *ruling) gist() (Decision, bool) {
	if !r.listing() {
		return Decision{}, false
	}
	var calls []contextwindow.Call
	for _, dir := range r.subjects() {
		for _, e := range r.known.folders[dir] {
			if !e.dir && textual(e.name) && len(calls) < maxReads {
				calls = append(calls, r.readCall(join(dir, e.name), "I read the beginning of "+code(e.name)+" to be able to say what it is about.", headGist)...)
			}
		}
	}
	return r.use(r.counted(), calls)
}

// counted says what the listings hold.
func (r *ruling) counted() string {
	var parts []string
	for _, dir := range r.subjects() {
		parts = append(parts, code(dir)+" holds "+count(r.known.folders[dir]))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}

// searchWider looks for files whose names have the words of the question, and
// into the folders that were not named.
func (r *ruling) searchWider() (Decision, bool) {
	if r.listing() || len(r.q.files) > 0 && len(r.known.reads) > 0 {
		return Decision{}, false
	}
	var calls []contextwindow.Call
	if r.box.search != nil {
		calls = append(calls, r.searchCalls(r.q.keywords)...)
	}
	for _, dir := range r.known.subfolders() {
		if len(calls) >= maxFolders+maxSearches {
			break
		}
		calls = append(calls, r.listCall(dir, "What I look for may be in "+code(dir)+".")...)
	}
	return r.use(r.counted(), calls)
}

func (r *ruling) searchCalls(words []string) []contextwindow.Call {
	var calls []contextwindow.Call
	for _, root := range r.rootFolders() {
		for _, w := range words[:min(len(words), maxSearches)] {
			pattern := "**/*" + anyCase(stem(base(w))) + "*"
			calls = append(calls, call(r.box.search, "I look for files with “"+w+"” in their names.",
				value{param: pathParam, value: root}, value{param: patternParam, value: pattern})...)
		}
	}
	return calls
}

// anyCase makes a glob of a word that finds it with a capital letter too.
func anyCase(w string) string {
	first := w[:1]
	if lower, upper := strings.ToLower(first), strings.ToUpper(first); lower != upper && len(upper) == 1 {
		return "[" + lower + upper + "]" + w[1:]
	}
	return w
}

// readLikely reads the files that are most likely to have the answer, and more
// of them as long as nothing was found.
func (r *ruling) readLikely() (Decision, bool) {
	if r.listing() || len(r.known.reads) > 0 && len(r.passages()) > 0 {
		return Decision{}, false
	}
	var candidates []string
	for _, p := range r.known.files() {
		if _, done := r.known.texts[p]; !done && textual(base(p)) {
			candidates = append(candidates, p)
		}
	}
	sort.SliceStable(candidates, func(i, j int) bool { return r.likelihood(candidates[i]) > r.likelihood(candidates[j]) })
	var calls []contextwindow.Call
	for _, p := range candidates[:min(len(candidates), maxReads)] {
		reason := "I read " + code(base(p)) + " in search of " + r.q.subject() + "."
		if r.q.matches(base(p)) > 0 {
			reason = "The name of " + code(base(p)) + " fits the question, so I read it."
		}
		calls = append(calls, r.readCall(p, reason, headSearch)...)
	}
	thought := ""
	if len(r.known.reads) > 0 {
		thought = "What I have read says nothing about " + r.q.subject() + "."
	}
	return r.use(thought, calls)
}

func (r *ruling) likelihood(p string) int {
	score := 4*r.q.matches(base(p)) + r.q.matches(p)
	if strings.HasPrefix(strings.ToLower(base(p)), "readme") {
		score++
	}
	return score
}

// askElsewhere asks the one other tool that fits the question best.
func (r *ruling) askElsewhere() (Decision, bool) {
	if len(r.known.other) > 0 || len(r.passages()) > 0 || r.box.files() && r.listing() {
		return Decision{}, false
	}
	var best contextwindow.Call
	bestScore := 0
	for i := range r.box.query {
		t := &r.box.query[i]
		score := 2*r.q.matches(strings.Join(nameParts(t.Name), " ")) + r.q.matches(t.Description)
		f := r.fill(t)
		score += 2 * f.chosen
		if searches(t) {
			score += 2
		}
		c := f.call("")
		if len(c) == 0 || r.known.called[signature(c[0])] {
			continue
		}
		if len(f.args) == 0 && !slices.ContainsFunc(telling(t), r.q.says) {
			continue // one that takes nothing is called for its name alone
		}
		if score > bestScore {
			best, bestScore = c[0], score
		}
	}
	if bestScore == 0 {
		return Decision{}, false
	}
	best.Reason = code(best.Tool) + " may know something about " + r.q.subject() + "."
	return r.use("", []contextwindow.Call{best})
}

func takesQuery(t *Tool) bool {
	_, ok := parseSchema(t.InputSchema).find(queryParam)
	return ok
}

// toolNames lists the tools that the rules would use.
func (r *ruling) toolNames() []string {
	var names []string
	for _, t := range []*Tool{r.box.list, r.box.read, r.box.search} {
		if t != nil {
			names = append(names, t.Name)
		}
	}
	for _, t := range r.box.query {
		names = append(names, t.Name)
	}
	return names
}
