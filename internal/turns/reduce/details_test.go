package reduce

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

func read(t *testing.T, payload string) ReasoningDetails {
	t.Helper()
	doc, err := protocol.ParseJSON([]byte(payload), protocol.MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	return ReadReasoningDetails(doc.Root())
}

func TestRead_AllFields(t *testing.T) {
	half := 0.5
	got := read(t, `{"metadata": {"approach": "by <elimination>", "steps": 3, "deep": {}, "empty": ""}, "confidence": 0.5,
		"evidence": ["a", {"message": "b"}, {"n": 1}, 2], "evidence_against": "c", "references": ["q", 7, ""],
		"decision": "go", "recommendation": "soon", "key_factors": ["size"]}`)
	refs := []string{"q"}
	want := ReasoningDetails{
		Metadata:   map[string]json.RawMessage{"approach": []byte(`"by <elimination>"`), "steps": []byte("3")},
		Note:       api.Note{Confidence: &half, Evidence: []string{"a", "b", `{"n": 1}`, "2"}, EvidenceAgainst: []string{"c"}, References: refs},
		Conclusion: api.Conclusion{Decision: "go", Recommendation: "soon", Confidence: &half, KeyFactors: []string{"size"}, References: refs},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, wanted %+v", got, want)
	}
}

func TestRead_OtherTypes(t *testing.T) {
	for _, payload := range []string{`{}`, `[]`, `7`, `{"metadata": [1], "confidence": "high", "evidence": {}, "references": {"a": 1}}`, `{"confidence": 2}`} {
		t.Run(payload, func(t *testing.T) {
			if got := read(t, payload); !reflect.DeepEqual(got, ReasoningDetails{}) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// FuzzRead checks the bounds for any payload.
func FuzzRead(f *testing.F) {
	f.Add(`{"metadata": {"a": "b"}, "evidence": ["` + strings.Repeat("x", 2*maxText) + `"], "references": ["q"]}`)
	f.Add(`{"key_factors": [` + strings.Repeat(`"a",`, 2*MaxDetails) + `"b"]}`)
	f.Fuzz(func(t *testing.T, payload string) {
		doc, err := protocol.ParseJSON([]byte(payload), protocol.MaxDepth)
		if err != nil {
			return
		}
		d := ReadReasoningDetails(doc.Root())
		if len(d.Metadata) > MaxDetails {
			t.Errorf("%d metadata values", len(d.Metadata))
		}
		for _, list := range [][]string{d.Note.Evidence, d.Note.EvidenceAgainst, d.Note.References, d.Conclusion.KeyFactors} {
			if len(list) > MaxDetails {
				t.Errorf("%d entries", len(list))
			}
			for _, text := range list {
				if len(text) > maxText+len("…") {
					t.Errorf("%d bytes", len(text))
				}
			}
		}
		for key, value := range d.Metadata {
			if !json.Valid(value) || len(key) > maxDetailName+len("…") {
				t.Errorf("%q: %s", key, value)
			}
		}
	})
}
