package protocol

import (
	"fmt"
	"strings"
	"sync"
)

// Filter selects the envelopes that a connection receives; the zero Filter
// selects all. It is the payload of system.subscribe. Section 6.
type Filter struct {
	// Contexts are path prefixes to include; "" is the main conversation.
	Contexts []string `json:"contexts,omitempty"`
	// ExcludeContexts are path prefixes to exclude; "" is the main
	// conversation.
	ExcludeContexts []string `json:"exclude_contexts,omitempty"`
	// Kinds are kind patterns.
	Kinds []string `json:"kinds,omitempty"`
	// From are senders.
	From []ParticipantID `json:"from,omitempty"`
	// Depth is the number of segments below a prefix (below the main
	// conversation, if there is no prefix) to include; nil: all.
	Depth *int `json:"depth,omitempty"`
	// ConclusionsOnly selects only the start and the conclusion of every
	// context.
	ConclusionsOnly bool `json:"conclusions_only,omitempty"`
}

// Bounds of a filter, which is matched against every envelope.
const (
	maxFilterItems       = 256  // of each list
	maxFilterExpressions = 16   // regular expressions among the kinds
	maxFilterSteps       = 1200 // in all their programs together
	maxDecided           = 256  // kinds with a cached decision
)

// slowKinds is the number of kind patterns from which on a Matcher is slow: the worst globs take a microsecond each.
const slowKinds = 16

// Matcher is a compiled filter. A nil *Matcher selects all envelopes. It is
// safe for concurrent use.
type Matcher struct {
	filter  Filter
	include []ContextPath
	exclude []ContextPath
	kinds   []KindPattern
	from    map[ParticipantID]bool

	// decided caches the decision for each kind if there are regular
	// expressions, because a space has few kinds and many envelopes. nil: no
	// cache.
	mu      sync.Mutex
	decided map[Kind]bool
}

// Compile checks the filter and prepares it for matching. A filter that selects
// all envelopes compiles to nil. The error is an *Error.
func (f Filter) Compile() (*Matcher, error) {
	m := &Matcher{filter: f}
	var err error
	m.include, err = prefixes("contexts", f.Contexts)
	if err != nil {
		return nil, err
	}
	m.exclude, err = prefixes("exclude_contexts", f.ExcludeContexts)
	if err != nil {
		return nil, err
	}
	if len(f.Kinds) > maxFilterItems {
		return nil, filterError("kinds", fmt.Sprintf("at most %d patterns", maxFilterItems))
	}
	expressions, steps := 0, 0
	for _, s := range f.Kinds {
		p, err := ParseKindPattern(s)
		if err != nil {
			return nil, filterError("kinds", err.Error())
		}
		if p.class == classRegexp {
			expressions++
			steps += p.steps
			m.decided = make(map[Kind]bool)
		}
		switch {
		case expressions > maxFilterExpressions:
			return nil, filterError("kinds", fmt.Sprintf("at most %d regular expressions", maxFilterExpressions))
		case steps > maxFilterSteps:
			return nil, filterError("kinds", "the regular expressions are too large together")
		}
		m.kinds = append(m.kinds, p)
	}
	if len(f.From) > maxFilterItems {
		return nil, filterError("from", fmt.Sprintf("at most %d senders", maxFilterItems))
	}
	for _, id := range f.From {
		if m.from == nil {
			m.from = make(map[ParticipantID]bool, len(f.From))
		}
		m.from[id] = true
	}
	if f.Depth != nil && *f.Depth < 0 {
		return nil, filterError("depth", "a number of segments, 0 or more")
	}
	if len(m.include)+len(m.exclude)+len(m.kinds)+len(m.from) == 0 && m.filter.Depth == nil && !m.filter.ConclusionsOnly {
		return nil, nil // it selects all
	}
	return m, nil
}

func prefixes(name string, list []string) ([]ContextPath, error) {
	if len(list) > maxFilterItems {
		return nil, filterError(name, fmt.Sprintf("at most %d prefixes", maxFilterItems))
	}
	var out []ContextPath
	for _, s := range list {
		p, ok := ParseContextPath(s, MaxContextBytes)
		if !ok && s != "" {
			return nil, filterError(name, fmt.Sprintf("%q is not a context path", s))
		}
		out = append(out, p)
	}
	return out, nil
}

func filterError(field, detail string) *Error {
	return &Error{Code: CodeInvalidPayload, Path: "/payload/" + field, Detail: detail,
		Message: "The filter cannot be used: " + field + ": " + detail + "."}
}

