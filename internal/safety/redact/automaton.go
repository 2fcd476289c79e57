package redact

// automaton finds all occurrences of many keywords in one pass over a text
// (Aho and Corasick), ignoring the case of ASCII letters. Its transition table
// is complete, so a byte costs two loads, and bytes that no keyword contains
// share one column of it.
type automaton struct {
	class [256]uint8
	width uint32
	// next is indexed by state·width + class; a state is stored multiplied by
	// width, with matchFlag set when keywords end there.
	next    []uint32
	matches [][]uint32 // by state: the keywords that end there
	lengths []int      // by keyword
	depths  []int      // by state: how much of a keyword that goes on the text ends with
}

const matchFlag = 1 << 31

func newAutomaton(keywords []string) *automaton {
	a := &automaton{}
	// Each byte of a keyword gets a column; all other bytes have column 0.
	n := uint8(1)
	for _, k := range keywords {
		for _, c := range []byte(k) {
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			if a.class[c] != 0 {
				continue
			}
			a.class[c] = n
			if c >= 'a' && c <= 'z' {
				a.class[c-'a'+'A'] = n
			}
			n++
		}
	}
	w := uint32(n)
	a.width = w
	children := []map[uint8]uint32{{}} // the trie, by state and class
	a.matches = [][]uint32{nil}
	a.depths = []int{0}
	for i, k := range keywords {
		a.lengths = append(a.lengths, len(k))
		state := uint32(0)
		for j := range len(k) {
			c := a.class[k[j]]
			child, ok := children[state][c]
			if !ok {
				child = uint32(len(children))
				children = append(children, map[uint8]uint32{})
				a.matches = append(a.matches, nil)
				a.depths = append(a.depths, j+1)
				children[state][c] = child
			}
			state = child
		}
		a.matches[state] = append(a.matches[state], uint32(i))
	}
	// The trie becomes a table, breadth first: where a state has no child, it goes on as
	// its longest suffix would.
	a.next = make([]uint32, uint32(len(children))*w)
	fallback := make([]uint32, len(children))
	for queue := []uint32{0}; len(queue) > 0; queue = queue[1:] {
		state := queue[0]
		for c := range uint8(w) {
			child, ok := children[state][c]
			suffix := uint32(0)
			if state != 0 {
				suffix = a.next[fallback[state]*w+uint32(c)]
			}
			if !ok {
				a.next[state*w+uint32(c)] = suffix
				continue
			}
			fallback[child] = (suffix &^ matchFlag) / w
			a.matches[child] = append(a.matches[child], a.matches[fallback[child]]...)
			a.next[state*w+uint32(c)] = child * w
			if len(a.matches[child]) > 0 {
				a.next[state*w+uint32(c)] |= matchFlag
			}
			queue = append(queue, child)
			if len(children[child]) == 0 {
				a.depths[child] = a.depths[fallback[child]]
			}
		}
	}
	return a
}
