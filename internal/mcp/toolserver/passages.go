package toolserver

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// Bounds of a search for passages.
const (
	maxSearched = 32 << 20 // bytes read
	maxDocument = 1 << 20  // bytes of one file; larger files are left out
	maxPassages = 3        // returned
	maxPaths    = 20       // returned
	maxQuery    = 64       // words read
	passageSize = 600      // bytes after which a section is divided
	quoteSize   = 1200     // characters returned of one passage
)

// Weights of the ranking, BM25 over several fields.
const (
	saturation  = 1.2 // of a word that occurs often
	lengthShare = 0.6 // how much a long passage counts less

	weightTitle   = 0.5 // of a word in the path or in an outer heading
	weightHeading = 2.0
	weightDefined = 3.0 // of a word in the term that the passage defines
	weightRow     = 0.6 // of a passage that is a row of a table, unless it is about the query's term

	// A passage answers a query if the words that it has weigh more than this
	// share of all.
	minCovered = 0.5
	// A passage of fewer words counts less, unless it says what the query means.
	minWords = 10
	// A further passage is returned if it scores this share of the best.
	minRelative = 0.7
)

// passage is a part of a section of a document.
type passage struct {
	path     string
	headings []string // the outer first
	text     string   // Markdown
	defines  []string // terms
	defining float64  // how much more the passage counts for a query that is one of the terms
	row      bool     // of a table that says no meanings
	score    float64
}

type passagesArgs struct {
	Query string `json:"query" jsonschema:"the question, or words to search for"`
	Path  string `json:"path,omitempty" jsonschema:"search only the document whose path this is, or the end of it"`
	Files bool   `json:"files,omitempty" jsonschema:"return only the paths of the files that fit, the best first, one a line"`
}

func (f *folder) passages(args passagesArgs) (string, error) {
	query := queryWords(args.Query)
	if len(query) == 0 {
		return "", errors.New("the query has no words; ask for something")
	}
	all, complete, err := f.allPassages()
	if err != nil {
		return "", err
	}
	if args.Path != "" {
		end := "/" + strings.ToLower(strings.TrimPrefix(filepath.ToSlash(args.Path), "./"))
		all = slices.DeleteFunc(all, func(p passage) bool { return !strings.HasSuffix("/"+strings.ToLower(p.path), end) })
	}
	fit := rank(all, query)
	switch {
	case len(fit) == 0 && !complete:
		return fmt.Sprintf("No matches found in the first %d MiB of the folder", maxSearched>>20), nil
	case len(fit) == 0:
		return "No matches found", nil
	case args.Files:
		var paths []string
		for _, p := range fit {
			if !slices.Contains(paths, p.path) {
				paths = append(paths, p.path)
			}
		}
		if more := len(paths) - maxPaths; more > 0 {
			paths = append(paths[:maxPaths], fmt.Sprintf("[%d more]", more))
		}
		return strings.Join(paths, "\n"), nil
	}
	var quotes []string
	for i, p := range fit {
		if i == maxPassages || p.score < minRelative*fit[0].score {
			break
		}
		source := "From `" + p.path + "`"
		if n := len(p.headings); n > 0 {
			source += ", *" + p.headings[n-1] + "*"
		}
		text := textutil.ShortenChars(p.text, quoteSize)
		quotes = append(quotes, source+":\n\n> "+strings.ReplaceAll(text, "\n", "\n> "))
	}
	return strings.Join(quotes, "\n\n"), nil
}

// allPassages reads the documents of the folder: its text files, except hidden ones and
// dependencies. complete is false if it is larger than maxSearched.
func (f *folder) allPassages() (all []passage, complete bool, err error) {
	read := 0
	complete = true
	err = fs.WalkDir(f.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return skipUnreadable(p, ".", err)
		}
		hidden := strings.HasPrefix(d.Name(), ".") && p != "."
		switch {
		case d.IsDir() && (hidden || d.Name() == "node_modules" || d.Name() == "vendor"):
			return fs.SkipDir
		case hidden || !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil || info.Size() > maxDocument {
			return nil //nolint:nilerr // it was deleted
		}
		read += int(info.Size())
		if read > maxSearched {
			complete = false
			return fs.SkipAll
		}
		data, err := f.root.ReadFile(p)
		if err == nil && utf8.Valid(data) && !slices.Contains(data, 0) {
			all = append(all, split(p, string(data))...)
		}
		return nil
	})
	return all, complete, err
}

