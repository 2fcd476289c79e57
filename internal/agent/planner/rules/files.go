package rules

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// Bounds of the file calls in one step.
const (
	maxRoots    = 4 // roots listed or searched
	maxFolders  = 6 // folders listed
	maxReads    = 8 // files read
	maxSearches = 3 // words searched for

	linesGist   = 15 // lines of a file read for a listing
	linesSearch = 2000
)

// useFiles decides on the first step with the file tools that has new calls: to
// find and list the roots, to list the folders and read the files that the
// question names, and then to read the beginnings of the listed files, or to
// search for files that may have the answer and read them.
func (r *run) useFiles() (d planner.Decision, ok bool) {
	if !r.box.hasFiles() {
		return d, false
	}
	try := func(thought string, calls []contextwindow.Call) bool {
		d, ok = r.use(thought, calls)
		return ok
	}
	var allowed, unread string
	if len(r.roots) > 0 {
		allowed = "I may look into " + codes(r.roots) + "."
	}
	if len(r.read) > 0 {
		unread = "What I have read says nothing about " + r.q.subject() + "."
	}
	// The question may be about folders or files, and not about what is written in them.
	aboutFolders := len(r.q.files) > 0 || r.q.places || slices.Contains(r.q.words, "list")
	if r.box.quotes != nil && (r.searchesFile() || !aboutFolders) {
		d, ok = r.quote()
		if ok || r.passage() != "" || len(r.quoted) > 0 && !r.searchesFile() || r.declined {
			return d, ok
		}
	}
	folders := slices.DeleteFunc(r.subfolders(), func(dir string) bool { return !r.q.names(folderName(dir)) })
	files := slices.DeleteFunc(r.files(), func(p string) bool { return !r.q.namesFile(p) })
	switch {
	case len(r.roots) == 0 && try("", fileCall(nil, r.box.roots, "I need to know which folders I may look into.", "", "", 0)):
	case try(allowed, r.list(r.rootFolders(), "I list %s to see what there is.")):
	case try("", r.list(folders, "The question is about the folder %s, so I list it.")):
	case try("", r.open(files, 0, "The question names %s, so I read it.")):
	case len(files) == 0 && try("No file of that name is in the folders that I have listed.", r.searchFor(r.q.files)):
	case r.isListing():
		try(r.summary(code), r.preview())
	case len(files) == 0 && r.box.quotes != nil && (len(r.quoted) > 0 || !r.declined):
		d, ok = r.quote()
	case len(files) == 0 && try(r.summary(code), r.sparing(1, append(r.searchFor(r.q.keywords), r.list(r.subfolders(), "What I look for may be in %s.")...))):
	case len(files) == 0 && len(r.passages()) == 0:
		try(unread, r.sparing(1, r.open(r.likely(), linesSearch, "I read %s in search of "+r.q.subject()+".")))
	}
	return d, ok
}

// searchesFile reports whether the search for passages is limited to the one file that the
// question is about a part of.
func (r *run) searchesFile() bool {
	return r.q.isAboutPart() && len(r.q.files) == 1 && !r.wantsFiles() && r.box.quotes.schema.Properties["path"].allows("string")
}

// quote searches the documents, or the file that the question is about a part of: for the words of the question together with those that it
// refers to, and if that finds only passages about the latter, for its own words alone.
func (r *run) quote() (d planner.Decision, ok bool) {
	if r.passage() != "" {
		return d, false
	}
	searches := []string{strings.Join(r.q.terms(), " ")}
	if r.searchesFile() {
		searches[0] = strings.Join(r.q.keywords, " ")
	}
	if strings.Join(r.quoted, "") != "" {
		searches = append(searches, strings.Join(r.q.own, " "))
	}
	for _, words := range unique(searches) {
		f := filler{tool: r.box.quotes, args: map[string]any{r.box.quotes.schema.find(queryRole): words}}
		if r.wantsFiles() {
			f.args["files"] = true
		}
		if r.searchesFile() {
			f.args["path"] = r.q.files[0]
		}
		c, err := f.call()
		if err != nil {
			return d, false
		}
		c.Reason = "The documents may say something about “" + words + "”."
		d, ok = r.use("", r.sparing(1, []contextwindow.Call{c}))
		if ok {
			return d, ok
		}
	}
	return d, false
}

// wantsFiles reports whether the question asks for the files that have its words, and the
// search can return them.
func (r *run) wantsFiles() bool {
	return r.box.quotes != nil && r.box.quotes.schema.Properties["files"].allows("boolean") && asksForFiles.MatchString(r.q.text)
}

// passage returns what the search for passages found; "": nothing. Passages without any word
// of a follow-up itself do not answer it.
func (r *run) passage() string {
	for _, found := range r.quoted {
		has := func(word string) bool { return strings.Contains(strings.ToLower(found), textutil.Stem(word)) }
		if found != "" && (len(r.q.about) == 0 || len(r.q.own) == 0 || r.wantsFiles() || slices.ContainsFunc(r.q.own, has)) {
			return found
		}
	}
	return ""
}

