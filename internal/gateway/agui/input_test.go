package agui

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

func FuzzDecode(f *testing.F) {
	f.Add(`{"threadId":"t","runId":"r","messages":[{"id":"a","role":"assistant","content":"x"},{"id":"m","role":"user","content":[{"type":"text","text":"hi"},{"type":"image"}]}],"forwardedProps":{"to":["planner"]},"resume":[{"interruptId":"p","status":"resolved","payload":{"approved":true}}]}`)
	f.Add(`{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"hi"}],"forwardedProps":{"to":"x y"}}`)
	f.Add(`{"messages":[{"role":"user"}],"resume":{}}`)
	f.Fuzz(func(t *testing.T, text string) {
		in, err := decode([]byte(text), nil)
		if err != nil {
			return
		}
		if in.thread == "" || in.run == "" || in.message == "" || in.text == "" || len(in.to) > maxTo || len(in.resume) > maxResumed {
			t.Errorf("%+v", in)
		}
		for _, id := range in.to {
			if !protocol.ValidParticipantID(string(id)) {
				t.Errorf("to %q", id)
			}
		}
	})
}

// A decision is an approval only if it says so.
func TestDecode_Resume(t *testing.T) {
	for payload, want := range map[string]bool{
		`"status":"resolved","payload":{"approved":true}`: true, `"status":"resolved","payload":true`: true,
		`"status":"resolved"`: false, `"status":"resolved","payload":{"approved":"true"}`: false, `"status":"resolved","payload":{"approved":false}`: false,
		`"status":"cancelled","payload":{"approved":true}`: false, `"payload":{"approved":true}`: false, `"status":"resolved","payload":"yes"`: false,
	} {
		in, err := decode([]byte(`{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"hi"}],"resume":[{"interruptId":"p",`+payload+`}]}`), nil)
		if err != nil || len(in.resume) != 1 || in.resume[0].approved != want {
			t.Errorf("%s: %+v %v", payload, in, err)
		}
	}
	long := `{"threadId":"` + strings.Repeat("x", maxID+1) + `","runId":"r","messages":[{"id":"m","role":"user","content":"hi"}]}`
	if _, err := decode([]byte(long), nil); err == nil {
		t.Error("a long id is accepted")
	}
}