// rank returns the passages that answer a query, the best first.
func rank(all []passage, query []string) []passage {
	weights, lengths := make([][]float64, len(all)), make([]float64, len(all))
	in, total := make([]float64, len(query)), 0.0 // in: the number of passages with the word
	for i := range all {
		weights[i], lengths[i] = all[i].count(query)
		total += lengths[i]
		for k, tf := range weights[i] {
			if tf > 0 {
				in[k]++
			}
		}
	}
	n := float64(len(all))
	mean := total / max(1, n)
	rarity, most := make([]float64, len(query)), 0.0
	for k := range query {
		rarity[k] = math.Log(1 + (n-in[k]+0.5)/(in[k]+0.5))
		most += rarity[k]
	}
	var fit []passage
	for i, p := range all {
		covered := 0.0
		for k, tf := range weights[i] {
			if tf > 0 {
				tf /= 1 - lengthShare + lengthShare*max(0.5, lengths[i]/mean)
				p.score += rarity[k] * tf / (saturation + tf)
				covered += rarity[k]
			}
		}
		covered /= most
		if covered <= minCovered {
			continue
		}
		p.score *= covered
		defined := slices.ContainsFunc(p.defines, func(term string) bool { return slices.Equal(queryWords(term), query) })
		switch {
		case defined:
			p.score *= p.defining
		case p.row:
			p.score *= weightRow
		}
		if !defined || p.defining < byMeaning {
			p.score *= min(1, lengths[i]/minWords)
		}
		fit = append(fit, p)
	}
	slices.SortStableFunc(fit, func(a, b passage) int { return cmp.Compare(b.score, a.score) })
	return fit
}

// count returns the weighted frequency of each word of a query, and the words of the text.
func (p *passage) count(query []string) (weights []float64, length float64) {
	weights = make([]float64, len(query))
	add := func(text string, weight float64) (words float64) {
		for _, w := range tokens(text) {
			words++
			if k := slices.Index(query, textutil.Stem(w)); k >= 0 {
				weights[k] += weight
			}
		}
		return words
	}
	add(strings.TrimSuffix(p.path, path.Ext(p.path)), weightTitle)
	for i, h := range p.headings {
		if i == len(p.headings)-1 {
			add(h, weightHeading)
		} else {
			add(h, weightTitle)
		}
	}
	for _, term := range p.defines {
		if p.defining == byMeaning {
			add(term, weightDefined)
		}
	}
	return weights, add(p.text, 1)
}

// stopWords carry no content.
var stopWords = func() map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(`a about after an and any are as at be been before between but by can could did difference do does for
		from get give gives had happen happens has have how i if in into is it its long many may me mean means much my no not of on or our
		out say says shall she he should so some somebody someone something tell than that the their them then there these they this those to up us use used was we
		were what when where which who whom whose why will with work works would you your`) {
		set[w] = true
	}
	return set
}()

// queryWords returns the stems of the words that carry content, or of all words if none does.
// A Latin letter by itself is no content.
func queryWords(query string) []string {
	all := tokens(query)
	content := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return stopWords[w] || len(w) == 1 })
	if len(content) == 0 {
		content = all
	}
	var stems []string
	for _, w := range content[:min(len(content), maxQuery)] {
		w = textutil.Stem(w)
		if !slices.Contains(stems, w) {
			stems = append(stems, w)
		}
	}
	return stems
}

// tokens splits a text into lower-case words. Where a script has no spaces between words, each
// character is one.
func tokens(text string) []string {
	var out []string
	start := -1
	end := func(i int) {
		if start >= 0 {
			out = append(out, strings.ToLower(text[start:i]))
		}
		start = -1
	}
	for i, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			end(i)
			out = append(out, string(r))
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			end(i)
		case start < 0:
			start = i
		}
	}
	end(len(text))
	return out
}
