package safety

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/safetytest"
	"github.com/meup-protocol/meup/protocol"
)

// TestCleanPayloadsStayAsTheyAre sends clean texts as thoughts through all stages:
// the stages after the leak detector must have no findings.
func TestCleanPayloadsStayAsTheyAre(t *testing.T) {
	p := pipeline(t, Config{})
	const texts = 2000
	alarms, byPlace := 0, map[string]int{}
	for s := range safetytest.Clean(2, texts) {
		key := s.Key
		if key == "" {
			key = "message"
		}
		text, err := json.Marshal(map[string]string{key: s.Text})
		if err != nil {
			t.Fatal(err)
		}
		v, refused := p.Payload(protocol.KindReasoningThought, parse(t, string(text)))
		if v.Payload == nil && refused == nil {
			continue
		}
		alarms++
		for _, rule := range append(append(v.Redacted, v.Review...), v.Blocked...) {
			byPlace[rule+" in "+s.Kind]++
			t.Logf("%s in %s: %q becomes %s", rule, s.Kind, s.Text, v.Payload)
		}
	}
	if alarms > texts/1000 {
		t.Errorf("%d of %d payloads did not stay as they are: %v", alarms, texts, byPlace)
	}
}

// TestSecretsInAllPlaces sends every format in the places where agents write texts.
func TestSecretsInAllPlaces(t *testing.T) {
	p := pipeline(t, Config{})
	r := rand.New(rand.NewPCG(9, 10))
	places := []struct {
		name    string
		kind    protocol.Kind
		payload string // with %s for the quoted text
	}{
		{"thought", protocol.KindReasoningThought, `{"message":%s}`},
		{"arguments", protocol.KindMCPRequest, `{"method":"tools/call","params":{"name":"run","arguments":{"lines":["a",%s]}}}`},
		{"result", protocol.KindMCPResponse, `{"result":{"content":[{"type":"text","text":%s}]}}`},
		{"chat", protocol.KindChat, `{"message":%s}`},
		{"file name", protocol.KindMCPRequest, `{"method":"tools/call","params":{"name":"write","arguments":{"path":%s}}}`},
	}
	for s := range safetytest.Secrets() {
		if s.Name != "" {
			continue // as a variable in another test
		}
		for _, place := range places {
			before, secret, marked := strings.Cut(safetytest.Write(r, s.Format), "«")
			secret, after, _ := strings.Cut(secret, "»")
			if !marked {
				before, secret = "", before
			}
			text := before + secret + after
			if place.name == "file name" && !strings.ContainsAny(text, " \n\"'") {
				text = "/home/bob/notes/" + text
			}
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			v, refused := p.Payload(place.kind, parse(t, fmt.Sprintf(place.payload, quoted)))
			if refused != nil {
				t.Fatal(refused)
			}
			inner, err := json.Marshal(secret)
			if err != nil {
				t.Fatal(err)
			}
			if v.Payload == nil || strings.Contains(string(v.Payload), string(inner[1:len(inner)-1])) {
				t.Errorf("%s: not masked in the %s: %q becomes %s", s.Rule, place.name, text, v.Payload)
			}
		}
	}
}
