package planner

import (
	"fmt"
	"sort"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"
)

const (
	maxPassages = 4   // quoted in an answer
	maxPassage  = 700 // characters of one passage
	maxListed   = 50  // entries of one folder
	maxOutput   = 2000
)

// answer writes the answer from the records.
func (r *ruleRun) answer() Decision {
	var d Decision
	switch {
	case r.box.hasFiles() && r.listing() && len(r.known.order) > 0:
		d = r.answerListing()
		d.Thought = "I know what there is, and have read the beginnings of " + textutil.Count(len(r.known.reads), "file") + " to say what they are about."
	case len(r.passages()) > 0:
		d = r.answerPassages()
		d.Thought = "What fits best is in " + code(base(r.passages()[0].file)) + "."
	case len(r.known.other) > 0:
		d = r.answerOther()
	default:
		d = r.answerNothing()
		d.Thought = "Nothing that I have seen speaks of " + r.q.subject() + "."
	}
	if len(r.known.failures) > 0 {
		d.Answer += "\n\nNot everything worked:\n\n- " + strings.Join(r.known.failures, "\n- ")
		d.Confidence /= 2
	}
	return d
}

func (r *ruleRun) introduce() Decision {
	text := "Hello. I look things up for you"
	if names := r.toolNames(); len(names) > 0 {
		text += " with " + codes(names)
	}
	text += ". Ask me what is in a folder, or about something that its files may tell."
	return finish(text, "There was nothing to look up.", 0.9)
}

func (r *ruleRun) answerListing() Decision {
	var b strings.Builder
	var all []string
	for _, dir := range r.subjects() {
		entries := r.known.folders[dir]
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "%s holds %s", code(dir), count(entries))
		if len(entries) == 0 {
			b.WriteString(".")
		} else {
			b.WriteString(":\n")
		}
		r.listEntries(&b, dir, entries)
		all = append(all, code(base(dir))+" holds "+count(entries))
	}
	return finish(b.String(), strings.Join(all, "; ")+".", 0.95)
}

func (r *ruleRun) listEntries(b *strings.Builder, dir string, entries []entry) {
	for i, e := range entries {
		if i == maxListed {
			fmt.Fprintf(b, "\n- … and %d more", len(entries)-maxListed)
			return
		}
		b.WriteString("\n- " + code(e.name))
		if e.dir {
			b.WriteString(" (folder)")
			continue
		}
		if line := title(r.known.texts[join(dir, e.name)]); line != "" {
			b.WriteString(": " + line)
		}
	}
}

// title returns the first heading of a text, or its first line.
func title(text string) string {
	for line := range strings.Lines(text) {
		if heading := strings.TrimLeft(line, "#"); heading != line {
			if heading = strings.TrimSpace(heading); heading != "" {
				return textutil.Shorten(heading, 120)
			}
		}
	}
	return firstLine(text, 120)
}

// passage is a piece of a file, with a score of how well it fits the question.
type passage struct {
	file  string
	text  string
	score int
}

// passages returns the best pieces of the files that were read. Every piece of
// a file that the question names counts.
func (r *ruleRun) passages() []passage {
	var out []passage
	for _, file := range r.known.reads {
		named := false
		for _, name := range r.q.files {
			named = named || sameFile(file, name)
		}
		nameScore := r.q.matches(base(file))
		for i, text := range paragraphs(r.known.texts[file]) {
			score := 4 * r.q.matches(text)
			if score > 0 {
				score += nameScore
			}
			if named || nameScore > 0 && nameScore == len(r.q.keywords) {
				score += max(1, 3-i) // the beginning, if nothing else fits
			}
			if score > 0 {
				out = append(out, passage{file: file, text: text, score: score})
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].score > out[j].score })
	return out[:min(len(out), maxPassages)]
}

// paragraphs splits a text at its empty lines; a heading stays with the
// following paragraph.
func paragraphs(text string) []string {
	var out []string
	heading := ""
	for _, block := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		block = strings.TrimSpace(block)
		if block == "" {
			continue
		}
		if strings.HasPrefix(block, "#") && !strings.Contains(block, "\n") {
			heading += block + "\n"
			continue
		}
		out = append(out, heading+block)
		heading = ""
	}
	if heading != "" {
		out = append(out, strings.TrimSpace(heading))
	}
	return out
}

func (r *ruleRun) answerPassages() Decision {
	found := r.passages()
	var b strings.Builder
	var files []string
	matched := ""
	for _, p := range found {
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "From %s:\n\n%s", code(p.file), quote(textutil.Shorten(p.text, maxPassage)))
		matched += p.text + "\n" + p.file + "\n"
		if name := base(p.file); len(files) == 0 || files[len(files)-1] != name {
			files = append(files, name)
		}
	}
	confidence := 0.8
	if n := len(r.q.keywords); n > 0 {
		confidence = 0.3 + 0.6*float64(r.q.matches(matched))/float64(n)
	}
	return finish(b.String(), "I found something about "+r.q.subject()+" in "+codes(unique(files))+".", confidence)
}

func (r *ruleRun) answerOther() Decision {
	return r.answerWith(r.known.other[len(r.known.other)-1])
}

func (r *ruleRun) answerNothing() Decision {
	if len(r.known.failures) > 0 && len(r.known.reads) == 0 {
		return finish("I could not look into "+r.q.subject()+".", "The tools that I needed did not work.", 0.1)
	}
	text := "I found nothing about " + r.q.subject() + "."
	switch {
	case len(r.known.reads) > 0:
		text += fmt.Sprintf(" I read %s: %s.", textutil.Count(len(r.known.reads), "file"), codes(baseNames(r.known.reads)))
	case len(r.known.order) > 0:
		text += " I looked into " + codes(r.known.order) + "."
	case !r.box.hasFiles():
		text += " None of my tools fits the question"
		if names := r.toolNames(); len(names) > 0 {
			text += "; those that I may use are " + codes(names)
		}
		text += "."
	}
	if r.box.unsafe > 0 && len(r.s.Steps) == 0 {
		text += fmt.Sprintf(" I have left alone %s that may change something.", textutil.Count(r.box.unsafe, "tool"))
	}
	return finish(text, "Nothing was found about "+r.q.subject()+".", 0.2)
}

func baseNames(paths []string) []string {
	names := make([]string, 0, len(paths))
	for _, p := range paths {
		names = append(names, base(p))
	}
	return names
}

func unique(list []string) []string {
	seen := make(map[string]bool)
	var out []string
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// count returns the number of files and folders in a listing, as text.
func count(entries []entry) string {
	files, dirs := 0, 0
	for _, e := range entries {
		if e.dir {
			dirs++
		} else {
			files++
		}
	}
	switch {
	case files+dirs == 0:
		return "nothing"
	case dirs == 0:
		return textutil.Count(files, "file")
	case files == 0:
		return textutil.Count(dirs, "folder")
	}
	return textutil.Count(files, "file") + " and " + textutil.Count(dirs, "folder")
}

// code formats a text as Markdown code.
func code(s string) string { return "`" + strings.ReplaceAll(s, "`", "'") + "`" }

func codes(list []string) string {
	const most = 12
	var out []string
	for i, s := range list {
		if i == most {
			out = append(out, fmt.Sprintf("%d more", len(list)-most))
			break
		}
		out = append(out, code(s))
	}
	return strings.Join(out, ", ")
}

// quote formats a text as a Markdown quotation.
func quote(s string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n> ")
}