// Filter returns the filter that was compiled.
func (m *Matcher) Filter() Filter {
	if m == nil {
		return Filter{}
	}
	return m.filter
}

// Slow reports whether a match can take more than some microseconds.
func (m *Matcher) Slow() bool { return m != nil && (m.decided != nil || len(m.kinds) > slowKinds) }

// Match reports whether the filter selects the envelope. The caller handles the
// envelopes that no filter may hide.
func (m *Matcher) Match(e *Envelope) bool {
	if m == nil {
		return true
	}
	if m.filter.ConclusionsOnly && e.Context != "" && e.Kind != KindReasoningStart && e.Kind != KindReasoningConclusion {
		return false
	}
	return m.matchContext(e.Context) && m.matchKind(e.Kind) && (m.from == nil || m.from[e.From])
}

func (m *Matcher) matchKind(k Kind) bool {
	if len(m.kinds) == 0 {
		return true
	}
	if m.decided == nil {
		return m.matchPatterns(k)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	match, known := m.decided[k]
	if !known {
		if len(m.decided) >= maxDecided {
			clear(m.decided)
		}
		match = m.matchPatterns(k)
		m.decided[k] = match
	}
	return match
}

func (m *Matcher) matchPatterns(k Kind) bool {
	for i := range m.kinds {
		if m.kinds[i].Match(k) {
			return true
		}
	}
	return false
}

func (m *Matcher) matchContext(c ContextPath) bool {
	for _, p := range m.exclude {
		if p == "" && c == "" || p != "" && c.Within(p) {
			return false
		}
	}
	if len(m.include) == 0 {
		return m.filter.Depth == nil || c.Depth() <= *m.filter.Depth
	}
	for _, p := range m.include {
		switch {
		case !c.Within(p):
		case m.filter.Depth != nil:
			if c.Depth()-p.Depth() <= *m.filter.Depth {
				return true
			}
		case p != "" || c == "": // without a depth, "" is the main conversation alone
			return true
		}
	}
	return false
}

// ParseFilter parses the payload of system.subscribe. Unknown keys are errors,
// because a misspelled key would otherwise silently change the selection. The error
// is an *Error.
func ParseFilter(v Value) (Filter, error) {
	var f Filter
	for k, x := range v.Members {
		key := k.Text()
		var ok bool
		switch key {
		case "contexts":
			f.Contexts, ok = texts[string](x)
		case "exclude_contexts":
			f.ExcludeContexts, ok = texts[string](x)
		case "kinds":
			f.Kinds, ok = texts[string](x)
		case "from":
			f.From, ok = texts[ParticipantID](x)
		case "depth":
			n, isInt := x.Int()
			depth := int(n)
			f.Depth, ok = &depth, isInt && n >= 0 && n <= MaxContextBytes
		case "conclusions_only":
			f.ConclusionsOnly, ok = x.Bool(), x.Type() == TypeBool
		default:
			return Filter{}, filterError(key, "no such key; there are contexts, exclude_contexts, kinds, from, depth and conclusions_only")
		}
		if !ok {
			return Filter{}, filterError(key, "expected "+filterTypes[key])
		}
	}
	return f, nil
}

var filterTypes = map[string]string{
	"contexts":         "an array of context paths",
	"exclude_contexts": "an array of context paths",
	"kinds":            "an array of kind patterns",
	"from":             "an array of participant ids",
	"depth":            "a number of segments",
	"conclusions_only": "true or false",
}

func texts[S ~string](v Value) ([]S, bool) {
	if v.Type() != TypeArray {
		return nil, false
	}
	out := []S{}
	for x := range v.Elements {
		if x.Type() != TypeString {
			return nil, false
		}
		out = append(out, S(x.Text()))
	}
	return out, true
}

// String describes the filter for logs.
func (f Filter) String() string {
	var parts []string
	add := func(name string, list []string) {
		if len(list) > 0 {
			parts = append(parts, name+"="+strings.Join(list, ","))
		}
	}
	add("contexts", f.Contexts)
	add("exclude", f.ExcludeContexts)
	add("kinds", f.Kinds)
	if len(f.From) > 0 {
		parts = append(parts, fmt.Sprintf("from=%v", f.From))
	}
	if f.Depth != nil {
		parts = append(parts, fmt.Sprintf("depth=%d", *f.Depth))
	}
	if f.ConclusionsOnly {
		parts = append(parts, "conclusions only")
	}
	return strings.Join(parts, " ")
}
