package rules

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

const (
	maxPassages = 4   // quoted in an answer
	maxPassage  = 700 // characters of one passage
	maxListed   = 50  // entries of one folder
	maxOutput   = 2000
)

func finish(answer, conclusion string, confidence float64) planner.Decision {
	return planner.Decision{Action: contextwindow.Finish, Source: planner.ByRules, Answer: answer, Conclusion: conclusion, Confidence: confidence}
}

// answer writes the answer from the records.
func (r *run) answer() planner.Decision {
	var d planner.Decision
	passages := r.passages()
	switch {
	case r.box.hasFiles() && r.isListing() && len(r.listed) > 0:
		d = finish(r.listing(), r.summary(func(dir string) string { return code(base(dir)) }), 0.95)
		if len(r.read) > 0 {
			d.Thought = "I know what there is, and have read the beginnings of " + textutil.Count(len(r.read), "file") + " to say what they are about."
		} else if len(r.titles) > 0 {
			d.Thought = "I know what there is, and the titles of " + textutil.Count(len(r.titles), "file") + "."
		}
	case r.passage() != "":
		d = r.answerQuoted()
	case len(passages) > 0:
		d = r.quotePassages(passages)
		d.Thought = "What fits best is in " + code(base(passages[0].file)) + "."
	case len(r.other) > 0:
		d = r.answerWith(r.other[len(r.other)-1])
	default:
		d = r.nothing()
		d.Thought = "Nothing that I have seen speaks of " + r.q.subject() + "."
	}
	if len(r.failures) > 0 {
		d.Answer += "\n\nNot everything worked:\n\n- " + strings.Join(r.failures, "\n- ")
		d.Confidence /= 2
	}
	return d
}

func (r *run) introduce() planner.Decision {
	text := "Hello. I look things up for you"
	if names := r.box.names(); len(names) > 0 {
		text += " with " + codes(names)
	}
	if r.box.hasFiles() {
		text += ". Ask me what is in a folder, or about something that its files may tell."
	} else {
		text += ". Ask me to find something."
	}
	return finish(text, "There was nothing to look up.", 0.9)
}

// answerWith quotes the result of a tool.
func (r *run) answerWith(res contextwindow.Result) planner.Decision {
	text := strings.TrimSpace(res.Text)
	if text == "" {
		return finish(code(res.Tool)+" returned nothing about "+r.q.subject()+".", "The tool returned nothing.", 0.3)
	}
	return finish(code(res.Tool)+" says:\n\n"+quote(textutil.ShortenChars(text, maxOutput)), code(res.Tool)+" had an answer.", 0.6)
}

// listing lists the entries of the folders, with the titles of the files that
// were read.
func (r *run) listing() string {
	var folders []string
	for _, dir := range r.listedFolders() {
		name := code(r.relative(dir))
		lines := []string{name + " holds " + count(r.folders[dir]) + ":", ""}
		if len(r.folders[dir]) == 0 {
			lines = []string{name + " holds nothing."}
		}
		for i, e := range r.folders[dir] {
			if i == maxListed {
				lines = append(lines, fmt.Sprintf("- … and %d more", len(r.folders[dir])-maxListed))
				break
			}
			line := "- " + code(strings.TrimSuffix(e, "/"))
			if isFolder(e) {
				line += " (folder)"
			} else if t := cmp.Or(r.titles[join(dir, e)], title(r.texts[join(dir, e)])); t != "" {
				line += ": " + t
			}
			lines = append(lines, line)
		}
		folders = append(folders, strings.Join(lines, "\n"))
	}
	return strings.Join(folders, "\n\n")
}

// title returns the first heading of a text, or its first line.
func title(text string) string {
	for line := range strings.Lines(text) {
		if heading := strings.TrimSpace(strings.TrimLeft(line, "#")); strings.HasPrefix(line, "#") && heading != "" {
			return textutil.ShortenChars(heading, 120)
		}
	}
	return firstLine(text, 120)
}

// passage is a piece of a file, with a score of how well it fits the question.
type passage struct {
	file, text string
	score      int
}

// passages returns the best pieces of the files that were read. Every piece of a file that the
// question names counts, unless the question is about a part of it: then the matching ones
// count, or none if the question says "about".
func (r *run) passages() []passage {
	var out []passage
	for _, file := range r.read {
		nameScore := r.q.matches(base(file))
		var pieces []passage
		onlyMatching := slices.Contains(r.q.words, "about")
		for i, text := range paragraphs(r.texts[file]) {
			score := 4 * r.q.matches(text)
			if score > 0 {
				score += nameScore
				onlyMatching = true
			}
			if r.q.namesFile(file) || nameScore > 0 && nameScore == len(r.q.keywords) {
				score += max(1, 3-i) // the beginning, if nothing else fits
			}
			if score > 0 {
				pieces = append(pieces, passage{file: file, text: text, score: score})
			}
		}
		if onlyMatching && r.q.isAboutPart() && r.q.namesFile(file) {
			pieces = slices.DeleteFunc(pieces, func(p passage) bool { return r.q.matches(p.text) == 0 })
		}
		out = append(out, pieces...)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].score > out[j].score })
	return out[:min(len(out), maxPassages)]
}

