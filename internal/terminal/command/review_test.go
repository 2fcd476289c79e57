package command

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/protocol"
)

// TestAnswer_TooEarly checks that an answer which arrives with the question does not
// decide, as it was meant for the question before.
func TestAnswer_TooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &protocol.Envelope{ID: "p", From: "scout", Kind: protocol.KindMCPProposal, Payload: []byte(`{"method":"m","participant_id":"files"}`)}
		in, typed := io.Pipe()
		go func() {
			defer typed.Close()
			_, _ = io.WriteString(typed, "y\n")
			time.Sleep(tooEarly)
			_, _ = io.WriteString(typed, "s\n")
		}()
		var out bytes.Buffer
		decision, err := answer(t.Context(), program.NewLines(in), &out, p, tooEarly)
		if err != nil || decision != nil {
			t.Errorf("decision %+v (%v), want none: the y came with the question", decision, err)
		}
		if !strings.Contains(out.String(), "The question has just appeared: answer it again.") {
			t.Errorf("the output does not say that the answer came too early: %s", &out)
		}
	})
}
