package search

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a query.
const (
	maxQueryBytes = 512
	maxTerms      = 16
	defaultLimit  = 20
	maxLimit      = 100

	// With MatchAny and MatchAuto a text may be a whole question, of which the first
	// maxAnyTerms words count. Phrases and exclusions have at most maxTerms words.
	maxAnyBytes = 4096
	maxAnyTerms = 64
)

// Match is how many of the words and phrases of a query a hit has.
type Match string

// The values of Match.
const (
	MatchAll  Match = "all"
	MatchAny  Match = "any"
	MatchAuto Match = "auto" // all; if no envelope has all, any
)

// Query selects envelopes.
type Query struct {
	// Text is the query: words, "phrases", prefixes* and -exclusions, anywhere in
	// the text of an envelope.
	Text  string
	Match Match // "": MatchAll
	// Filter selects by sender, kind and context.
	Filter protocol.Filter
	Since  time.Time    // sent at this time or later; zero: no bound
	Until  time.Time    // sent before this time; zero: no bound
	Before protocol.Seq // before this position; 0: no bound
	Limit  int          // of the hits; 0: defaultLimit, at most maxLimit
	Cursor string       // Next of the page before; "": the first page
}

// SyntaxError is the reason why a query cannot be answered, as a sentence.
type SyntaxError string

func (e SyntaxError) Error() string { return string(e) }

// clause is a word, a prefix or a phrase.
type clause struct {
	words   []string
	prefix  bool // the last word is a prefix
	exclude bool
}

// plan is a query that was checked.
type plan struct {
	Query
	clauses []clause
	any     bool // a hit has at least one of the clauses, instead of all
	matcher *protocol.Matcher
	kinds   *protocol.Matcher // of the kinds alone
	after   cursor
	limit   int
}

// compile returns the plans to try in order: more than one for MatchAuto, until
// one has hits.
func (q Query) compile() (plans []*plan, err error) {
	for _, match := range []Match{MatchAll, MatchAny} {
		if q.Match != match && q.Match != MatchAuto && (q.Match != "" || match != MatchAll) {
			continue
		}
		var p *plan
		p, err = q.plan(match)
		if err == nil {
			plans = append(plans, p)
		}
	}
	if len(plans) > 0 { // a longer text has no plan for all words, and a cursor belongs to one plan
		err = nil
	}
	return plans, err
}

func (q Query) plan(match Match) (*plan, error) {
	p := &plan{Query: q, any: match == MatchAny, limit: min(q.Limit, maxLimit)}
	if p.limit <= 0 {
		p.limit = defaultLimit
	}
	var err error
	p.matcher, err = q.Filter.Compile()
	if err != nil {
		return nil, SyntaxError(protocol.AsError(err).Message)
	}
	p.kinds, _ = protocol.Filter{Kinds: q.Filter.Kinds}.Compile() // part of the filter above
	p.clauses, err = parse(q.Text, match)
	if err != nil {
		return nil, err
	}
	if q.Cursor != "" {
		var ok bool
		p.after, ok = decodeCursor(q.Cursor)
		if !ok || p.after.query != p.hash() {
			return nil, SyntaxError("The cursor does not belong to this query; search again without it.")
		}
	}
	return p, nil
}

// Check returns a SyntaxError if the query cannot be answered.
func (q Query) Check() error {
	_, err := q.compile()
	return err
}

