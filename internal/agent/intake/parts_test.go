package intake

import (
	"fmt"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

func TestResult(t *testing.T) {
	const conclusion, cancel = protocol.KindReasoningConclusion, protocol.KindReasoningCancel
	for name, test := range map[string]struct {
		env  protocol.Envelope
		want string
	}{
		"conclusion":        {protocol.Envelope{From: "critic", Kind: conclusion, Context: "c/p", Payload: []byte(`{"message":"Yes.","confidence":0.5}`)}, "e critic concluded:\nYes.\nConfidence: 0.5 | true"},
		"empty":             {protocol.Envelope{From: "critic", Kind: conclusion, Context: "c/p", Payload: []byte(`{}`)}, "e  | critic closed the part without a conclusion true"},
		"of another":        {protocol.Envelope{From: "carol", Kind: conclusion, Context: "c/p", Payload: []byte(`{"message":"Yes."}`)}, ""},
		"of another part":   {protocol.Envelope{From: "critic", Kind: conclusion, Context: "c/q", Payload: []byte(`{"message":"Yes."}`)}, ""},
		"a context around":  {protocol.Envelope{From: "critic", Kind: conclusion, Context: "c", Payload: []byte(`{"message":"Yes."}`)}, ""},
		"declined":          {protocol.Envelope{From: "critic", Kind: cancel, Context: "c/p", Payload: []byte(`{"reason":"busy"}`)}, "e  | declined by critic: busy true"},
		"cancelled":         {protocol.Envelope{From: "carol", Kind: cancel, Context: "c/p", Payload: []byte(`{"reason":1}`)}, "e  | cancelled by carol: no reason given true"},
		"from outside":      {protocol.Envelope{From: "carol", Kind: cancel, Correlation: protocol.CorrelateTo("p"), Payload: []byte(`{"reason":"stop"}`)}, "e  | cancelled by carol: stop true"},
		"outside, another":  {protocol.Envelope{From: "carol", Kind: cancel, Correlation: protocol.CorrelateTo("q"), Payload: []byte(`{}`)}, ""},
		"a step in between": {protocol.Envelope{From: "critic", Kind: protocol.KindReasoningThought, Context: "c/p", Payload: []byte(`{"message":"hm"}`)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			test.env.ID = "e"
			r, ended := PartResult(&test.env, "c/p", "critic")
			got := fmt.Sprint(r.Ref, " ", r.Text, " | ", r.Error, " ", ended)
			if r.Success {
				got = fmt.Sprint(r.Ref, " ", r.Text, " | ", ended)
			}
			if !ended {
				got = ""
			}
			if got != test.want || r.Success != (r.Text != "") {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
