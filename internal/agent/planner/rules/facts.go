package rules

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
)

// facts holds the results of a question's calls, by role.
type facts struct {
	results  map[string]contextwindow.Result // of every call, by its key
	spent    map[string]bool                 // keys of the calls that are not made again
	roots    []string                        // folders that may be listed
	listed   []string                        // the keys of folders, in the order of listing
	folders  map[string][]string             // names of entries by path; a folder's name ends with a slash
	read     []string                        // the keys of texts, in the order of reading
	texts    map[string]string               // contents of files by path
	found    []string                        // paths that a search found
	titles   map[string]string               // of listed files by path, if the listing has them
	quoted   []string                        // passages, of each search for them; "": it found none
	other    []contextwindow.Result          // results of tools without a role
	failures []string                        // failed calls, as sentences
	declined bool                            // a call was proposed and not approved
}

// maxAttempts bounds the attempts of a call that fails.
const maxAttempts = 2

// readFacts reads the records. A call is made again only if its tool failed, or
// if its outcome is unknown and its tool only reads: a permission is not
// requested twice.
func readFacts(steps []contextwindow.Record, box *toolbox) facts {
	f := facts{
		results: make(map[string]contextwindow.Result), spent: make(map[string]bool),
		folders: make(map[string][]string), texts: make(map[string]string), titles: make(map[string]string),
	}
	attempts := make(map[string]int)
	for _, step := range steps {
		for i, c := range step.Calls {
			key := c.Key()
			attempts[key]++
			f.spent[key] = true
			if i >= len(step.Results) {
				continue
			}
			res := step.Results[i]
			f.results[key] = res
			if res.OK() {
				f.add(c, res, box)
				continue
			}
			if res.Outcome == contextwindow.Unknown {
				if box.roots.isNamed(c.Tool) || slices.Contains(box.names(), c.Tool) { // the tool only reads
					f.spent[key] = false
					delete(f.results, key)
				} else {
					f.failures = append(f.failures, "`"+c.Tool+"` was called before a restart, and its outcome is unknown: it may have taken effect.")
				}
				continue
			}
			f.spent[key] = attempts[key] >= maxAttempts || res.Outcome != "" && res.Outcome != contextwindow.Failure
			if c.Optional {
				continue
			}
			f.declined = f.declined || res.Outcome != "" && res.Outcome != contextwindow.Failure
			f.failures = append(f.failures, "`"+c.Tool+"` failed: "+strings.TrimRight(firstLine(res.Error, 300), ". ")+".")
		}
	}
	return f
}

// add adds a successful result.
func (f *facts) add(c contextwindow.Call, res contextwindow.Result, box *toolbox) {
	var args map[string]any
	_ = json.Unmarshal(c.Arguments, &args) // invalid arguments have no path
	where := ""
	for _, name := range pathRole {
		if s, ok := args[name].(string); ok {
			where = s
			break
		}
	}
	switch {
	case box.roots.isNamed(c.Tool):
		f.roots = append(f.roots, absolutePaths(res.Text)...)
	case box.list.isNamed(c.Tool):
		if _, again := f.folders[where]; !again {
			f.listed = append(f.listed, where)
		}
		f.folders[where] = entries(res.Text)
		for i, e := range f.folders[where] {
			if name, title, ok := strings.Cut(e, "\t"); ok && strings.Contains(string(c.Arguments), `"titles":true`) {
				f.folders[where][i] = name
				f.titles[join(where, name)] = title
			}
		}
	case box.read.isNamed(c.Tool):
		if _, again := f.texts[where]; !again {
			f.read = append(f.read, where)
		}
		f.texts[where] = res.Text
	case box.search.isNamed(c.Tool):
		f.found = append(f.found, absolutePaths(res.Text)...)
	case box.quotes.isNamed(c.Tool):
		text := strings.TrimSpace(res.Text)
		if strings.HasPrefix(text, "No matches") {
			text = ""
		}
		f.quoted = append(f.quoted, text)
	default:
		f.other = append(f.other, res)
	}
}

var absolute = regexp.MustCompile(`^(/|[A-Za-z]:[\\/])`)

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

// entries parses the listing of a filesystem server. Other lines are names.
func entries(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "[DIR] "); ok {
			names = append(names, strings.TrimSpace(name)+"/")
		} else if name, ok := strings.CutPrefix(line, "[FILE] "); ok {
			names = append(names, strings.TrimSpace(name))
		} else if line != "" && !strings.HasPrefix(line, "[") {
			names = append(names, line)
		}
	}
	return names
}

func isFolder(entry string) bool { return strings.HasSuffix(entry, "/") }

// join appends an entry to a folder, with the folder's separator.
func join(dir, entry string) string {
	entry = strings.TrimSuffix(entry, "/")
	switch {
	case dir == "." || dir == "":
		return entry
	case strings.Contains(dir, `\`) && !strings.Contains(dir, "/"):
		return strings.TrimRight(dir, `\`) + `\` + entry
	}
	return strings.TrimRight(dir, "/") + "/" + entry
}

func base(p string) string { return path.Base(slashed(p)) }

func slashed(p string) string { return strings.ReplaceAll(p, `\`, "/") }

func folderName(dir string) string { return strings.ToLower(base(dir)) }

// sameFile reports whether a path leads to a file, named by the end of its path.
func sameFile(p, name string) bool {
	p, name = strings.ToLower(slashed(p)), strings.ToLower(slashed(name))
	return p == name || strings.HasSuffix(p, "/"+strings.TrimPrefix(name, "./"))
}

// relative returns a path as seen from the folder that may be listed, which is known by its name.
func (f *facts) relative(p string) string {
	for _, root := range f.roots {
		if p == root {
			return base(root)
		}
		if rest, ok := strings.CutPrefix(slashed(p), strings.TrimRight(slashed(root), "/")+"/"); ok {
			return rest
		}
	}
	return p
}

// files returns the paths of all known files, search results first.
func (f *facts) files() []string {
	dirs := append(f.subfolders(), f.listed...)
	files := slices.DeleteFunc(slices.Clone(f.found), func(p string) bool { return slices.Contains(dirs, p) })
	for _, dir := range f.listed {
		for _, e := range f.folders[dir] {
			if !isFolder(e) {
				files = append(files, join(dir, e))
			}
		}
	}
	return unique(files)
}

// subfolders returns the known folders that may be relevant.
func (f *facts) subfolders() []string {
	var dirs []string
	for _, dir := range f.listed {
		for _, e := range f.folders[dir] {
			if isFolder(e) && !strings.HasPrefix(e, ".") && e != "node_modules/" && e != "vendor/" {
				dirs = append(dirs, join(dir, e))
			}
		}
	}
	return dirs
}

// isTextual reports whether a file name suggests text.
func isTextual(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == "" || textExtensions[ext]
}

var textExtensions = wordSet(`.md .markdown .mdx .txt .text .rst .adoc .org .csv .tsv .json .jsonl .yaml .yml .toml .ini .conf .cfg
	.env .xml .html .htm .css .js .mjs .ts .tsx .jsx .go .py .rb .rs .java .kt .c .h .cc .cpp .hpp .cs .php .sh .sql .proto .tf .log .tex .bib .diff .patch`)