// paragraphs splits a text at its empty lines; a heading stays with the
// following paragraph.
func paragraphs(text string) []string {
	var out []string
	heading := ""
	for block := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		block = strings.TrimSpace(block)
		switch {
		case block == "":
		case strings.HasPrefix(block, "#") && !strings.Contains(block, "\n"):
			heading += block + "\n"
		default:
			out = append(out, heading+block)
			heading = ""
		}
	}
	if heading != "" {
		out = append(out, strings.TrimSpace(heading))
	}
	return out
}

func (r *run) quotePassages(found []passage) planner.Decision {
	var quotes, files []string
	matched := ""
	for _, p := range found {
		quotes = append(quotes, fmt.Sprintf("From %s:\n\n%s", code(r.relative(p.file)), quote(textutil.ShortenChars(p.text, maxPassage))))
		files = append(files, base(p.file))
		matched += p.text + "\n" + p.file + "\n"
	}
	confidence := 0.8
	if n := len(r.q.keywords); n > 0 {
		confidence = 0.3 + 0.6*float64(r.q.matches(matched))/float64(n)
	}
	return finish(strings.Join(quotes, "\n\n"), "I found something about "+r.q.subject()+" in "+codes(unique(files))+".", confidence)
}

// source matches the line above a quotation that names its file.
var source = regexp.MustCompile("(?m)^From `([^`\n]+)`")

// answerQuoted answers with the passages that a search found, which are quotations in Markdown.
func (r *run) answerQuoted() planner.Decision {
	var files []string
	if r.wantsFiles() {
		for line := range strings.SplitSeq(r.passage(), "\n") {
			if !strings.HasPrefix(line, "[") { // else the number of further ones
				line = code(line)
			}
			files = append(files, line)
		}
		return finish("These files speak of "+r.q.subject()+", the best first:\n\n- "+strings.Join(files, "\n- "),
			"I found files that speak of "+r.q.subject()+".", 0.8)
	}
	for _, m := range source.FindAllStringSubmatch(r.passage(), -1) {
		files = append(files, m[1])
	}
	if len(files) == 0 {
		return r.answerWith(contextwindow.Result{Tool: r.box.quotes.Name, Text: r.passage()})
	}
	d := finish(r.passage(), "I found something about "+r.q.subject()+" in "+codes(unique(files))+".", 0.8)
	d.Thought = "What fits best is in " + code(files[0]) + "."
	return d
}

// nothing reports that nothing was found, and where.
func (r *run) nothing() planner.Decision {
	if len(r.failures) > 0 && len(r.read) == 0 {
		return finish("I could not look into "+r.q.subject()+".", "The tools that I needed did not work.", 0.1)
	}
	if len(r.quoted) > 0 && len(r.read) == 0 {
		return finish("The folder says nothing about "+r.q.subject()+".", "Nothing was found about "+r.q.subject()+".", 0.2)
	}
	if about := strings.Join(r.q.keywords, " "); about != "" && len(r.read) == 1 && r.q.namesFile(r.read[0]) {
		return finish(code(r.relative(r.read[0]))+" says nothing about “"+about+"”.", "Nothing was found about "+r.q.subject()+".", 0.2)
	}
	text := "I found nothing about " + r.q.subject() + "."
	switch names := r.box.names(); {
	case len(r.read) > 0:
		var files []string
		for _, p := range r.read {
			files = append(files, base(p))
		}
		text += fmt.Sprintf(" I read %s: %s.", textutil.Count(len(files), "file"), codes(files))
	case len(r.listed) > 0:
		text += " I looked into " + codes(r.listed) + "."
	case !r.box.hasFiles() && len(names) > 0:
		text += " None of my tools fits the question; those that I may use are " + codes(names) + "."
	case !r.box.hasFiles():
		text += " None of my tools fits the question."
	}
	if r.box.unsafe > 0 && len(r.s.Steps) == 0 {
		text += fmt.Sprintf(" I have left alone %s that may change something.", textutil.Count(r.box.unsafe, "tool"))
	}
	return finish(text, "Nothing was found about "+r.q.subject()+".", 0.2)
}

// firstLine returns the first line with content, cut to most characters.
func firstLine(text string, most int) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.Trim(line, "-=#*`") != "" {
			return textutil.ShortenChars(line, most)
		}
	}
	return ""
}

// unique returns the texts that are not empty, without duplicates.
func unique(list []string) []string {
	seen := map[string]bool{"": true}
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
func count(entries []string) string {
	dirs := len(entries) - len(slices.DeleteFunc(slices.Clone(entries), isFolder))
	switch files := len(entries) - dirs; {
	case len(entries) == 0:
		return "nothing"
	case dirs == 0:
		return textutil.Count(files, "file")
	case files == 0:
		return textutil.Count(dirs, "folder")
	default:
		return textutil.Count(files, "file") + " and " + textutil.Count(dirs, "folder")
	}
}

// code formats a text as Markdown code.
func code(s string) string { return "`" + strings.ReplaceAll(s, "`", "'") + "`" }

func codes(list []string) string {
	const most = 12
	var out []string
	for _, s := range list[:min(len(list), most)] {
		out = append(out, code(s))
	}
	if len(list) > most {
		out = append(out, fmt.Sprintf("%d more", len(list)-most))
	}
	return strings.Join(out, ", ")
}

// quote formats a text as a Markdown quotation.
func quote(s string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n> ")
}
