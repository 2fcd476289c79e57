package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/planner"
)

// toolbox holds the tools by role. The file tools all belong to one host: a
// path that one host lists may be absent, or another file, on the next.
type toolbox struct {
	host   string          // host of the file tools
	roots  *planner.Tool   // lists the allowed folders
	list   *planner.Tool   // lists a folder
	read   *planner.Tool   // reads a file
	search *planner.Tool   // finds files by a glob below a folder
	others []*planner.Tool // all other tools
	unsafe int             // number of tools that may change something; they are never called
}

// sortTools sorts tools by their names and schemas. The file tools come from
// the first host that can both list and read.
func sortTools(tools []planner.Tool) toolbox {
	var first toolbox
	hosts := make(map[string]bool)
	for i := range tools {
		host := tools[i].Host
		if hosts[host] {
			continue
		}
		hosts[host] = true
		box := toolbox{host: host}
		for j := range tools {
			box.add(&tools[j])
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
func (b *toolbox) add(t *planner.Tool) {
	parts := nameParts(t.Name)
	fits := func(verbs, nouns string, params ...role) bool {
		return has(parts, verbs) && has(parts, nouns) && parseSchema(t).needsOnly(params...)
	}
	switch {
	case !isSafe(t):
		b.unsafe++
	case has(parts, "deprecated") || strings.Contains(t.Description, "DEPRECATED"):
	case t.Host != b.host:
		b.others = append(b.others, t)
	case b.roots == nil && fits("list", "allowed roots"):
		b.roots = t
	case b.list == nil && fits("list ls", "directory dir files folder", pathRole):
		b.list = t
	case b.search == nil && fits("search find glob", "files file glob", pathRole, patternRole):
		b.search = t
	case fits("read get cat", "file text document", pathRole) && !has(parts, "media image audio binary info metadata stat stats size multiple url"):
		if b.read == nil || has(parts, "text") {
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
	for _, t := range append([]*planner.Tool{b.list, b.read, b.search}, b.others...) {
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

func isSafe(t *planner.Tool) bool {
	if t.Hinted {
		return t.ReadOnly
	}
	return isArithmetic(t) || !slices.ContainsFunc(nameParts(t.Name), func(p string) bool { return changingVerbs[p] })
}

// isArithmetic reports whether a tool does arithmetic: its name has only such
// words, and all its parameters are numbers, two or more.
func isArithmetic(t *planner.Tool) bool {
	if slices.ContainsFunc(nameParts(t.Name), func(p string) bool { return !arithmeticWords[p] }) {
		return false
	}
	properties := parseSchema(t).Properties
	for _, p := range properties {
		if !p.isNumber() {
			return false
		}
	}
	return len(properties) > 1
}

// isSearch reports whether a tool searches by words.
func isSearch(t *planner.Tool) bool {
	return has(nameParts(t.Name), "search find query lookup ask retrieve") && parseSchema(t).find(queryRole) != ""
}

// ownWords returns the words of a tool's name that distinguish it from others.
func ownWords(t *planner.Tool) []string {
	return slices.DeleteFunc(nameParts(t.Name), func(p string) bool { return genericWords[p] })
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
	return strings.FieldsFunc(strings.ToLower(b.String()), func(r rune) bool { return strings.ContainsRune("_-./ :", r) })
}

// has reports whether the parts of a name include one of the words.
func has(parts []string, words string) bool {
	return slices.ContainsFunc(strings.Fields(words), func(w string) bool { return slices.Contains(parts, w) })
}
