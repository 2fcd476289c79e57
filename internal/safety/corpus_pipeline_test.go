package safety

import (
	"encoding/json"
	"testing"

	"github.com/meup-protocol/meup/internal/safety/safetytest"
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
