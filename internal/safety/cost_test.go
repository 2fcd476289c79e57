package safety

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// matchers are those of all stages, with a known value.
func matchers(t testing.TB) map[string]*matcher {
	p := knowing(t, value)
	all := map[string]*matcher{}
	for _, stage := range p.stages {
		switch s := stage.(type) {
		case *LeakDetector:
			all[s.Name()] = s.matcher
		case Policy:
			all[s.Name()] = s.matcher
		case *Sanitiser:
			all[s.Name()] = s.matcher
		}
	}
	return all
}

// checkCost searches a text and holds the bytes that were run over against its
// length, by rule.
func checkCost(t *testing.T, m *matcher, s *scratch, name, text string) {
	t.Helper()
	m.search(s, []byte(text))
	for i, n := range s.spent {
		// Its budget, the rest once, and one byte before that.
		if bound := 3*len(text) + minBudget + 1; n > bound {
			t.Errorf("%s: %s runs over %d bytes of a text of %d", name, m.rules[i].id, n, len(text))
		}
	}
}

// costBytes is how long the longest text is of which the cost is counted; those
// of single rules have an eighth of it, which tells as much.
const costBytes = 24 << 10

// fill repeats each unit over its share of a text of so many bytes.
func fill(size int, units ...string) string {
	var b strings.Builder
	for _, u := range units {
		b.WriteString(strings.Repeat(u, size/len(units)/len(u)))
		b.WriteByte('\n')
	}
	return b.String()
}

// TestCostIsLinear: whatever keywords a text is full of, no rule runs over more
// than a few times its length. Bytes are counted and not seconds.
func TestCostIsLinear(t *testing.T) {
	for stage, m := range matchers(t) {
		s := m.borrow()
		seen := map[string]bool{}
		var mix []string
		for _, r := range m.rules {
			for _, k := range r.keywords {
				if !seen[k] {
					checkCost(t, m, s, stage+" "+k, fill(costBytes/8, k, k+" "))
				}
				seen[k] = true
				mix = append(mix, k)
			}
		}
		checkCost(t, m, s, stage+" mix", fill(costBytes, strings.Join(mix, " ")+" ", strings.Join(mix, "")))
	}
}

// TestCostOfBeginnings: the same for texts full of what secrets begin with, and
// of secrets.
func TestCostOfBeginnings(t *testing.T) {
	m := matchers(t)["leaks"]
	s := m.borrow()
	r := rand.New(rand.NewPCG(14, 15))
	for _, rule := range m.rules {
		text, _ := example(t, r, rule.id, examples[rule.id][0])
		checkCost(t, m, s, rule.id, fill(costBytes/8, text+" ", text[:len(text)*3/4]+" ", text[:len(text)/2]))
	}
}

// TestNothingIsMissedWhenItIsTooMuch: a rule that has used up its budget finds
// what its expression finds in the text as a whole.
func TestNothingIsMissedWhenItIsTooMuch(t *testing.T) {
	d := detector(t)
	r := rand.New(rand.NewPCG(16, 17))
	spent := 0
	for _, one := range d.rules {
		keyword := one.keywords[r.IntN(len(one.keywords))] + " "
		// What a rule begins with uses up its budget sooner than a keyword.
		text, _ := example(t, r, one.id, examples[one.id][0])
		many := strings.Repeat(keyword, 2<<10/len(keyword)) + strings.Repeat(text[:len(text)*3/4]+"\n", 20)
		var b strings.Builder
		for range 3 {
			text, _ := example(t, r, one.id, examples[one.id][r.IntN(len(examples[one.id]))])
			b.WriteString(many + "\n" + text + "\n")
		}
		b.WriteString(many)
		m := newMatcher([]*rule{one}, nil, d.marks)
		s, full := m.borrow(), m.borrow()
		m.search(s, []byte(b.String()))
		if s.done[0] > b.Len() {
			spent++
		}
		m.rest(full, 0, []byte(b.String()))
		got, want := inOrder(s.found), inOrder(full.found)
		if !slices.Equal(got, want) || len(want) < 3 {
			t.Errorf("%s: got %v, want %v", one.id, got, want)
		}
	}
	t.Logf("%d rules have used up their budget", spent)
	if spent < 20 {
		t.Errorf("only %d rules have used up their budget", spent)
	}
}

func inOrder(found []candidate) []candidate {
	slices.SortFunc(found, func(a, b candidate) int { return a.start - b.start })
	return found
}

// TestMarksAreLookedForNearby: a bracket that is closed far behind is no mark,
// and is not looked for.
func TestMarksAreLookedForNearby(t *testing.T) {
	m := marks{rules: map[string]bool{"a": true}, marked: true}
	near := []byte("[marked:a " + strings.Repeat("x", maxMark-12) + "] y")
	far := []byte("[marked:a " + strings.Repeat("x", maxMark) + "] y")
	if !m.hold(near, 12, 20) || m.hold(far, 12, 20) {
		t.Error("the bound of a mark does not hold")
	}
	if open := []byte("[marked:a " + strings.Repeat("x", 4*maxMark)); m.hold(open, 12, 20) || bytes.IndexByte(open, ']') >= 0 {
		t.Error("what is not closed is no mark")
	}
}
