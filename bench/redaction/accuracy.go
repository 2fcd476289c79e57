package main

import (
	"strings"

	"github.com/meup-protocol/meup/internal/testing/safetytest"
)

// Sizes of the corpus for both detectors.
const (
	draws      = 3
	cleanTexts = 10_000
	seed       = 1
)

// score is the result of a detector on the corpus.
type score struct {
	leaks, found  int // all secrets; completely detected ones
	named         int // detected under the corpus's name for the rule
	clean, wrong  int // clean texts; the ones with a finding
	bytes, alarms int // of the clean texts; findings in them

	// The same counts for the rules that gitleaks has too.
	sharedLeaks, sharedFound int
}

// judge runs a detector on the corpus. shared lists the rules that both have.
func judge(find func(*safetytest.Sample) []finding, shared map[string]bool) score {
	var s score
	for sample := range safetytest.Leaks(seed, draws) {
		s.leaks++
		both := shared[sample.Rule]
		if both {
			s.sharedLeaks++
		}
		rules := masking(find(&sample), sample.Secret())
		if len(rules) == 0 {
			continue
		}
		s.found++
		if both {
			s.sharedFound++
		}
		for _, r := range rules {
			if r == sample.Rule {
				s.named++
				break
			}
		}
	}
	for sample := range safetytest.Clean(seed, cleanTexts) {
		s.clean++
		s.bytes += len(sample.Text)
		alarms := len(find(&sample))
		s.alarms += alarms
		if alarms > 0 {
			s.wrong++
		}
	}
	return s
}

// masking returns the rules with a finding that contains the whole secret.
// Blanks and quotes at its ends do not matter.
func masking(found []finding, secret string) []string {
	secret = strings.Trim(secret, " \t\r\n\"'")
	var rules []string
	for _, f := range found {
		if strings.Contains(f.secret, secret) {
			rules = append(rules, f.rule)
		}
	}
	return rules
}

// known returns the rules with examples in the corpus, which are all of ours.
func known() map[string]bool {
	rules := map[string]bool{}
	for s := range safetytest.Secrets() {
		rules[s.Rule] = true
	}
	return rules
}

// left lists the rules of gitleaks that we do not have, and why.
var left = map[string]string{
	"pkcs12-file": "it knows a file by its name, and a text has none",
}
