package rules

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// tool is a tool with its parsed name and schema.
type tool struct {
	*planner.Tool
	parts  []string // of the name
	schema schema
}

// parseTool splits the names read_text_file, readTextFile and fs__read-text-file in the same
// way.
func parseTool(t *planner.Tool) *tool {
	var name strings.Builder
	for i, r := range t.Name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			name.WriteByte(' ')
		}
		name.WriteRune(r)
	}
	parsed := &tool{Tool: t, parts: strings.FieldsFunc(strings.ToLower(name.String()), func(r rune) bool { return strings.ContainsRune("_-./ :", r) })}
	_ = json.Unmarshal(t.InputSchema, &parsed.schema) // an invalid schema has no parameters
	return parsed
}

// toolbox holds the tools by role. The file tools all belong to one host: a
// path that one host lists may be absent, or another file, on the next.
type toolbox struct {
	host   string  // host of the file tools
	roots  *tool   // lists the allowed folders
	list   *tool   // lists a folder
	read   *tool   // reads a file
	search *tool   // finds files by a glob below a folder
	quotes *tool   // finds passages of the files by words; optional
	others []*tool // all other tools
	unsafe int     // number of tools that may change something; they are never called
}

// sortTools sorts tools by their names and schemas. The file tools come from
// the first host that can both list and read.
func sortTools(tools []planner.Tool) toolbox {
	parsed := make([]*tool, len(tools))
	for i := range tools {
		parsed[i] = parseTool(&tools[i])
	}
	var first toolbox
	hosts := make(map[string]bool)
	for i := range tools {
		host := tools[i].Host
		if hosts[host] {
			continue
		}
		hosts[host] = true
		box := toolbox{host: host}
		for _, t := range parsed {
			box.add(t)
		}
		if box.hasFiles() {
			return box
		}
		if len(hosts) == 1 {
			first = box
		}
	}
	return first
}

// add assigns a tool to the first free role that it fits by the verb and noun in
// its name and by its parameters.
func (b *toolbox) add(t *tool) {
	fits := func(verbs, nouns string, params ...role) bool {
		return has(t.parts, verbs) && has(t.parts, nouns) && t.schema.needsOnly(params...)
	}
	switch {
	case !t.isSafe():
		b.unsafe++
	case has(t.parts, "deprecated") || strings.Contains(t.Description, "DEPRECATED"):
	case t.Host != b.host:
		b.others = append(b.others, t)
	case b.roots == nil && fits("list", "allowed roots"):
		b.roots = t
	case b.list == nil && fits("list ls", "directory dir files folder", pathRole):
		b.list = t
	case b.search == nil && fits("search find glob", "files file glob", pathRole, patternRole):
		b.search = t
	case b.quotes == nil && has(t.parts, "passages") && t.schema.needsOnly(queryRole):
		b.quotes = t
	case fits("read get cat", "file text document", pathRole) && !has(t.parts, "media image audio binary info metadata stat stats size multiple url"):
		if b.read == nil || has(t.parts, "text") {
			b.read = t
		}
	default:
		b.others = append(b.others, t)
	}
}

// hasFiles reports whether there are tools to list and read files.
func (b *toolbox) hasFiles() bool { return b.list != nil && b.read != nil }

// names returns the names of the tools that the rules can use.
func (b *toolbox) names() []string {
	var names []string
	for _, t := range append([]*tool{b.list, b.read, b.search, b.quotes}, b.others...) {
		if t != nil {
			names = append(names, t.Name)
		}
	}
	return names
}

var (
	// changingVerbs are the verbs of tools that change something.
	changingVerbs = wordSet(`add append apply approve archive book buy cancel change clear close commit copy create delete deploy
		disable drop edit enable erase exec execute insert install invite kick kill merge modify move patch pay post publish purge push put
		remove rename replace reset restart restore run save send set start stop submit transfer truncate uninstall update upload write`)
	// arithmeticWords are the words in the names of arithmetic tools. Such tools
	// change nothing, although "add" is among the changing verbs.
	arithmeticWords = wordSet(`add subtract multiply divide sum difference product quotient plus minus calculate compute math get two numbers integers`)
	// genericWords do not distinguish a tool from others.
	genericWords = wordSet(`get fetch show list read find search query lookup ask retrieve do make tool the a an of for to by with current two numbers`)
)

func (t *tool) isSafe() bool {
	if t.Hinted {
		return t.ReadOnly
	}
	return t.isArithmetic() || !slices.ContainsFunc(t.parts, func(p string) bool { return changingVerbs[p] })
}

// isArithmetic reports whether a tool does arithmetic: its name has only such
// words, and all its parameters are numbers, two or more.
func (t *tool) isArithmetic() bool {
	if slices.ContainsFunc(t.parts, func(p string) bool { return !arithmeticWords[p] }) {
		return false
	}
	for _, p := range t.schema.Properties {
		if !p.isNumber() {
			return false
		}
	}
	return len(t.schema.Properties) > 1
}

// isSearch reports whether a tool searches by words, by its name or the beginning of its
// description: "Looks up a term".
func (t *tool) isSearch() bool {
	if t.schema.find(queryRole) == "" {
		return false
	}
	described := words(textutil.Truncate(t.Description, 100))
	return has(t.parts, "search find query lookup ask retrieve") ||
		len(described) > 0 && has(described[:1], "search searches find finds look looks lookup retrieve retrieves")
}

// ownWords returns the words of a tool's name that distinguish it from others.
func (t *tool) ownWords() []string {
	return slices.DeleteFunc(slices.Clone(t.parts), func(p string) bool { return genericWords[p] })
}

// synonyms lists the words for each arithmetic operation, with its sign.
var synonyms = []struct {
	words map[string]bool
	sign  *regexp.Regexp
}{
	{wordSet("add adds adding sum total plus addition"), regexp.MustCompile(`\d\s*\+\s*-?\d`)},
	{wordSet("subtract difference minus subtraction"), regexp.MustCompile(`\d\s+[-−]\s+\d`)},
	{wordSet("multiply product times multiplied multiplication"), regexp.MustCompile(`\d\s*[*×]\s*-?\d`)},
	{wordSet("divide quotient divided division"), regexp.MustCompile(`\d\s*[/÷]\s*-?\d`)},
}

// mentions reports whether the question has the word, another form of it, or a
// synonym.
func (q *question) mentions(word string) bool {
	for _, s := range synonyms {
		if s.words[word] && (s.sign.MatchString(q.text) || slices.ContainsFunc(q.words, func(w string) bool { return s.words[w] })) {
			return true
		}
	}
	return q.names(word)
}

func (t *tool) isNamed(name string) bool { return t != nil && t.Name == name }

// has reports whether the parts of a name include one of the words.
func has(parts []string, words string) bool {
	return slices.ContainsFunc(strings.Fields(words), func(w string) bool { return slices.Contains(parts, w) })
}