// parse reads the text of a query, as clauses of which a hit has all, or any.
func parse(text string, match Match) ([]clause, error) {
	maxBytes := maxQueryBytes
	if match == MatchAny {
		maxBytes = maxAnyBytes
	}
	if len(text) > maxBytes {
		return nil, SyntaxError(fmt.Sprintf("A query has at most %d bytes.", maxBytes))
	}
	if !utf8.ValidString(text) {
		return nil, SyntaxError("The query is not valid UTF-8.")
	}
	var all []clause
	terms, positive := 0, false
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		var c clause
		var quoted bool
		c, quoted, rest = parseItem(rest)
		if len(c.words) == 0 {
			continue
		}
		first, size := utf8.DecodeRuneInString(c.words[0])
		if c.prefix && len(c.words) == 1 && size == len(c.words[0]) && scriptOf(first) != ideograph {
			if match == MatchAll {
				return nil, SyntaxError("A prefix has at least two characters before the asterisk.")
			}
			c.prefix = false
		}
		positive = positive || !c.exclude
		if match == MatchAll || c.exclude || quoted && terms+len(c.words) <= maxTerms {
			terms += len(c.words)
			if terms > maxTerms {
				return nil, SyntaxError(fmt.Sprintf("A query has at most %d words.", maxTerms))
			}
			all = append(all, c)
			continue
		}
		// The words are clauses of their own, once each: a sentence of a script without spaces
		// is one clause of pairs.
		for i, w := range c.words {
			one := clause{words: []string{w}, prefix: c.prefix && i == len(c.words)-1}
			same := func(d clause) bool {
				return !d.exclude && d.prefix == one.prefix && slices.Equal(d.words, one.words)
			}
			if len(all) < maxAnyTerms && !slices.ContainsFunc(all, same) {
				all = append(all, one)
			}
		}
	}
	if !positive {
		return nil, SyntaxError("The query has no word to find.")
	}
	return all, nil
}

// parseItem reads the first item of a text that does not begin with a space.
func parseItem(text string) (c clause, quoted bool, rest string) {
	if len(text) > 1 && text[0] == '-' {
		c.exclude, text = true, text[1:]
	}
	var item string
	quoted = text[0] == '"'
	if quoted {
		item, rest, quoted = strings.Cut(text[1:], `"`)
		c.prefix = strings.HasPrefix(rest, "*")
	} else {
		end := strings.IndexAny(text, " \t\r\n\"")
		if end < 0 {
			end = len(text)
		}
		item, rest = text[:end], text[end:]
		c.prefix = strings.HasSuffix(item, "*")
	}
	for _, t := range list(item, false) {
		c.words = append(c.words, t.text)
	}
	if last := list(item, true); len(c.words) == 0 && len(last) == 1 { // one ideograph begins pairs
		c.words, c.prefix = []string{last[0].text}, true
	}
	return c, quoted, rest
}

// cursor is the position of the last hit of a page.
type cursor struct {
	upTo  protocol.Seq // the newest Seq that the first page was about
	score float32
	seq   protocol.Seq
	query uint32 // hash
}

// hash identifies the query that a cursor belongs to. Before is not part of it:
// upTo has its effect.
func (p *plan) hash() uint32 {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%q %+q %q %d %d %t", p.Text, p.Filter.From, slices.Concat(p.Filter.Kinds, p.Filter.Contexts), p.Since.UnixNano(), p.Until.UnixNano(), p.any) // never fails
	return h.Sum32()
}

func (c cursor) encode() string {
	b := binary.AppendUvarint(nil, uint64(c.upTo))
	b = binary.AppendUvarint(b, uint64(c.seq))
	b = binary.BigEndian.AppendUint32(b, math.Float32bits(c.score))
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(b, c.query))
}

func decodeCursor(s string) (c cursor, ok bool) {
	if len(s) > 64 {
		return c, false
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	upTo, n := binary.Uvarint(b)
	if err != nil || n <= 0 {
		return c, false
	}
	seq, m := binary.Uvarint(b[n:])
	if m <= 0 || len(b) != n+m+8 {
		return c, false
	}
	b = b[n+m:]
	c = cursor{protocol.Seq(upTo), math.Float32frombits(binary.BigEndian.Uint32(b)), protocol.Seq(seq), binary.BigEndian.Uint32(b[4:])}
	return c, c.upTo > 0 && c.seq > 0 && !math.IsNaN(float64(c.score))
}
