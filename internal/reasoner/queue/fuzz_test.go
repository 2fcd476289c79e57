package queue

import (
	"encoding/json"
	"testing"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// FuzzDecodeJob: any data in the stream is either decoded or rejected.
func FuzzDecodeJob(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `null`, `[]`, `"x"`, `{"type":"agent_intent","correlation_id":"a","payload":{"session_id":"s","goal_text":"g"}}`,
		`{"type":"agent_intent","correlation_id":"a","payload":{"callback_url":"https://example.org"}}`,
		`{"correlation_id":"a","payload":{"callback_url":7}}`, `{"submitted":"yesterday"}`,
	} {
		f.Add([]byte(s))
	}
	key := (wire.QueueNames{}).Key("a")
	f.Fuzz(func(t *testing.T, data []byte) {
		j := &job{key: key}
		if err := j.decode(data); err != nil {
			return
		}
		if j.CorrelationID != "a" {
			t.Errorf("took a job of %q", j.CorrelationID)
		}
		if url := j.CallbackURL(); url != "" && !json.Valid(j.Payload) {
			t.Errorf("callback %q of %q", url, j.Payload)
		}
	})
}
