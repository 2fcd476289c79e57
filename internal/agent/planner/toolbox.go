package planner

import (
	"slices"
	"strings"
)

// toolbox sorts tools by role. The file tools all belong to one host: a path
// that one host lists means nothing, or another file, to the next.
type toolbox struct {
	host   string // of the file tools
	roots  *Tool  // lists the allowed folders
	list   *Tool  // lists a folder
	read   *Tool  // reads a file
	search *Tool  // finds files by a glob below a folder
	query  []Tool // all others
	unsafe int    // tools that may change something; the rules never call them
}

// changing are the verbs of tools that do more than look.
var changing = wordSet(`add append apply approve archive book buy cancel change clear close commit copy create delete deploy
	disable drop edit enable erase exec execute insert install invite kick kill merge modify move patch pay post publish purge push put
	remove rename replace reset restart restore run save send set start stop submit transfer truncate uninstall update upload write`)

// sortTools sorts tools by their names and schemas. The file tools are those of
// the first host that can both list and read.
func sortTools(tools []Tool) toolbox {
	var first *toolbox
	for i := range tools {
		if slices.ContainsFunc(tools[:i], func(t Tool) bool { return t.Host == tools[i].Host }) {
			continue
		}
		box := sortToolsOf(tools[i].Host, tools)
		if box.files() {
			return box
		}
		if first == nil {
			first = &box
		}
	}
	if first == nil {
		return toolbox{}
	}
	return *first
}

func sortToolsOf(host string, tools []Tool) toolbox {
	box := toolbox{host: host}
	for i := range tools {
		if safe(&tools[i]) {
			box.put(&tools[i])
		} else {
			box.unsafe++
		}
	}
	return box
}

// put gives a tool the first role that it fits and that is still free.
func (b *toolbox) put(t *Tool) {
	parts := nameParts(t.Name)
	s := parseSchema(t.InputSchema)
	switch {
	case has(parts, "deprecated") || strings.Contains(t.Description, "DEPRECATED"):
	case t.Host != b.host:
		b.query = append(b.query, *t)
	case b.roots == nil && has(parts, "list") && has(parts, "allowed", "roots") && len(s.Required) == 0:
		b.roots = t
	case b.list == nil && listsFolder(parts) && s.fills(pathParam):
		b.list = t
	case b.search == nil && findsFiles(parts) && s.fills(pathParam, patternParam):
		b.search = t
	case readsText(parts) && s.fills(pathParam):
		if b.read == nil || has(parts, "text") {
			b.read = t
		}
	default:
		b.query = append(b.query, *t)
	}
}

func listsFolder(parts []string) bool {
	return has(parts, "list", "ls") && has(parts, "directory", "dir", "files", "folder")
}

func findsFiles(parts []string) bool {
	return has(parts, "search", "find", "glob") && has(parts, "files", "file", "glob")
}

// readsText tells the tool that gives a file's text from those that give its
// picture or its size.
func readsText(parts []string) bool {
	return has(parts, "read", "get", "cat") && has(parts, "file", "text", "document") &&
		!has(parts, "media", "image", "audio", "binary", "info", "metadata", "stat", "stats", "size", "multiple", "url")
}

// files reports whether there are files to look into.
func (b toolbox) files() bool { return b.list != nil && b.read != nil }

// searcher reports whether there is a tool to search with by words.
func (b toolbox) searcher() bool {
	return slices.ContainsFunc(b.query, func(t Tool) bool { return searches(&t) })
}

func safe(t *Tool) bool {
	if t.Hinted {
		return t.ReadOnly
	}
	if reckons(t) {
		return true
	}
	return !slices.ContainsFunc(nameParts(t.Name), func(p string) bool { return changing[p] })
}

// reckoning are the words of tools that add and multiply, and that change
// nothing although "add" is among the verbs of those that do.
var reckoning = wordSet(`add subtract multiply divide sum difference product quotient plus minus calculate compute math get two numbers integers`)

// reckons reports whether a tool does sums: its name says nothing else, and it
// takes nothing but numbers.
func reckons(t *Tool) bool {
	parts := nameParts(t.Name)
	if slices.ContainsFunc(parts, func(p string) bool { return !reckoning[p] }) {
		return false
	}
	properties := parseSchema(t.InputSchema).Properties
	for _, p := range properties {
		if p.Type == nil || !admits(p.Type, "number") {
			return false
		}
	}
	return len(properties) > 1
}

// searches reports whether a tool looks something up by words.
func searches(t *Tool) bool {
	return takesQuery(t) && has(nameParts(t.Name), "search", "find", "query", "lookup", "ask", "retrieve")
}

// nameParts splits read_text_file, readTextFile and fs__read-text-file alike.
func nameParts(name string) []string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.FieldsFunc(strings.ToLower(b.String()), func(r rune) bool {
		return r == '_' || r == '-' || r == '.' || r == '/' || r == ' ' || r == ':'
	})
}

func has(parts []string, any ...string) bool {
	return slices.ContainsFunc(any, func(s string) bool { return slices.Contains(parts, s) })
}
