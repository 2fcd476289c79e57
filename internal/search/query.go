package search

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a query.
const (
	MaxQueryBytes = 512
	MaxTerms      = 16
	DefaultLimit  = 20
	MaxLimit      = 100
)

// Query selects envelopes.
type Query struct {
	// Text is what to find: words, "phrases", prefixes* and -exclusions. A hit has
	// all words and phrases, anywhere in its text.
	Text string
	// Filter selects by sender, kind and context.
	Filter protocol.Filter
	Since  time.Time    // sent at this time or later; zero: no bound
	Until  time.Time    // sent before this time; zero: no bound
	Before protocol.Seq // before this position; 0: no bound
	Limit  int          // of the hits; 0: DefaultLimit, at most MaxLimit
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
	matcher *protocol.Matcher
	kinds   *protocol.Matcher // of the kinds alone
	after   cursor
	limit   int
}

func (q Query) compile() (*plan, error) {
	p := &plan{Query: q, limit: min(q.Limit, MaxLimit)}
	if p.limit <= 0 {
		p.limit = DefaultLimit
	}
	var err error
	if p.matcher, err = q.Filter.Compile(); err != nil {
		return nil, SyntaxError(protocol.AsError(err).Message)
	}
	p.kinds, _ = protocol.Filter{Kinds: q.Filter.Kinds}.Compile() // part of the filter above
	if p.clauses, err = parse(q.Text); err != nil {
		return nil, err
	}
	if q.Cursor != "" {
		var ok bool
		if p.after, ok = decodeCursor(q.Cursor); !ok || p.after.query != q.hash() {
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

// parse reads the text of a query.
func parse(text string) ([]clause, error) {
	if len(text) > MaxQueryBytes {
		return nil, SyntaxError(fmt.Sprintf("A query has at most %d bytes.", MaxQueryBytes))
	}
	if !utf8.ValidString(text) {
		return nil, SyntaxError("The query is not valid UTF-8.")
	}
	var all []clause
	terms, positive := 0, false
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		var item string
		var c clause
		if len(rest) > 1 && rest[0] == '-' {
			c.exclude, rest = true, rest[1:]
		}
		if rest[0] == '"' {
			item, rest, _ = strings.Cut(rest[1:], `"`)
			c.prefix = strings.HasPrefix(rest, "*")
		} else {
			end := strings.IndexAny(rest, " \t\r\n\"")
			if end < 0 {
				end = len(rest)
			}
			item, rest = rest[:end], rest[end:]
			c.prefix = strings.HasSuffix(item, "*")
		}
		for _, t := range list(item, false) {
			c.words = append(c.words, t.text)
		}
		if len(c.words) == 0 && len(list(item, true)) == 1 { // one ideograph begins pairs
			c.words, c.prefix = []string{list(item, true)[0].text}, true
		}
		if len(c.words) == 0 {
			continue
		}
		if w := c.words[len(c.words)-1]; c.prefix && len(c.words) == 1 && utf8.RuneCountInString(w) < 2 && !isIdeograph(w) {
			return nil, SyntaxError("A prefix has at least two characters before the asterisk.")
		}
		if terms += len(c.words); terms > MaxTerms {
			return nil, SyntaxError(fmt.Sprintf("A query has at most %d words.", MaxTerms))
		}
		positive = positive || !c.exclude
		all = append(all, c)
	}
	if !positive {
		return nil, SyntaxError("The query has no word to find.")
	}
	return all, nil
}

// cursor is the position of the last hit of a page.
type cursor struct {
	upTo  protocol.Seq // the newest Seq that the first page was about
	score float32
	seq   protocol.Seq
	query uint32 // hash
}

// hash identifies the query that a cursor belongs to.
func (q Query) hash() uint32 {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%q %+q %q %d %d %d", q.Text, q.Filter.From, append(q.Filter.Kinds, q.Filter.Contexts...), q.Since.UnixNano(), q.Until.UnixNano(), q.Before) // never fails
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
