package planner

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPlainNotes(t *testing.T) {
	for name, test := range map[string]struct{ text, rest, notes string }{
		"none":         {"I look at the files.\n\nThen I decide.", "I look at the files.\n\nThen I decide.", ""},
		"every kind":   {"I have read it.\nObservation: Two tests fail.\n**Hypothesis:** Tokens expire late (confidence 0.85)\n- Evidence for: e1; the log\n- Evidence against: e2\nQuestion: Is there a rollback?\nReply to E3: Yes.\nNow the rest.", "I have read it.\nNow the rest.", "observation  Two tests fail. [] []|hypothesis  Tokens expire late [e1 the log] [e2] 0.85|question  Is there a rollback? [] []|reply e3 Yes. [] []|"},
		"no kind":      {"Evidence for: nothing\nObservations: many\nReply to alice: no", "Evidence for: nothing\nObservations: many\nReply to alice: no", ""},
		"no text":      {"Observation:\nQuestion:  ", "Observation:\nQuestion:", ""},
		"too sure":     {"Hypothesis: so it is (confidence 7)", "", "hypothesis  so it is (confidence 7) [] []|"},
		"not too many": {strings.Repeat("Question: why?\n", maxNotes+1), "Question: why?", strings.Repeat("question  why? [] []|", maxNotes)},
	} {
		t.Run(name, func(t *testing.T) {
			rest, notes := plainNotes(test.text)
			got := ""
			for _, n := range notes {
				got += fmt.Sprint(n.Kind, " ", n.ReplyTo, " ", n.Text, " ", n.For, " ", n.Against)
				if n.Confidence != nil {
					got += fmt.Sprint(" ", *n.Confidence)
				}
				got += "|"
			}
			if rest != test.rest || got != test.notes {
				t.Errorf("%q, %s\nwant %q, %s", rest, got, test.rest, test.notes)
			}
		})
	}
}

func TestPlainReplies(t *testing.T) {
	for name, test := range map[string]struct{ text, rest, replies string }{
		"none":           {"It is so.\nObservation: x", "It is so.\nObservation: x", ""},
		"below":          {"It is so.\n- **Reply to E3:** Yes.\nReply to e4: No.", "It is so.", "e3 Yes.|e4 No.|"},
		"above":          {"Reply to e3: Yes.\n\nIt is so.\n\nConfidence: 0.5", "It is so.\n\nConfidence: 0.5", "e3 Yes.|"},
		"nothing else":   {"Reply to e3: Yes.\nReply to e4: No.", "Yes.\n\nNo.", "e3 Yes.|e4 No.|"},
		"to no remark":   {"It is so.\nReply to alice: no", "It is so.\nReply to alice: no", ""},
		"not at a start": {"The line \"Reply to e3: x\" is a reply.", "The line \"Reply to e3: x\" is a reply.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			rest, replies := plainReplies(test.text)
			got := ""
			for _, r := range replies {
				got += r.ReplyTo + " " + r.Text + "|"
				if r.Kind != Reply {
					t.Errorf("kind %s", r.Kind)
				}
			}
			if rest != test.rest || got != test.replies {
				t.Errorf("%q, %s\nwant %q, %s", rest, got, test.rest, test.replies)
			}
		})
	}
}

