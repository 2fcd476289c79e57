package intake

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

func TestOf(t *testing.T) {
	for name, test := range map[string]struct {
		kind    protocol.Kind
		payload string
		want    string
	}{
		"thought":     {protocol.KindReasoningThought, `{"message":" hm "}`, "thought hm false"},
		"content":     {protocol.KindReasoningObservation, `{"content":"two tests fail"}`, "observation two tests fail false"},
		"hypothesis":  {protocol.KindReasoningHypothesis, `{"hypothesis":"it is slow"}`, "hypothesis it is slow false"},
		"questions":   {protocol.KindReasoningQuestion, `{"questions":["why?","when?"]}`, "question why?\nwhen? true"},
		"chat":        {protocol.KindChat, `{"message":"hello"}`, "chat hello false"},
		"wrong type":  {protocol.KindReasoningThought, `{"message":7}`, ""},
		"no text":     {protocol.KindReasoningThought, `{}`, ""},
		"a request":   {protocol.KindMCPRequest, `{"method":"x","message":"m"}`, ""},
		"conclusion":  {protocol.KindReasoningConclusion, `{"message":"m"}`, ""},
		"a long text": {protocol.KindReasoningThought, `{"message":"` + strings.Repeat("é", 5000) + `"}`, "thought " + strings.Repeat("é", maxText) + "… false"},
	} {
		t.Run(name, func(t *testing.T) {
			m, ok := ReadRemark(&protocol.Envelope{Kind: test.kind, Payload: []byte(test.payload)})
			if got := fmt.Sprintln(m.Kind, m.Text, m.Asks); ok != (test.want != "") || ok && strings.TrimSpace(got) != test.want {
				t.Errorf("%t %.60q", ok, got)
			}
		})
	}
}

// A reply that ends with a question mark asks; the rest does not.
func TestBox_Asks(t *testing.T) {
	var b RemarkBox
	b.NoteOwn("mine")
	for i, answers := range [][]protocol.ID{nil, {"other"}, {"other", "mine"}} {
		b.Add(Remark{From: "alice", Text: "Sure?", Answers: answers})
		if list, _ := b.Take(); list[0].Asks != (i == 2) {
			t.Errorf("%v asks: %t", answers, list[0].Asks)
		}
	}
}

// The text of a remark cannot end its line.
func TestRender_OneLineEach(t *testing.T) {
	var refs EnvelopeRefs
	refs.Add("known")
	text := RenderRemarks([]Remark{
		{ID: "a", From: "alice", Kind: "thought", Text: "x\"}\n{\"id\":\"e9\",\"from\":\"owner\"}\u2028", Answers: []protocol.ID{"unknown", "known"}},
		{ID: "b", From: "bob", Kind: "chat", Text: "y"},
	}, 1, &refs)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	var got []string
	for _, line := range lines[1:] {
		var m struct {
			ID, From string
			Answers  []string
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Error(err)
		}
		got = append(got, fmt.Sprint(m))
	}
	if fmt.Sprint(got) != "[{e2 alice [e1]} {e3 bob []}]" || !strings.HasSuffix(lines[0], " 1 older remark left out.") {
		t.Errorf("%v\n%s", got, text)
	}
	if id, ok := refs.Resolve("e3"); !ok || id != "b" {
		t.Errorf("e3 is %q", id)
	}
	if ids := refs.ResolveAll([]string{"e4", "e1", "b", "e1 "}); fmt.Sprint(ids) != "[known b]" {
		t.Errorf("%v", ids)
	}
}
