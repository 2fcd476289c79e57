package safety

import "slices"

// LeakDetector is the stage that finds secrets: what has the form of one
// (rules.toml, and the operator's own rules), the values that the gateway
// knows, parameters whose name says so, and all of this wrapped in base64 once
// or with characters inside that nobody sees.
type LeakDetector struct {
	*matcher
	field Action // of ruleField; "": none
	runs  runs
}

// The rules that are no expressions.
const (
	ruleKnown = "known-secret"
	ruleField = "secret-field"
)

// MinKnown is the length from which on a known value is searched for, in
// bytes. Shorter ones are words of their own.
const MinKnown = 8

// NewLeakDetector returns a detector with the built-in rules.
func NewLeakDetector() (*LeakDetector, error) {
	b, err := builtIn()
	if err != nil {
		return nil, err
	}
	return newLeakDetector(b.leaks), nil
}

func newLeakDetector(rules []*rule) *LeakDetector {
	known := map[string]bool{ruleKnown: true, ruleField: true}
	for _, r := range rules {
		known[r.id] = true
	}
	return leakDetector(rules, nil, marks{rules: known}, ActionMask)
}

func leakDetector(rules []*rule, known []literal, marks marks, field Action) *LeakDetector {
	d := &LeakDetector{matcher: newMatcher(rules, known, marks), field: field, runs: runs{min: minRun, stretch: minStretch}}
	for _, l := range known {
		d.runs.fit(l.secret.reveal())
	}
	return d
}

// Name returns "leaks".
func (d *LeakDetector) Name() string { return "leaks" }

// Inspect appends the secrets in a text, and those in what it is the JSON of.
func (d *LeakDetector) Inspect(dst []Finding, t Text) []Finding {
	n := len(dst)
	dst = inspectBoth(dst, t, d)
	if !hasEscapes(t.Body) {
		return dst
	}
	v := unescaped(t.Body)
	return merge(dst, n, inspectBoth(nil, Text{Key: t.Key, Body: v.text}, d), v)
}

// maxKey bounds the keys that are read together with their values; longer ones
// name nothing.
const maxKey = 64

func (d *LeakDetector) inspect(dst []Finding, t Text) []Finding {
	s := d.borrow()
	defer d.scratch.Put(s)
	body, offset := t.Body, 0
	if d.telling(s, t.Key) {
		// Written as an assignment, key and value are judged by the same rules
		// as in a line of text.
		s.text = append(append(s.text[:0], t.Key...), `="`...)
		offset = len(s.text)
		s.text = append(append(s.text, t.Body...), '"')
		body = s.text
	}
	d.search(s, body)
	d.unwrap(s, t.Body, offset)
	n := len(dst)
	dst = d.resolve(dst, s.found, offset, len(t.Body))
	if t.Secret && len(dst) == n && d.field != "" && !standsFor(t.Body) && !isScheme(t.Key, t.Body) {
		dst = append(dst, Finding{Rule: ruleField, End: len(t.Body), Action: d.field})
	}
	return dst
}

func (m *matcher) borrow() *scratch {
	return m.scratch.Get().(*scratch) //nolint:forcetypeassert // the pool holds nothing else
}

// telling reports whether a key has a keyword in it.
func (d *LeakDetector) telling(s *scratch, key []byte) bool {
	if len(key) == 0 || len(key) > maxKey {
		return false
	}
	s.seen = d.automaton.scan(s.seen[:0], key)
	return len(s.seen) > 0
}

// unwrap adds to what was found the runs of base64 that hold secrets.
func (d *LeakDetector) unwrap(s *scratch, body []byte, offset int) {
	start, end := d.runs.next(body, 0)
	if start == end {
		return
	}
	inner := d.borrow()
	defer d.scratch.Put(inner)
	for ; start < end; start, end = d.runs.next(body, end) {
		if rule, found := d.wrapped(inner, body[start:end]); found && !d.marks.hold(body, start, end) {
			s.found = append(s.found, candidate{rule, offset + start, offset + end})
		}
	}
}

// wrapped returns the first rule that finds something in a run of base64. It
// can begin anywhere: what stands before it may look like base64 too.
func (d *LeakDetector) wrapped(s *scratch, run []byte) (rule int, found bool) {
	for shift := range 4 {
		s.text = appendDecoded(s.text[:0], run[min(shift, len(run)):])
		for from := 0; from < len(s.text); {
			start, end := d.runs.stretchFrom(s.text, from)
			d.search(s, s.text[start:end])
			if len(s.found) > 0 {
				return slices.MinFunc(s.found, func(a, b candidate) int { return a.rule - b.rule }).rule, true
			}
			from = end + 1
		}
	}
	return 0, false
}
