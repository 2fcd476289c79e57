package search

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// Part is a piece of a snippet.
type Part struct {
	Text  string `json:"text"`
	Match bool   `json:"match,omitempty"` // the query selects it
}

// Snippet is the part of an envelope's text that a query selects.
type Snippet struct {
	// Path is the JSON pointer of the text in the payload.
	Path  string `json:"path"`
	Parts []Part `json:"parts"`
	// Cut reports that the text goes on before or after the snippet.
	Cut bool `json:"cut,omitempty"`
}

// snippetBytes is about the size of a snippet.
const snippetBytes = 240

// maxCutWord is the size of a word that is left out where a snippet would cut it.
const maxCutWord = 40

// matches reports whether the payload has everything that the query asks for, and
// returns the snippet of the field that has most of it. mask returns a text as it
// may be shown; nil: as it is.
func (p *plan) matches(payload protocol.Value, mask func(string) string) (Snippet, bool) {
	found := make([]bool, len(p.clauses))
	var best Snippet
	most := 0
	fields(payload, func(f field) bool {
		if mask != nil {
			f.text = mask(f.text)
		}
		spans, clauses := p.spans(f.text, found)
		if clauses > most {
			most, best = clauses, snippet(f, spans)
		}
		return true
	})
	for i, c := range p.clauses {
		if found[i] == c.exclude && (found[i] || !p.any) {
			return Snippet{}, false
		}
	}
	return best, most > 0
}

// span is a part of a text that a clause selects.
type span struct{ start, end, clause int }

// spans returns the parts of a text that the clauses select, in order, and how
// many clauses to include do. It records the clauses in found.
func (p *plan) spans(text string, found []bool) (all []span, clauses int) {
	tokens := list(text, true)
	for i, c := range p.clauses {
		before := len(all)
		for at := range tokens {
			if !c.matchAt(tokens[at:]) {
				continue
			}
			found[i] = true
			if !c.exclude {
				all = append(all, span{tokens[at].start, tokens[at+len(c.words)-1].end, i})
			}
		}
		if len(all) > before {
			clauses++
		}
	}
	slices.SortFunc(all, func(a, b span) int { return a.start - b.start })
	return all, clauses
}

// matchAt reports whether tokens begin with the words of the clause.
func (c *clause) matchAt(tokens []token) bool {
	if len(tokens) < len(c.words) {
		return false
	}
	for i, w := range c.words {
		if t := tokens[i].text; t != w && !(c.prefix && i == len(c.words)-1 && strings.HasPrefix(t, w)) {
			return false
		}
	}
	return true
}

// densest returns the first of the spans that are followed by the most clauses
// within a snippet.
func densest(spans []span) span {
	best, most := spans[0], 0
	for i, s := range spans {
		clauses := uint64(0) // maxAnyTerms bits
		for _, next := range spans[i:min(i+snippetBytes, len(spans))] {
			if next.end > s.start+snippetBytes*3/4 {
				break
			}
			clauses |= 1 << (next.clause % 64)
		}
		if n := bits.OnesCount64(clauses); n > most {
			best, most = s, n
		}
	}
	return best
}

// snippet cuts a text around the densest spans, and marks all.
func snippet(f field, spans []span) Snippet {
	s := Snippet{Path: f.path}
	first := densest(spans)
	start := max(0, first.start-snippetBytes/4)
	end := min(len(f.text), max(start+snippetBytes, first.end))
	end = min(end, start+2*snippetBytes)
	for start > 0 && f.text[start]&0xc0 == 0x80 {
		start--
	}
	for end < len(f.text) && f.text[end]&0xc0 == 0x80 {
		end--
	}
	start, end = betweenWords(f.text, start, end, first)
	s.Cut = start > 0 || end < len(f.text)
	at := start
	for _, m := range spans {
		m.start, m.end = max(m.start, at), min(m.end, end)
		if m.start >= m.end {
			continue
		}
		if m.start > at {
			s.Parts = append(s.Parts, Part{Text: f.text[at:m.start]})
		}
		if n := len(s.Parts); n > 0 && s.Parts[n-1].Match && m.start == at {
			s.Parts[n-1].Text += f.text[m.start:m.end]
		} else {
			s.Parts = append(s.Parts, Part{f.text[m.start:m.end], true})
		}
		at = m.end
	}
	if at < end {
		s.Parts = append(s.Parts, Part{Text: f.text[at:end]})
	}
	return s
}

// betweenWords moves the ends of a snippet to the next space inside, but not into a match, and
// not over a very long word, as in scripts without spaces.
func betweenWords(text string, start, end int, match span) (int, int) {
	if at := strings.IndexByte(text[start:match.start], ' '); start > 0 && text[start-1] != ' ' && at >= 0 && at < maxCutWord {
		start += at + 1
	}
	after := text[min(match.end, end):end]
	if at := strings.LastIndexByte(after, ' '); end < len(text) && text[end] != ' ' && at >= 0 && len(after)-at <= maxCutWord {
		end -= len(after) - at
	}
	return start, end
}
