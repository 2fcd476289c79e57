package planner

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
)

// Rules decides by rules. The zero value is ready to use. Rules is safe for
// concurrent use.
type Rules struct{}

// Bounds of the work for one question.
const (
	maxRoots    = 4  // roots listed at first
	maxFolders  = 6  // folders listed in one step
	maxReads    = 8  // files read in one step
	maxSearches = 3  // words searched for in one step
	headGist    = 15 // lines of a file read for a summary
	headSearch  = 2000
)

// Next decides the next step.
//
// It never repeats a call that succeeded or may not be retried, and finishes
// when MaxSteps steps have used tools. It does not call tools that may change
// something, unless the caller forces one. It divides a question of several
// parts if sub-problems are still allowed. It reads the first 8 KiB of a
// question. Errors are ctx's, and one that wraps ErrForced if the forced tool
// does not exist or the question lacks its arguments.
func (Rules) Next(ctx context.Context, s State) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	r := &ruleRun{q: parseQuestion(s.Question), box: sortTools(s.Tools), s: &s}
	r.known = newFacts(s.Steps, r.box)
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

// ruleRun is the state of one decision.
type ruleRun struct {
	q     question
	box   toolbox
	known *facts
	s     *State
}

// mayAct reports whether another step is allowed and useful.
func (r *ruleRun) mayAct() bool { return !r.s.Stuck && len(r.s.Steps) < r.s.limit() }

// AsksAnything reports whether a text asks for something that a search could
// find, as opposed to a greeting.
func AsksAnything(text string) bool {
	return parseQuestion(text).asks() || strings.ContainsAny(text, "?？")
}

func (q question) asks() bool {
	return len(q.keywords) > 0 || len(q.files) > 0 || len(q.numbers) > 0 || q.places
}

func (r *ruleRun) asksAnything() bool {
	if r.q.asks() {
		return true
	}
	return strings.ContainsAny(r.q.text, "?？") && !r.box.hasFiles() && r.box.hasSearch()
}

// act returns the first possible step that is not done yet.
func (r *ruleRun) act() (Decision, bool) {
	if !r.mayAct() {
		return Decision{}, false
	}
	if !r.box.hasFiles() {
		return r.callOtherTool()
	}
	for _, step := range []func() (Decision, bool){r.findRoots, r.listRoots, r.listNamed, r.readNamed, r.readBeginnings, r.searchWider, r.readLikely, r.callOtherTool} {
		if d, ok := step(); ok {
			return d, true
		}
	}
	return Decision{}, false
}

// use decides on the calls that are new, if there are any.
func (r *ruleRun) use(thought string, calls []contextwindow.Call) (Decision, bool) {
	calls = slices.DeleteFunc(calls, func(c contextwindow.Call) bool {
		again := r.known.called[signature(c)]
		r.known.called[signature(c)] = true // also for duplicates within calls
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
		return nil // the tool's parameters do not match its role
	}
	return []contextwindow.Call{{Tool: t.Name, Arguments: args, Reason: reason}}
}

func (r *ruleRun) findRoots() (Decision, bool) {
	if r.box.roots == nil || len(r.known.roots) > 0 {
		return Decision{}, false
	}
	return r.use("", call(r.box.roots, "I need to know which folders I may look into."))
}

func (r *ruleRun) rootFolders() []string {
	if len(r.known.roots) > 0 {
		return r.known.roots[:min(len(r.known.roots), maxRoots)]
	}
	return []string{"."}
}

func (r *ruleRun) listRoots() (Decision, bool) {
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

func (r *ruleRun) listCall(dir, reason string) []contextwindow.Call {
	return call(r.box.list, reason, value{param: pathParam, value: dir})
}

// listNamed lists the folders that the question names.
func (r *ruleRun) listNamed() (Decision, bool) {
	var calls []contextwindow.Call
	for _, dir := range r.known.subfolders() {
		if r.names(dir) && len(calls) < maxFolders {
			calls = append(calls, r.listCall(dir, "The question is about the folder "+code(dir)+", so I list it.")...)
		}
	}
	return r.use("", calls)
}

// names reports whether the question mentions a folder by its name.
func (r *ruleRun) names(dir string) bool {
	name := stem(strings.ToLower(base(dir)))
	return slices.ContainsFunc(r.q.words, func(w string) bool { return stem(w) == name })
}

// readNamed reads the files that the question names.
func (r *ruleRun) readNamed() (Decision, bool) {
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

func (r *ruleRun) readCall(p, reason string, head int) []contextwindow.Call {
	values := []value{{param: pathParam, value: p}}
	if head > 0 {
		values = append(values, value{param: headParam, value: head, optional: true})
	}
	return call(r.box.read, reason, values...)
}

// listing reports whether the question only asks for a listing.
func (r *ruleRun) listing() bool {
	if len(r.q.files) > 0 || !r.q.lists && !r.q.places {
		return false
	}
	return !slices.ContainsFunc(r.q.keywords, func(k string) bool { return !r.isPlace(k) })
}

// isPlace reports whether a word names one of the listed folders.
func (r *ruleRun) isPlace(word string) bool {
	return slices.ContainsFunc(r.known.order, func(dir string) bool { return stem(strings.ToLower(base(dir))) == stem(word) })
}

// subjects returns the folders for a question that asks for a listing: the ones
// it names, or else all listed folders.
func (r *ruleRun) subjects() []string {
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

// readBeginnings reads the beginnings of files, to describe their contents.
func (r *ruleRun) readBeginnings() (Decision, bool) {
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
	return r.use(r.listingSummary(), calls)
}

// listingSummary returns the numbers of files and folders in the listings.
func (r *ruleRun) listingSummary() string {
	var parts []string
	for _, dir := range r.subjects() {
		parts = append(parts, code(dir)+" holds "+count(r.known.folders[dir]))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}

// searchWider searches for files with the question's words in their names, and
// lists the folders that the question does not name.
func (r *ruleRun) searchWider() (Decision, bool) {
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
	return r.use(r.listingSummary(), calls)
}

func (r *ruleRun) searchCalls(words []string) []contextwindow.Call {
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

// anyCase returns a glob of a word that also matches a capital first letter.
func anyCase(w string) string {
	first := w[:1]
	if lower, upper := strings.ToLower(first), strings.ToUpper(first); lower != upper && len(upper) == 1 {
		return "[" + lower + upper + "]" + w[1:]
	}
	return w
}

// readLikely reads the files that are most likely to have the answer, and more
// of them until a passage matches.
func (r *ruleRun) readLikely() (Decision, bool) {
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

func (r *ruleRun) likelihood(p string) int {
	score := 4*r.q.matches(base(p)) + r.q.matches(p)
	if strings.HasPrefix(strings.ToLower(base(p)), "readme") {
		score++
	}
	return score
}

// callOtherTool calls the one other tool that fits the question best.
func (r *ruleRun) callOtherTool() (Decision, bool) {
	if len(r.known.other) > 0 || len(r.passages()) > 0 || r.box.hasFiles() && r.listing() {
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
		if len(f.args) == 0 && !slices.ContainsFunc(distinctiveWords(t), r.q.mentions) {
			continue // a tool without arguments must be named by the question
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

// toolNames lists the tools that the rules can use.
func (r *ruleRun) toolNames() []string {
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
