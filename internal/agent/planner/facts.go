package planner

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
)

// facts holds the contents of a question's records, by role.
type facts struct {
	called   map[string]bool // by signature: calls that are not to be made again
	roots    []string        // folders that may be listed
	folders  map[string][]entry
	order    []string                        // the keys of folders, in the order of listing
	texts    map[string]string               // contents of the files that were read, by path
	reads    []string                        // the keys of texts, in the order of reading
	found    []string                        // paths that a search found
	failures []string                        // failed calls, as sentences
	other    []contextwindow.Result          // results of tools without a role
	results  map[string]contextwindow.Result // of every call, by its signature
}

type entry struct {
	name string
	dir  bool
}

var (
	listLine = regexp.MustCompile(`^\[(FILE|DIR)\]\s+(.+?)\s*$`)
	absolute = regexp.MustCompile(`^(/|[A-Za-z]:[\\/])`)
)

// newFacts reads the records.
func newFacts(steps []contextwindow.Record, box toolbox) *facts {
	k := &facts{
		called:  make(map[string]bool),
		folders: make(map[string][]entry),
		texts:   make(map[string]string),
		results: make(map[string]contextwindow.Result),
	}
	attempts := make(map[string]int)
	for _, step := range steps {
		for i, call := range step.Calls {
			key := signature(call)
			attempts[key]++
			failed := i < len(step.Results) && !step.Results[i].OK() && retryable(step.Results[i].Outcome)
			k.called[key] = !failed || attempts[key] >= maxAttempts
			if i < len(step.Results) {
				k.results[signature(call)] = step.Results[i]
				k.result(call, step.Results[i], box)
			}
		}
	}
	return k
}

// retryable reports whether a call with this outcome may succeed when it is
// made again, because its tool failed. A permission is not requested again.
func retryable(o contextwindow.Outcome) bool { return o == "" || o == contextwindow.Failure }

// signature is the same for two calls of the same tool with equal arguments,
// regardless of their formatting.
func signature(c contextwindow.Call) string {
	dec := json.NewDecoder(bytes.NewReader(c.Arguments))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return c.Tool + " " + string(c.Arguments)
	}
	return c.Tool + " " + string(marshal(v))
}

func (k *facts) result(call contextwindow.Call, r contextwindow.Result, box toolbox) {
	if !r.OK() {
		k.failures = append(k.failures, "`"+call.Tool+"` failed: "+strings.TrimRight(firstLine(r.Error, 300), ". ")+".")
		return
	}
	where := argument(call, pathParam)
	switch {
	case is(box.roots, call):
		k.roots = append(k.roots, absolutePaths(r.Text)...)
	case is(box.list, call):
		if _, again := k.folders[where]; !again {
			k.order = append(k.order, where)
		}
		k.folders[where] = parseListing(r.Text)
	case is(box.read, call):
		if _, again := k.texts[where]; !again {
			k.reads = append(k.reads, where)
		}
		k.texts[where] = r.Text
	case is(box.search, call):
		k.found = append(k.found, absolutePaths(r.Text)...)
	default:
		k.other = append(k.other, r)
	}
}

func is(t *Tool, call contextwindow.Call) bool { return t != nil && t.Name == call.Tool }

func absolutePaths(text string) []string {
	var paths []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if absolute.MatchString(line) && !slices.Contains(paths, line) {
			paths = append(paths, line)
		}
	}
	return paths
}

// parseListing parses the listing of a filesystem server. Other lines are
// treated as names of files.
func parseListing(text string) []entry {
	var entries []entry
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := listLine.FindStringSubmatch(line); m != nil {
			entries = append(entries, entry{name: m[2], dir: m[1] == "DIR"})
			continue
		}
		if line != "" && !strings.HasPrefix(line, "[") {
			entries = append(entries, entry{name: strings.TrimSuffix(line, "/"), dir: strings.HasSuffix(line, "/")})
		}
	}
	return entries
}

// join appends a name to a folder, with the folder's separator.
func join(dir, name string) string {
	if dir == "." || dir == "" {
		return name
	}
	if strings.Contains(dir, `\`) && !strings.Contains(dir, "/") {
		return strings.TrimRight(dir, `\`) + `\` + name
	}
	return strings.TrimRight(dir, "/") + "/" + name
}

func base(p string) string { return path.Base(strings.ReplaceAll(p, `\`, "/")) }

// files returns the paths of all known files, search results first.
func (k *facts) files() []string {
	var files []string
	seen := make(map[string]bool)
	add := func(p string) {
		if !seen[p] {
			seen[p] = true
			files = append(files, p)
		}
	}
	for _, p := range k.found {
		if !k.isFolder(p) {
			add(p)
		}
	}
	for _, dir := range k.order {
		for _, e := range k.folders[dir] {
			if !e.dir {
				add(join(dir, e.name))
			}
		}
	}
	return files
}

// subfolders returns the known folders that may be relevant.
func (k *facts) subfolders() []string {
	var dirs []string
	for _, dir := range k.order {
		for _, e := range k.folders[dir] {
			if e.dir && !strings.HasPrefix(e.name, ".") && e.name != "node_modules" && e.name != "vendor" {
				dirs = append(dirs, join(dir, e.name))
			}
		}
	}
	return dirs
}

func (k *facts) isFolder(p string) bool {
	if _, listed := k.folders[p]; listed {
		return true
	}
	return slices.Contains(k.subfolders(), p)
}

// textual reports whether a file name suggests text.
func textual(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	if ext == "" {
		return true
	}
	return textExtensions[ext]
}

var textExtensions = wordSet(`.md .markdown .mdx .txt .text .rst .adoc .org .csv .tsv .json .jsonl .yaml .yml .toml .ini .conf .cfg
	.env .xml .html .htm .css .js .mjs .ts .tsx .jsx .go .py .rb .rs .java .kt .c .h .cc .cpp .hpp .cs .php .sh .sql .proto .tf .log .tex .bib .diff .patch`)

// firstLine returns the first line with content, cut to max characters.
func firstLine(text string, max int) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && strings.Trim(line, "-=#*`") != "" {
			return textutil.Shorten(line, max)
		}
	}
	return ""
}
