package capability

import "regexp/syntax"

// regexpReaches reports whether the regexp can match somewhere in a text made
// of allowed characters alone. It follows the compiled program; false is
// certain.
func regexpReaches(source string, allowed func(rune) bool) bool {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return false
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return false
	}
	w := reachWalk{prog: prog, alphabet: alphabet(allowed), seen: make(map[reachState]bool)}
	// The match may begin at the beginning of the text or behind it.
	return w.from(reachState{pc: prog.Start, begin: true}) || w.from(reachState{pc: prog.Start})
}

func alphabet(allowed func(rune) bool) []rune {
	var out []rune
	for r := rune(0); r < 0x80; r++ {
		if allowed(r) {
			out = append(out, r)
		}
	}
	return out
}

// reachState is an instruction and what is known of the text around it.
type reachState struct {
	pc    int
	begin bool // nothing stands before it
	end   bool // nothing stands behind it
}

type reachWalk struct {
	prog     *syntax.Prog
	alphabet []rune
	seen     map[reachState]bool
}

func (w *reachWalk) from(start reachState) bool {
	todo := []reachState{start}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if w.seen[s] {
			continue
		}
		w.seen[s] = true
		in := &w.prog.Inst[s.pc]
		next := s
		next.pc = int(in.Out)
		switch in.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstFail:
			continue
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, reachState{int(in.Arg), s.begin, s.end})
		case syntax.InstEmptyWidth:
			op := syntax.EmptyOp(in.Arg)
			if op&(syntax.EmptyBeginText|syntax.EmptyBeginLine) != 0 && !s.begin {
				continue // the alphabets have no line breaks
			}
			if op&(syntax.EmptyEndText|syntax.EmptyEndLine) != 0 {
				next.end = true
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if s.end || !w.someRune(in) {
				continue
			}
			next.begin = false
		}
		todo = append(todo, next)
	}
	return false
}

func (w *reachWalk) someRune(in *syntax.Inst) bool {
	for _, r := range w.alphabet {
		if in.MatchRune(r) {
			return true
		}
	}
	return false
}
