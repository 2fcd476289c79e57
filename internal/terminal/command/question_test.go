package command

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/mcp/elicit"
	"github.com/meup-protocol/meup/internal/terminal/connect"
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

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A question expires by the clock of the gateway.
func TestAwaitOver_ClockOfGateway(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				offline := roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("offline") })
				gateway, err := api.New(api.Options{URL: "http://gateway", Token: "t", HTTPClient: &http.Client{Transport: offline}})
				if err != nil {
					t.Fatal(err)
				}
				began, now := time.Now(), protocol.Welcome{Clock: ahead}.Now
				question := &protocol.Envelope{ID: "e"}
				if !awaitOver(t.Context(), &connect.Target{API: gateway}, question, now().Add(time.Minute), now) {
					t.Error("the question did not end")
				}
				if took := time.Since(began); took != time.Minute {
					t.Errorf("the question ended after %s, want 1m", took)
				}
			})
		})
	}
}
