package main

import (
	"testing"

	"github.com/rs/zerolog"
	"github.com/zricethezav/gitleaks/v8/logging"

	"github.com/meup-protocol/meup/internal/safety/redact"
	"github.com/meup-protocol/meup/internal/testing/safetytest"
	"github.com/meup-protocol/meup/protocol"
)

func both(t testing.TB) (*ours, *gitleaks) {
	t.Helper()
	logging.Logger = zerolog.Nop()
	us, err := newOurs()
	if err != nil {
		t.Fatal(err)
	}
	them, err := newGitleaks()
	if err != nil {
		t.Fatal(err)
	}
	return us, them
}

// TestWellKnownRules checks that findings of gitleaks have the same rule ids in
// our detector.
func TestWellKnownRules(t *testing.T) {
	_, them := both(t)
	rules := known()
	for rule := range them.detector.Config.Rules {
		if rules[rule] == (left[rule] != "") {
			t.Errorf("%s: ours: %v; left out: %q", rule, rules[rule], left[rule])
		}
	}
}

// TestRecall_Gitleaks compares both on the secrets of the
// corpus.
func TestRecall_Gitleaks(t *testing.T) {
	us, them := both(t)
	for s := range safetytest.Leaks(seed, 1) {
		if rules := masking(them.find(&s), s.Secret()); len(rules) > 0 && len(masking(us.find(&s), s.Secret())) == 0 {
			t.Errorf("%s: only %v finds it in %s", s.Rule, rules, s.Kind)
		}
	}
}

// TestAccuracy checks that no secret of the corpus is missed, and that at most
// one clean text in a thousand has a finding.
func TestAccuracy(t *testing.T) {
	us, _ := both(t)
	s := judge(us.find, nil)
	if s.found != s.leaks || s.wrong*1000 > s.clean {
		t.Errorf("%+v", s)
	}
}

func BenchmarkDetect(b *testing.B) {
	us, them := both(b)
	all, err := newPipeline()
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range texts() {
		value, err := payload(t.body)
		if err != nil {
			b.Fatal(err)
		}
		key, body := []byte("message"), []byte(t.body)
		var found []redact.Finding
		for _, d := range []struct {
			name string
			f    func()
		}{
			{"leak detector", func() { found = us.leaks.Find(found[:0], key, body, nil) }},
			{"whole pipeline", func() { _, _ = all.p.Payload(protocol.KindReasoningThought, value) }},
			{"gitleaks", func() { them.detector.DetectString(t.body) }},
		} {
			b.Run(t.name+"/"+d.name, func(b *testing.B) {
				b.SetBytes(int64(len(t.body)))
				b.ReportAllocs()
				for b.Loop() {
					d.f()
				}
			})
		}
	}
}
