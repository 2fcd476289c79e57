package transcript

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns a text in which every line break is a \n. Control characters
// and characters that change the writing direction, which a terminal or a
// renderer would interpret, become the replacement character.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\t':
			return r
		case '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
			return '\n'
		}
		if isControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n"))
}

// isControl reports whether a terminal or renderer interprets a character as a
// control.
func isControl(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x061c || r == 0x200e || r == 0x200f
}

// code formats a text as a code span in one line.
func code(s string) string {
	s = strings.ReplaceAll(Clean(s), "\n", " ")
	if strings.TrimSpace(s) == "" {
		return "(none)"
	}
	ticks := strings.Repeat("`", unusedRun(s))
	if s[0] == '`' || s[len(s)-1] == '`' || s[0] == ' ' && s[len(s)-1] == ' ' {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// unusedRun returns one more than the length of the longest run of backticks in
// s.
func unusedRun(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest + 1
}

// acting matches words that platforms interpret in a text: mentions, references
// to issues, labels and commits, addresses, emoji.
var acting = regexp.MustCompile(`[@#$%&!~^]["\pL\pN_]|://|(?i:www\.|\bgh-[0-9])|:[\w+-]+:|\b[0-9a-f]{7,40}\b`)

// active are the characters with a meaning within a line of Markdown or HTML.
const active = "\\`*_{}[]<>|~&$"

// starting are the other ASCII punctuation characters, some of which have a meaning at
// the start of a line.
const starting = `!"#%'()+,-./:;=?@^`

// maxIndent bounds the indentation of a line that is kept, in characters.
const maxIndent = 80

// prose escapes a line of text so that Markdown renders it literally. The line
// contains no line break.
func prose(line string) string {
	var b strings.Builder
	rest := strings.TrimLeft(line, " \t")
	if rest == "" {
		return ""
	}
	// No-break spaces, since other spaces at the start of a line are syntax or get lost.
	indent := line[:len(line)-len(rest)]
	b.WriteString(strings.Repeat("\u00a0", min(len(indent)+3*strings.Count(indent, "\t"), maxIndent)))
	rest = strings.TrimRight(rest, " \t")
	for first := true; rest != ""; first = false {
		space := rest[:len(rest)-len(strings.TrimLeft(rest, " \t"))]
		b.WriteString(space)
		rest = rest[len(space):]
		word := rest
		if i := strings.IndexAny(rest, " \t"); i >= 0 {
			word = rest[:i]
		}
		rest = rest[len(word):]
		switch {
		case acting.MatchString(word):
			b.WriteString(code(word))
		case first:
			writeFirst(&b, word)
		default:
			writeEscaped(&b, word)
		}
	}
	return b.String()
}

// numbered matches the start of an ordered list item.
var numbered = regexp.MustCompile(`^[0-9]+[.)]`)

// writeFirst writes the first word of a line, escaped so that it does not start
// a heading, a list, a rule, a table or a quotation.
func writeFirst(b *strings.Builder, word string) {
	if n := len(numbered.FindString(word)); n > 0 {
		b.WriteString(word[:n-1] + `\` + word[n-1:n])
		word = word[n:]
	} else if strings.IndexByte(starting, word[0]) >= 0 {
		b.WriteString(`\` + word[:1])
		word = word[1:]
	}
	writeEscaped(b, word)
}

func writeEscaped(b *strings.Builder, word string) {
	for i := range len(word) {
		if strings.IndexByte(active, word[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(word[i])
	}
}

// quote returns a text as a block quotation that ends with a line break.
func quote(text string) string {
	lines := strings.Split(strings.Trim(Clean(text), "\n"), "\n")
	var b strings.Builder
	for i := 0; i < len(lines); {
		if f, ok := opening(lines[i]); ok {
			i += f.quote(&b, lines[i+1:]) + 1
			continue
		}
		line := prose(lines[i])
		i++
		if line != "" && i < len(lines) && strings.Trim(lines[i], " \t") != "" && !fenceLine.MatchString(lines[i]) {
			line += "  " // a line break within the paragraph
		}
		quoteLine(&b, line)
	}
	return b.String()
}

func quoteLine(b *strings.Builder, line string) {
	if line == "" {
		b.WriteString(">\n")
		return
	}
	b.WriteString("> " + line + "\n")
}

// fence is a fence in a participant's text.
type fence struct {
	mark     string // its characters
	language string
}

var fenceLine = regexp.MustCompile("^[ \t]*(`{3,}|~{3,})[ \t]*([^`]*)$")

// opening parses the line that starts a fenced block.
func opening(line string) (fence, bool) {
	m := fenceLine.FindStringSubmatch(line)
	if m == nil {
		return fence{}, false
	}
	language := strings.ToLower(strings.TrimSpace(m[2]))
	if !slices.Contains(languages, language) {
		language = ""
	}
	return fence{m[1], language}, true
}

// languages are the info strings that are kept, for syntax highlighting only.
// Renderers convert code in some other languages to diagrams with links.
var languages = []string{
	"bash", "c", "c++", "cpp", "cs", "css", "diff", "go", "html", "ini", "java", "javascript", "js", "json", "kotlin",
	"php", "python", "py", "ruby", "rust", "rs", "sh", "shell", "sql", "swift", "text", "toml", "ts", "typescript", "xml", "yaml", "yml",
}

// quote writes the fenced block whose content starts with lines, and returns
// how many of the lines belong to it.
func (f fence) quote(b *strings.Builder, lines []string) int {
	n, taken := len(lines), len(lines)
	for i, line := range lines {
		if mark := strings.Trim(line, " \t"); len(mark) >= len(f.mark) && strings.Trim(mark, f.mark[:1]) == "" {
			n, taken = i, i+1
			break
		}
	}
	content := ""
	if n > 0 {
		content = strings.Join(lines[:n], "\n") + "\n"
	}
	for line := range strings.Lines(fenced(f.language, content)) {
		quoteLine(b, strings.TrimSuffix(line, "\n"))
	}
	return taken
}

// fenced returns a text as a fenced block; the text is empty, or ends with a
// line break.
func fenced(language, text string) string {
	mark := strings.Repeat("`", max(3, unusedRun(text)))
	return fmt.Sprintf("%s%s\n%s%s\n", mark, language, text, mark)
}
