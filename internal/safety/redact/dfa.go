package redact

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// dfa reports whether an expression can match at a place. Its states are built
// as texts need them and shared by all goroutines, so a byte costs a lookup
// and not a step of each thread of the expression. It does not count how often
// a part is repeated beyond the least number, which keeps the states few, and
// finds no submatches: where it matches, the expression itself runs.
type dfa struct {
	prog   *syntax.Prog
	bounds []rune // each begins an interval of runes that the program treats alike
	class  []uint8
	ascii  [utf8.RuneSelf]uint8
	sample []rune // one rune of each class

	mu     sync.Mutex // guards states
	states map[string]*dfaState
	starts [4]atomic.Pointer[dfaState] // by the context before the first rune
}

// maxStates bounds the states that are kept; beyond it the dfa starts over.
const maxStates = 4096

// dfaState is a set of instructions. matched and dead have no successors.
type dfaState struct {
	accept bool // a match is complete before the last rune; it may go on
	insts  []uint32
	before rune                       // a sample of the rune before, -1 at the beginning
	next   []atomic.Pointer[dfaState] // by class; the last one is the end of the text
}

var matched, dead = &dfaState{accept: true}, &dfaState{}

func newDFA(expression string) (*dfa, error) {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err
	}
	relax(re)
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	d := &dfa{prog: prog, states: map[string]*dfaState{}}
	// The runes are divided into classes that the program treats alike.
	bounds := map[rune]bool{0: true, '\n': true, '\n' + 1: true, utf8.RuneSelf: true}
	ends := func(first, last rune) { bounds[first], bounds[last+1] = true, true }
	for _, r := range []rune{'0', '9', 'A', 'Z', '_', '_', 'a', 'z'} {
		bounds[r], bounds[r+1] = true, true
	}
	for i := range prog.Inst {
		inst := &prog.Inst[i]
		runes := inst.Rune
		switch {
		case inst.Op != syntax.InstRune && inst.Op != syntax.InstRune1:
		case len(runes) == 1:
			for r := runes[0]; ; {
				ends(r, r)
				if syntax.Flags(inst.Arg)&syntax.FoldCase != 0 {
					r = unicode.SimpleFold(r)
				}
				if r == runes[0] {
					break
				}
			}
		default:
			for j := 0; j+1 < len(runes); j += 2 {
				ends(runes[j], runes[j+1])
			}
		}
	}
	for r := range bounds {
		d.bounds = append(d.bounds, r)
	}
	slices.Sort(d.bounds)
	known := map[string]uint8{}
	for _, r := range d.bounds {
		key := d.signature(r)
		c, ok := known[key]
		if !ok {
			c = uint8(len(d.sample))
			known[key] = c
			d.sample = append(d.sample, r)
		}
		d.class = append(d.class, c)
	}
	for r := range d.ascii {
		d.ascii[r] = d.lookup(rune(r))
	}
	return d, nil
}

// relax removes the upper bounds of repetitions.
func relax(re *syntax.Regexp) {
	if re.Op == syntax.OpRepeat && re.Max > re.Min+1 {
		re.Max = -1
	}
	for _, sub := range re.Sub {
		relax(sub)
	}
}

// signature identifies the instructions that accept a rune.
func (d *dfa) signature(r rune) string {
	key := make([]byte, 0, 1+len(d.prog.Inst)/8+1)
	flags := byte(0)
	if syntax.IsWordChar(r) {
		flags |= 1
	}
	if r == '\n' {
		flags |= 2
	}
	key = append(key, flags)
	bits, n := byte(0), 0
	for i := range d.prog.Inst {
		bits <<= 1
		if takes(&d.prog.Inst[i], r) {
			bits |= 1
		}
		n++
		if n%8 == 0 {
			key, bits = append(key, bits), 0
		}
	}
	return string(append(key, bits))
}

func takes(inst *syntax.Inst, r rune) bool {
	switch inst.Op {
	case syntax.InstRune, syntax.InstRune1:
		return inst.MatchRune(r)
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return r != '\n'
	case syntax.InstAlt, syntax.InstAltMatch, syntax.InstCapture, syntax.InstEmptyWidth, syntax.InstMatch, syntax.InstFail, syntax.InstNop:
	}
	return false
}

func (d *dfa) lookup(r rune) uint8 {
	i, found := slices.BinarySearch(d.bounds, r)
	if !found {
		i--
	}
	return d.class[i]
}

