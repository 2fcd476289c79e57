package agent

import (
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// Notifications about a request leave room for its response, and expect no response themselves.
func TestDeliver_Notices(t *testing.T) {
	var in Inbox
	box := in.Expect("r")
	for range 2 * maxUnread {
		in.Deliver(&protocol.Envelope{ID: "n", Kind: protocol.KindMCPRequest, Correlation: protocol.CorrelateTo("r"), Payload: []byte(`{"method":"notifications/progress"}`)})
	}
	if !in.Deliver(&protocol.Envelope{ID: "a", Kind: protocol.KindMCPResponse, Correlation: protocol.CorrelateTo("r"), Payload: []byte(`{}`)}) {
		t.Error("the response has not been delivered")
	}
	if len(box) != maxUnread/2+1 || len(in.boxes) != 1 {
		t.Errorf("%d envelopes in %d boxes, expected half of the notifications and the response in one box", len(box), len(in.boxes))
	}
}
