package textutil

import "testing"

func TestStem(t *testing.T) {
	for stem, forms := range map[string][]string{
		"approv":    {"approve", "approves", "approved", "approving", "approval", "approvals"},
		"propos":    {"propose", "proposal", "proposals", "proposed"},
		"spac":      {"space", "spaces"},
		"capabilit": {"capability", "capabilities"},
		"deplo":     {"deploy", "deploys", "deployment", "deploying"},
		"revoc":     {"revocation", "revocations"},
		"log":       {"log", "logs"},
		"key":       {"key", "keys"},
		"use":       {"use", "uses"},
		"pass":      {"pass", "passes"},
		"plus":      {"plus"},
		"gas":       {"gas"},
	} {
		for _, form := range forms {
			if got := Stem(form); got != stem {
				t.Errorf("Stem(%q) = %q, want %q", form, got, stem)
			}
		}
	}
}