func TestReadClosing(t *testing.T) {
	for name, test := range map[string]struct{ text, rest, want string }{
		"none":             {"Yes.", "Yes.", "{0 []  []}"},
		"confidence":       {"Yes.\n\nConfidence: 80 %", "Yes.", "{0.8 []  []}"},
		"all, any order":   {"Yes.\n\nReferences: e1, e12\n**Confidence:** 0.9\nKey factors: tests pass; no load\nRecommendation: Deploy today.", "Yes.\n\nKey factors: tests pass; no load\n\nRecommendation: Deploy today.", "{0.9 [tests pass no load] Deploy today. [e1 e12]}"},
		"only at the end":  {"Recommendation: none.\nThat is all.", "Recommendation: none.\nThat is all.", "{0 []  []}"},
		"not the whole":    {"Recommendation: none.", "Recommendation: none.", "{0 []  []}"},
		"no ids":           {"Yes.\nReferences: the book", "Yes.\nReferences: the book", "{0 []  []}"},
		"twice":            {"Yes.\nConfidence: 0.1\nConfidence: 0.2", "Yes.\nConfidence: 0.1", "{0.2 []  []}"},
		"a word":           {"Yes.\nConfidence: high", "Yes.", "{0.9 []  []}"},
		"a word, marked":   {"Yes.\n- **Confidence level:** Very low. (no data)", "Yes.", "{0.1 []  []}"},
		"a number, why":    {"Yes.\n**Confidence: 0.7** (two tests)", "Yes.", "{0.7 []  []}"},
		"a sentence":       {"Yes.\nConfidence: high tide", "Yes.\nConfidence: high tide", "{0 []  []}"},
		"empty":            {"Yes.\n\n**Key factors:**\nRecommendation: Go.\nReferences: none\nConfidence:", "Yes.\n\nRecommendation: Go.", "{0 [] Go. []}"},
		"nothing else":     {"Key factors:", "Key factors:", "{0 []  []}"},
		"a list":           {"Yes.\n\nKey factors:\n- tests pass\n- no load\nConfidence: medium", "Yes.\n\nKey factors:\n- tests pass\n- no load", "{0.6 [tests pass no load]  []}"},
		"a list between":   {"Yes.\n\nReferences: e1\n## Key factors\n1. a\n2. b\n\nRecommendation: go", "Yes.\n\n## Key factors\n1. a\n2. b\n\nRecommendation: go", "{0 [a b] go [e1]}"},
		"another list":     {"Yes.\n\nSteps:\n- a\nConfidence: low", "Yes.\n\nSteps:\n- a", "{0.3 []  []}"},
		"kept when in use": {"Yes.\nKey factors: a", "Yes.\nKey factors: a", "{0 [a]  []}"},
	} {
		t.Run(name, func(t *testing.T) {
			rest, c := readClosing(test.text)
			if got := fmt.Sprint(c); rest != test.rest || got != test.want {
				t.Errorf("%q, %s\nwant %q, %s", rest, got, test.rest, test.want)
			}
		})
	}
}

// Reading the plain forms ends, invents nothing, and stays within the bounds.
func FuzzPlainForms(f *testing.F) {
	f.Add("Yes.\n\nReferences: e1, e12\n**Confidence:** 0.9\nKey factors: a; b\nRecommendation: go")
	f.Add("Yes.\nKey factors:\n- a\n- b\n\nReferences:\nConfidence: high (so)")
	f.Add("Observation: x\nHypothesis: y (confidence 0.5)\nEvidence for: e1; z\nReply to e3: no")
	f.Fuzz(func(t *testing.T, text string) {
		rest, c := readClosing(text)
		if len(rest) > len(text)+8 || c.confidence < 0 || c.confidence > 1 || len(c.keyFactors) > maxFactors || len(c.references) > maxFactors {
			t.Errorf("%q becomes %q, %+v", text, rest, c)
		}
		for _, said := range append(c.keyFactors, strings.TrimSuffix(c.recommendation, "…")) {
			if !strings.Contains(text, said) {
				t.Errorf("%q is not in %q", said, text)
			}
		}
		rest, notes := plainNotes(text)
		if len(rest) > len(text) || len(notes) > maxNotes {
			t.Errorf("%q becomes %q, %+v", text, rest, notes)
		}
		for _, n := range notes {
			if utf8.ValidString(text) && (n.Text == "" || !strings.Contains(text, strings.TrimSuffix(n.Text, "…"))) {
				t.Errorf("note %+v of %q", n, text)
			}
		}
	})
}