// preview returns the calls that read the beginnings of the listed files, or those that get
// the titles of many. The listing answers without them, so no person is asked to allow them.
func (r *run) preview() (calls []contextwindow.Call) {
	var files []string // those whose beginnings describe them
	for _, dir := range r.listedFolders() {
		for _, e := range r.folders[dir] {
			if !isFolder(e) && isTextual(e) {
				files = append(files, join(dir, e))
			}
		}
	}
	if len(files) <= maxReads || !r.box.list.schema.Properties["titles"].allows("boolean") {
		calls = r.open(files, linesGist, "I read the beginning of %s to be able to say what it is about.")
	} else {
		for _, dir := range r.listedFolders()[:min(len(r.listedFolders()), maxFolders)] {
			f := filler{tool: r.box.list, args: map[string]any{r.box.list.schema.find(pathRole): dir, "titles": true}}
			if c, err := f.call(); err == nil {
				c.Reason = "The titles say what the files in " + code(dir) + " are about."
				calls = append(calls, c)
			}
		}
	}
	for i := range calls {
		calls[i].Optional = true
	}
	return r.sparing(0, calls)
}

func (r *run) rootFolders() []string {
	if len(r.roots) == 0 {
		return []string{"."}
	}
	return r.roots[:min(len(r.roots), maxRoots)]
}

// likely returns the files that were not read, the most likely to have the
// answer first.
func (r *run) likely() []string {
	files := slices.DeleteFunc(r.files(), func(p string) bool { return slices.Contains(r.read, p) || !isTextual(p) })
	likelihood := func(p string) int {
		score := 4*r.q.matches(base(p)) + r.q.matches(p)
		if strings.HasPrefix(strings.ToLower(base(p)), "readme") {
			score++
		}
		return score
	}
	sort.SliceStable(files, func(i, j int) bool { return likelihood(files[i]) > likelihood(files[j]) })
	return files
}

// isListing reports whether the question only asks for a listing: it has no
// keywords that are not the names of listed folders.
func (r *run) isListing() bool {
	if len(r.q.files) > 0 || !r.q.lists && !r.q.places {
		return false
	}
	return !slices.ContainsFunc(r.q.keywords, func(k string) bool {
		return !slices.ContainsFunc(r.listed, func(dir string) bool { return textutil.Stem(folderName(dir)) == textutil.Stem(k) })
	})
}

// listedFolders returns the listed folders that the question names, or else all
// of them.
func (r *run) listedFolders() []string {
	named := slices.DeleteFunc(slices.Clone(r.listed), func(dir string) bool { return !r.q.names(folderName(dir)) })
	if len(named) > 0 {
		return named
	}
	return r.listed
}

// summary returns the numbers of files and folders in the listings.
func (r *run) summary(name func(dir string) string) string {
	var parts []string
	for _, dir := range r.listedFolders() {
		parts = append(parts, name(dir)+" holds "+count(r.folders[dir]))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}

func (r *run) list(dirs []string, reason string) (calls []contextwindow.Call) {
	for _, dir := range dirs[:min(len(dirs), maxFolders)] {
		calls = fileCall(calls, r.box.list, fmt.Sprintf(reason, code(dir)), dir, "", 0)
	}
	return calls
}

func (r *run) open(files []string, lines int, reason string) (calls []contextwindow.Call) {
	for _, p := range files[:min(len(files), maxReads)] {
		calls = fileCall(calls, r.box.read, fmt.Sprintf(reason, code(base(p))), p, "", lines)
	}
	return calls
}

// searchFor searches for files with one of the words in their names.
func (r *run) searchFor(words []string) (calls []contextwindow.Call) {
	for _, root := range r.rootFolders() {
		for _, w := range words[:min(len(words), maxSearches)] {
			calls = fileCall(calls, r.box.search, "I look for files with “"+w+"” in their names.", root, namePattern(w), 0)
		}
	}
	return calls
}

// fileCall appends a call of a file tool, unless there is no such tool or the
// arguments do not fit its schema. lines bounds a file that is read, if the
// tool can; 0 is no bound.
func fileCall(calls []contextwindow.Call, t *tool, reason, path, pattern string, lines int) []contextwindow.Call {
	if t == nil {
		return calls
	}
	f := filler{tool: t, args: make(map[string]any)}
	if path != "" {
		f.args[t.schema.find(pathRole)] = path
	}
	if pattern != "" {
		f.args[t.schema.find(patternRole)] = pattern
	}
	for _, name := range linesRole {
		if lines > 0 && t.schema.Properties[name].isNumber() {
			f.args[name], lines = lines, 0
		}
	}
	c, err := f.call()
	if err != nil {
		return calls
	}
	c.Reason = reason
	return append(calls, c)
}
