package conversation

import (
	"strings"
	"testing"
)

const (
	callOf     = `{"id":"r1","from":"alice","to":["files"],"kind":"mcp.request","seq":9,"payload":{"id":1,"method":"tools/call","params":{"name":"open"}}}`
	nextCall   = `{"id":"r2","from":"alice","to":["files"],"kind":"mcp.request","seq":10,"payload":{"id":2,"method":"tools/call","params":{"name":"open"}}}`
	questionOf = `{"id":"e1","from":"files","to":["alice"],"kind":"mcp.request","correlationId":"r1","seq":11,"payload":{"id":"e1","method":"elicitation/create","params":` +
		`{"message":"Which\u001b[31m port?","_meta":{"meup/server":{"name":"moody"},"meup/expires_at":"2026-11-20T09:20:00Z"},"requestedSchema":{"type":"object","required":["port"],` +
		`"properties":{"port":{"type":"integer","minimum":1,"description":"Of the server."},"zone":{"type":"string","enum":["eu","us"],"enumNames":["Europe","America"],"default":"eu"},"note":{"type":"string"}}}}}}`
	questionEnds = `{"id":"w","from":"files","to":["alice"],"kind":"mcp.request","correlationId":"e1","seq":12,"payload":{"method":"notifications/cancelled","params":{"requestId":"e1"}}}`
	nextQuestion = `{"id":"e2","from":"files","to":["alice"],"kind":"mcp.request","correlationId":"r2","seq":13,"payload":{"id":2,"method":"elicitation/create","params":{"message":"Sign in","mode":"url","url":"https://example.org/in","elicitationId":"1"}}}`
)

// shown returns the text of the blocks.
func (s *stage) shown() string {
	var text strings.Builder
	for _, b := range s.model.Shown() {
		for _, line := range b.Lines.Left {
			text.WriteString(line + "\n")
		}
	}
	return text.String()
}

func TestQuestion_AnsweredByField(t *testing.T) {
	s := newStage(t)
	s.play(callOf)
	s.play(nextCall)
	s.play(questionOf)
	for _, want := range []string{"files asks you, for a server that it calls “moody”:\n", "Which port?\n", "enter no passwords", "port (a whole number, at least 1): /answer VALUE\n", "Of the server.\n"} {
		if !strings.Contains(s.shown(), want) {
			t.Errorf("%q is not shown:\n%s", want, s.shown())
		}
	}
	for _, line := range []string{"> /answer", "> /answer 0", "> /answer 8080", "> /answer 2", "> /answer"} {
		s.play(line)
	}
	for _, want := range []string{"port: a value is required.", "port: expected at least 1.", "zone (a number or a value of the list): /answer VALUE; /answer alone is \"eu\"\n", "2 America\n", "note: /answer VALUE; /answer alone leaves it out\n"} {
		if !strings.Contains(s.shown(), want) {
			t.Errorf("%q is not shown:\n%s", want, s.shown())
		}
	}
	if want := `"payload":{"jsonrpc":"2.0","id":"e1","result":{"action":"accept","content":{"port":8080,"zone":"us"}}}`; !strings.Contains(s.done.String(), want) || !strings.Contains(s.done.String(), `"to":["files"]`) || !strings.Contains(s.done.String(), `"correlationId":"e1"`) {
		t.Errorf("sent %s, want %s", s.done.String(), want)
	}
	s.play("> /answer 1")
	if !strings.Contains(s.shown(), "No tool server asks you anything.") {
		t.Error("the question is still open")
	}
}

func TestQuestion_Ends(t *testing.T) {
	s := newStage(t)
	s.play(callOf)
	s.play(nextCall)
	s.play(questionOf)
	s.play(nextQuestion)
	if strings.Contains(s.shown(), "Sign in") {
		t.Error("a second question is shown before the first one is over")
	}
	s.play(questionEnds)
	if !strings.Contains(s.shown(), "an answer is no longer needed") || !strings.Contains(s.shown(), "Open: https://example.org/in\n") {
		t.Errorf("shown\n%s", s.shown())
	}
	s.play("> /answer") // meant for the other one
	if s.done.Len() > 0 {
		t.Errorf("sent %s", s.done.String())
	}
	s.model.questions.gone = s.model.questions.gone.Add(-ambiguous)
	s.play("> /decline")
	if want := `"payload":{"jsonrpc":"2.0","id":2,"result":{"action":"decline"}}`; !strings.Contains(s.done.String(), want) {
		t.Errorf("sent %s, want %s", s.done.String(), want)
	}
}

// Questions to others, and expired ones, are not asked.
func TestQuestion_NotAsked(t *testing.T) {
	s := newStage(t)
	s.play(callOf)
	s.play(nextCall)
	s.play(strings.Replace(questionOf, `"to":["alice"]`, `"to":["bob"]`, 1))
	s.play(strings.Replace(questionOf, "09:20", "09:10", 1))
	if len(s.model.questions.open) > 0 {
		t.Errorf("asked\n%s", s.shown())
	}
}
