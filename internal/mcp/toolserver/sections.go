package toolserver

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	heading = regexp.MustCompile(`^(#{1,6})\s+(.*?)\s*#*\s*$`)
	fence   = regexp.MustCompile("^\\s*(```+|~~~+)")
	item    = regexp.MustCompile(`^(?:[-*+]|\d{1,3}[.)])\s`)
	rule    = regexp.MustCompile(`^[\s|:-]*-[\s|:-]*$`) // below the head of a table
	link    = regexp.MustCompile(`\[([^\]\n]+)\]\(([^)\s]*)\)`)

	// The column that says what the first one means.
	meaning = regexp.MustCompile(`(?i)^(meaning|definition|description)$`)
	// The beginnings of a definition: "**term**: ", "- `term`: " or "A term is ".
	markedTerm   = regexp.MustCompile("^(?:[-*] )?(?:\\*\\*([^*]{1,60})\\*\\*|`([^`]{1,60})`)")
	sentenceTerm = regexp.MustCompile(`^(?:An?|The) ((?:[\p{L}-]+ ){0,2}[\p{L}-]+) (?:is|are) `)
	remark       = regexp.MustCompile(`\([^)]*\)`)
)

const (
	maxTermWords = 4 // of a term that is defined

	byMeaning = 2.0 // passage.defining of a sentence or a table that says what a term means
	byName    = 1.5 // of another row of a table that begins with the term
)

// split divides a document into passages: its sections, a long one at the end of a paragraph
// or list item. A row of a table is a passage by itself. Only Markdown has headings and tables.
func split(name, text string) []passage {
	s := splitter{name: name, markdown: isMarkdown(name)}
	for line := range strings.Lines(text) {
		s.line(strings.TrimRight(line, "\r\n"))
	}
	s.flush()
	return s.passages
}

func isMarkdown(name string) bool {
	return slices.Contains([]string{".md", ".markdown", ".mdx"}, path.Ext(strings.ToLower(name)))
}

type splitter struct {
	name     string
	markdown bool
	passages []passage
	levels   [6]string       // the current headings
	text     strings.Builder // of the current passage
	fence    string          // the opening mark of a code block; "": none
	head     []string        // the columns of a table
}

func (s *splitter) line(line string) {
	blank := strings.TrimSpace(line) == ""
	if !s.markdown {
		s.add(line, blank)
		return
	}
	if m := fence.FindStringSubmatch(line); m != nil {
		switch {
		case s.fence == "":
			s.fence = m[1]
		case strings.HasPrefix(m[1], s.fence):
			s.fence = ""
		}
		s.add(line, false)
		return
	}
	if s.fence != "" {
		s.add(line, false)
		return
	}
	if strings.HasPrefix(line, "|") {
		s.row(cells(line), rule.MatchString(line))
		return
	}
	s.head = nil
	if m := heading.FindStringSubmatch(line); m != nil {
		s.flush()
		level := len(m[1]) - 1
		clear(s.levels[level:])
		s.levels[level] = strings.Trim(m[2], "*")
		return
	}
	s.add(line, blank || item.MatchString(line))
}

// add appends a line to the passage. At a border, a long passage ends.
func (s *splitter) add(line string, border bool) {
	if border && s.text.Len() >= passageSize {
		s.flush()
	}
	s.text.WriteString(line + "\n")
}

// row adds a row of a table as "**first**: second · column: third".
func (s *splitter) row(cells []string, isRule bool) {
	switch {
	case isRule:
		return
	case s.head == nil:
		s.head = cells
		return
	}
	s.end(nil, 0)
	text := ""
	for i, cell := range cells {
		switch {
		case cell == "":
		case i == 0:
			text = "**" + strings.Trim(cell, "*") + "**"
		case i == 1 || i >= len(s.head) || s.head[i] == "":
			text += ": " + cell
		default:
			text += " · " + s.head[i] + ": " + cell
		}
	}
	s.text.WriteString(strings.TrimPrefix(text, ": "))
	if slices.ContainsFunc(s.head, meaning.MatchString) {
		s.end(terms(cells[0]), byMeaning)
		return
	}
	n := len(s.passages)
	s.end(terms(cells[0]), byName)
	for i := range s.passages[n:] {
		s.passages[n+i].row = true
	}
}

// cells returns the cells of a row. A backslash before a bar escapes it.
func cells(line string) []string {
	const bar = "\x00"
	line = strings.ReplaceAll(strings.Trim(strings.TrimSpace(line), "|"), `\|`, bar)
	list := strings.Split(line, "|")
	for i, c := range list {
		list[i] = strings.TrimSpace(strings.ReplaceAll(c, bar, "|"))
	}
	return list
}

// flush ends the passage.
func (s *splitter) flush() {
	for _, pattern := range []*regexp.Regexp{markedTerm, sentenceTerm} {
		if m := pattern.FindStringSubmatch(strings.TrimSpace(s.text.String())); m != nil && s.markdown {
			s.end(terms(strings.Join(m[1:], "")), byMeaning)
		}
	}
	s.end(nil, 0)
}

// end ends the passage, which defines terms.
func (s *splitter) end(defines []string, defining float64) {
	text := strings.TrimSpace(s.text.String())
	s.text.Reset()
	if text == "" {
		return
	}
	p := passage{path: s.name, text: text}
	if len(defines) > 0 {
		p.defines, p.defining = defines, defining
	}
	if s.markdown {
		p.text = withoutLinks(text)
	}
	for _, h := range s.levels {
		if h != "" {
			p.headings = append(p.headings, withoutLinks(h))
		}
	}
	s.passages = append(s.passages, p)
}

// terms splits the names of one concept, such as "acknowledge, ack". A longer text is none, nor
// is the path of a URL.
func terms(names string) []string {
	return slices.DeleteFunc(strings.Split(remark.ReplaceAllString(names, ""), ","), func(term string) bool {
		return len(tokens(term)) > maxTermWords || strings.HasPrefix(strings.Trim(term, " *`"), "/")
	})
}

// withoutLinks replaces links to other documents by their texts: outside of the folder they
// lead nowhere.
func withoutLinks(text string) string {
	return link.ReplaceAllStringFunc(text, func(l string) string {
		if m := link.FindStringSubmatch(l); !strings.Contains(m[2], "://") {
			return m[1]
		}
		return l
	})
}
