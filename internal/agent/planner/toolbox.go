package planner

import (
	"slices"
	"strings"
)

// toolbox holds the tools by role. The file tools all belong to one host: a
// path that one host lists may be absent, or another file, on the next.
type toolbox struct {
	host   string // host of the file tools
	roots  *Tool  // lists the allowed folders
	list   *Tool  // lists a folder
	read   *Tool  // reads a file
	search *Tool  // finds files by a glob below a folder
	query  []Tool // all other tools
	unsafe int    // number of tools that may change something; the rules never call them
}

// changingVerbs holds the verbs of tools that change something.
var changingVerbs = wordSet(`add append apply approve archive book buy cancel change clear close commit copy create delete deploy
	disable drop edit enable erase exec execute insert install invite kick kill merge modify move patch pay post publish purge push put
	remove rename replace reset restart restore run save send set start stop submit transfer truncate uninstall update upload write`)

// sortTools sorts tools by their names and schemas. The file tools come from
// the first host that can both list and read.
func sortTools(tools []Tool) toolbox {
	var first *toolbox
	for i := range tools {
		if slices.ContainsFunc(tools[:i], func(t Tool) bool { return t.Host == tools[i].Host }) {
			continue
		}
		box := sortToolsOf(tools[i].Host, tools)
		if box.hasFiles() {
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

// put assigns a tool to the first free role that it fits.
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

// readsText reports whether a tool returns the text of a file, rather than its
// image, metadata or size.
func readsText(parts []string) bool {
	return has(parts, "read", "get", "cat") && has(parts, "file", "text", "document") &&
		!has(parts, "media", "image", "audio", "binary", "info", "metadata", "stat", "stats", "size", "multiple", "url")
}

// hasFiles reports whether there are tools to list and read files.
func (b toolbox) hasFiles() bool { return b.list != nil && b.read != nil }

// hasSearch reports whether there is a tool that searches by words.
func (b toolbox) hasSearch() bool {
	return slices.ContainsFunc(b.query, func(t Tool) bool { return searches(&t) })
}

func safe(t *Tool) bool {
	if t.Hinted {
		return t.ReadOnly
	}
	if isArithmetic(t) {
		return true
	}
	return !slices.ContainsFunc(nameParts(t.Name), func(p string) bool { return changingVerbs[p] })
}

// arithmeticWords holds the words in the names of arithmetic tools. Such tools change
// nothing, although "add" is among the changing verbs.
var arithmeticWords = wordSet(`add subtract multiply divide sum difference product quotient plus minus calculate compute math get two numbers integers`)

// isArithmetic reports whether a tool does arithmetic: its name has only words of
// reckoning, and all its parameters are numbers, two or more.
func isArithmetic(t *Tool) bool {
	parts := nameParts(t.Name)
	if slices.ContainsFunc(parts, func(p string) bool { return !arithmeticWords[p] }) {
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

// searches reports whether a tool searches by words.
func searches(t *Tool) bool {
	return takesQuery(t) && has(nameParts(t.Name), "search", "find", "query", "lookup", "ask", "retrieve")
}

// nameParts splits read_text_file, readTextFile and fs__read-text-file in the
// same way.
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
