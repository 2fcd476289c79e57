package redact

import (
	"maps"
	"slices"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/safetytest"
)

// cleanTexts is how many texts without a secret are judged, and mayErr how many
// of them may be taken for a leak: one in a thousand.
const (
	cleanTexts = 10_000
	mayErr     = cleanTexts / 1000
)

// overlaps are the rules that may give a finding their name instead: the
// formats have a part in common, and the first rule in the file speaks. There
// is none.
var overlaps = map[string][]string{}

// excused are false alarms that come more than once and are kept: "rule in
// kind", and why. There is none.
var excused = map[string]string{}

// tally counts the results of a rule on the corpus.
type tally struct {
	examples, found, renamed int // secrets of its formats
	alarms                   int // findings in texts without a secret
}

// TestCorpus: every format of every rule is found in every dress, as far as it
// goes and under the name of the rule; texts without a secret pass.
func TestCorpus(t *testing.T) {
	d := detector(t)
	tallies := map[string]*tally{}
	for _, r := range d.rules {
		tallies[r.ID] = &tally{}
	}
	for s := range safetytest.Leaks(1, 3) {
		if tallies[s.Rule] == nil {
			t.Fatalf("%s: the corpus has examples of a rule that there is not", s.Rule)
		}
		tallies[s.Rule].leak(t, d, &s)
	}
	alarms := findAlarms(t, d, tallies)
	if alarms > mayErr {
		t.Errorf("%d false alarms in %d texts", alarms, cleanTexts)
	}
	for _, rule := range slices.Sorted(maps.Keys(tallies)) {
		tallies[rule].report(t, rule)
	}
}

// leak records the findings in a text with a secret.
func (n *tally) leak(t *testing.T, d *Set, s *safetytest.Sample) {
	n.examples++
	f, ok := covering(d, s)
	if !ok {
		t.Errorf("%s: not found in %s: %q in %q", s.Rule, s.Kind, s.Secret(), s.Text)
		return
	}
	n.found++
	if f.Rule == s.Rule {
		return
	}
	n.renamed++
	if !slices.Contains(overlaps[s.Rule], f.Rule) {
		t.Errorf("%s: found in %s as %s: %q in %q", s.Rule, s.Kind, f.Rule, s.Secret(), s.Text)
	}
}

// covering returns the finding that masks a sample's secret as a whole.
func covering(d *Set, s *safetytest.Sample) (Finding, bool) {
	for _, f := range d.Find(nil, []byte(s.Key), []byte(s.Text), nil) {
		if f.Start <= s.Start && f.End >= s.End {
			return f, true
		}
	}
	return Finding{}, false
}

// findAlarms returns how much is found in texts without a secret.
func findAlarms(t *testing.T, d *Set, tallies map[string]*tally) int {
	alarms, byPlace := 0, map[string]int{}
	for s := range safetytest.Clean(1, cleanTexts) {
		for _, f := range d.Find(nil, []byte(s.Key), []byte(s.Text), nil) {
			alarms++
			byPlace[f.Rule+" in "+s.Kind]++
			if n := tallies[f.Rule]; n != nil {
				n.alarms++
			}
			t.Logf("%s in %s: %q in %q", f.Rule, s.Kind, s.Text[f.Start:f.End], s.Text)
		}
	}
	for place, n := range byPlace {
		if n > 1 && excused[place] == "" {
			t.Errorf("%d false alarms of %s", n, place)
		}
	}
	return alarms
}

func (n *tally) report(t *testing.T, rule string) {
	if n.examples < 3 {
		t.Errorf("%s: %d examples, fewer than three", rule, n.examples)
	}
	recall := 100 * float64(n.found) / float64(max(n.examples, 1))
	precision := 100 * float64(n.found) / float64(max(n.found+n.alarms, 1))
	t.Logf("%-46s recall %5.1f %% of %3d (%d renamed), precision %5.1f %% (%d false alarms)",
		rule, recall, n.examples, n.renamed, precision, n.alarms)
}