// start returns the initial state of a match at text[at:].
func (d *dfa) start(text []byte, at int) *dfaState {
	before, context := rune(-1), 0
	if at > 0 {
		before, _ = utf8.DecodeLastRune(text[max(0, at-utf8.UTFMax):at])
		switch {
		case before == '\n':
			context = 1
		case syntax.IsWordChar(before):
			before, context = 'a', 2
		default:
			before, context = ' ', 3
		}
	}
	if s := d.starts[context].Load(); s != nil {
		return s
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.state([]uint32{uint32(d.prog.Start)}, before, false)
	d.starts[context].Store(s)
	return s
}

// trail is the last range of a text in which a failed search stayed in one state. A
// later search that enters that state in the range continues at its end, so that
// a text full of prefixes of matches is not read repeatedly.
type trail struct {
	state    *dfaState
	from, to int
}

// match reports whether a match can begin at text[at:] and be complete before
// limit. End is where it can be complete first, and work how many bytes the
// dfa has run over.
func (d *dfa) match(text []byte, at, limit int, t *trail) (ok bool, end, work int) {
	s, end, work := d.run(text, at, limit, false, t)
	if limit < len(text) || s.accept || s == dead {
		return s.accept, end, work
	}
	last := s.next[len(d.sample)].Load()
	if last == nil {
		last = d.step(s, len(d.sample))
	}
	return last.accept, end, work
}

// open reports whether a match that begins at text[at:] can go on after the
// end of the text. Work is how many bytes the dfa has run over.
func (d *dfa) open(text []byte, at int) (ok bool, work int) {
	s, _, work := d.run(text, at, len(text), true, &trail{})
	return s != dead && s != matched, work
}

// run returns the state at limit, or the first one in which a match is complete
// or impossible; with through, only where it cannot go on.
func (d *dfa) run(text []byte, at, limit int, through bool, t *trail) (s *dfaState, end, work int) {
	s, loop := d.start(text, at), trail{}
	for i := at; i < limit; {
		var class uint8
		size := 1
		if b := text[i]; b < utf8.RuneSelf {
			class = d.ascii[b]
		} else {
			var r rune
			r, size = utf8.DecodeRune(text[i:])
			class = d.lookup(r)
		}
		next := s.next[class].Load()
		if next == nil {
			next = d.step(s, int(class))
		}
		i += size
		work++
		switch {
		case next == dead:
			*t = loop
			return dead, i, work
		case next.accept && (!through || next == matched):
			return next, i, work
		case next == s:
			if loop.state != s {
				loop = trail{state: s, from: i}
			}
			if t.state == s && t.from <= i && i < t.to {
				i, loop.from = min(t.to, limit), t.from
			}
			loop.to = i
		}
		s = next
	}
	*t = loop
	return s, limit, work
}

// step builds the successor of a state.
func (d *dfa) step(s *dfaState, class int) *dfaState {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := rune(-1)
	if class < len(d.sample) {
		r = d.sample[class]
	}
	next := d.successor(s, r)
	s.next[class].Store(next)
	return next
}

func (d *dfa) successor(s *dfaState, r rune) *dfaState {
	flags := syntax.EmptyOpContext(s.before, r)
	seen := make(map[uint32]bool, 2*len(s.insts))
	accept := false
	var insts []uint32
	stack := slices.Clone(s.insts)
	for len(stack) > 0 {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch inst := &d.prog.Inst[pc]; inst.Op {
		case syntax.InstMatch:
			accept = true
		case syntax.InstAlt, syntax.InstAltMatch:
			stack = append(stack, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			stack = append(stack, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^flags == 0 {
				stack = append(stack, inst.Out)
			}
		case syntax.InstFail:
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if r >= 0 && takes(inst, r) {
				insts = append(insts, inst.Out)
			}
		}
	}
	switch {
	case len(insts) == 0 && accept:
		return matched
	case len(insts) == 0:
		return dead
	}
	slices.Sort(insts)
	switch {
	case r == '\n':
	case syntax.IsWordChar(r):
		r = 'a'
	default:
		r = ' '
	}
	return d.state(slices.Compact(insts), r, accept)
}

// state returns the state of a set of instructions. d.mu is held.
func (d *dfa) state(insts []uint32, before rune, accept bool) *dfaState {
	key := []byte{0}
	if accept {
		key[0] = 1
	}
	key = binary.AppendVarint(key, int64(before))
	for _, pc := range insts {
		key = binary.AppendUvarint(key, uint64(pc))
	}
	if s := d.states[string(key)]; s != nil {
		return s
	}
	if len(d.states) >= maxStates {
		clear(d.states)
		for i := range d.starts {
			d.starts[i].Store(nil)
		}
	}
	s := &dfaState{accept: accept, insts: insts, before: before, next: make([]atomic.Pointer[dfaState], len(d.sample)+1)}
	d.states[string(key)] = s
	return s
}
