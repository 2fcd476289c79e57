package proposals

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/elicit"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/protocol"
)

// TestFill reads a form: an invalid value is asked for again, and a y that comes with the
// question does not count.
func TestFill(t *testing.T) {
	question := &protocol.Envelope{ID: "e", From: "files", To: []protocol.ParticipantID{"alice"}, Kind: protocol.KindMCPRequest, Payload: []byte(`{"method":"elicitation/create","params":
		{"message":"Which port?\nOf the server.","requestedSchema":{"type":"object","required":["port"],"properties":{"port":{"type":"integer","minimum":1},"zone":{"type":"string","enum":["eu","us"]},"sure":{"type":"boolean","default":true}}}}}`)}
	form := elicit.Asks(question, "alice")
	if form == nil {
		t.Fatal("it is no question")
	}
	for name, test := range map[string]struct {
		typed, action, content, shown string
	}{
		"values":  {"y\n0\n80\n2\n\n", elicit.Accept, `{"port":80,"zone":"us","sure":true}`, "Not valid: expected at least 1."},
		"nothing": {"why\nn\n", elicit.Decline, "", "  Which port?\n  Of the server.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, typed := io.Pipe()
				go func() {
					defer typed.Close()
					_, _ = io.WriteString(typed, "y\n")
					for line := range strings.Lines(test.typed) {
						time.Sleep(2 * tooEarly)
						_, _ = io.WriteString(typed, line)
					}
				}()
				var out bytes.Buffer
				action, content, err := fill(t.Context(), program.NewLines(in), &out, question, form)
				if err != nil || action != test.action || string(content) != test.content || !strings.Contains(out.String(), test.shown) || !strings.Contains(out.String(), "answer it again") {
					t.Errorf("%s %s (%v), want %s %s and %q in the output: %s", action, content, err, test.action, test.content, test.shown, &out)
				}
			})
		})
	}
}
