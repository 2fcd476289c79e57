package openaiapi

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

func admitted(*input) error { return nil }

func FuzzDecode(f *testing.F) {
	f.Add(`{"model":"lab","messages":[{"role":"system","content":"x"},{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url"}]}],"stream":true}`, false)
	f.Add(`{"model":"lab/planner","input":"hi","previous_response_id":"resp_x"}`, true)
	f.Add(`{"model":"lab","input":[{"type":"reasoning","summary":[]},{"role":"user","content":[{"type":"input_text","text":"hi"}]}],"text":{"format":{"type":"text"}}}`, true)
	f.Add(`{"model":"lab","messages":{"role":"user"},"n":1e9,"tools":[]}`, false)
	f.Fuzz(func(t *testing.T, body string, responses bool) {
		in, err := decode([]byte(body), responses, admitted)
		if err != nil {
			var coded *fault
			if !errors.As(err, &coded) || coded.message == "" || coded.status < 400 {
				t.Errorf("%#v", err)
			}
			return
		}
		if !protocol.ValidSpaceName(in.space) || in.to != "" && !protocol.ValidParticipantID(string(in.to)) || strings.TrimSpace(in.text) == "" || in.same == "" {
			t.Errorf("%+v", in)
		}
		if answer, ok := in.task(); ok && !json.Valid([]byte(answer)) {
			t.Errorf("%q", answer)
		}
	})
}

// Two requests within the window have an id in common; later ones have none.
func TestQuestionIDs_Window(t *testing.T) {
	first := time.Unix(1_800_000_000, 0)
	for _, shift := range []time.Duration{0, time.Minute, 29*time.Minute + 59*time.Second} {
		for _, after := range []time.Duration{0, time.Second, retryWindow - time.Second} {
			asked, _ := questionIDs([]string{"x"}, false, first.Add(shift))
			if id, before := questionIDs([]string{"x"}, false, first.Add(shift+after)); id != asked && before != asked {
				t.Errorf("%v after %v is no retry", after, shift)
			}
		}
		asked, _ := questionIDs([]string{"x"}, false, first.Add(shift))
		if id, before := questionIDs([]string{"x"}, false, first.Add(shift+2*retryWindow)); id == asked || before == asked {
			t.Errorf("an hour after %v is a retry", shift)
		}
	}
	keyed, before := questionIDs([]string{"x"}, true, first)
	if later, _ := questionIDs([]string{"x"}, true, first.Add(24*time.Hour)); later != keyed || before != "" {
		t.Error("a key has another question later")
	}
}

func TestTask_IsNoQuestion(t *testing.T) {
	for text, want := range map[string]string{
		"### Task:\nx\nJSON format: { \"title\": \"y\" }\n<chat_history>\nUSER: hi\nASSISTANT: z\n</chat_history>": `{"title":"hi"}`,
		"### Task:\nx\nJSON format: { \"follow_ups\": [\"y\"] }\n<chat_history>\nUSER: hi\n</chat_history>":        `{"follow_ups":[]}`,
		"### Task:\nx\nJSON format: { \"text\": \"y\" }\n<chat_history></chat_history>":                            `{"text":""}`,
		"### Task:\nx\nJSON format: { \"other\": \"y\" }\n<chat_history></chat_history>":                           "",
		"Please explain JSON format: { \"title\": 1 } <chat_history>":                                              "",
		"### Task:\nwrite a program": "",
	} {
		in, err := decode(quote(map[string]any{"model": "lab", "messages": []any{map[string]any{"role": "user", "content": text}}}), false, admitted)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := in.task(); got != want || ok != (want != "") {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestText_Bound(t *testing.T) {
	x := text{most: 5}
	if x.add("abc") != "abc" || x.add("déf") != "d [\u2026]" || x.add("more") != "" || x.String() != "abcd [\u2026]" {
		t.Errorf("%q", x.String())
	}
}
