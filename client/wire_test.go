package client

import (
	"bytes"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// Whatever comes over the wire, reading it does not break, and what is read
// can be written again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"protocol":"meup/v0.1","id":"a","ts":"2026-01-02T03:04:05.000006Z","from":"b","to":["c"],"kind":"chat","correlationId":["x","y"],"context":"c-1","payload":{"message":"<é>"},"x":[1.0,2e400],"seq":7}`))
	f.Add([]byte(`{"kind":"system.ack","correlationId":"a","payload":{"seq":-1}}`))
	f.Add([]byte(`{"kind":"mcp/response","seq":99999999999999999999}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, frame []byte) {
		env, err := decode(bytes.Clone(frame))
		if err != nil {
			return
		}
		again, err := decode(protocol.AppendEnvelope(nil, protocol.MEUP1, &env))
		if err != nil {
			t.Fatalf("%s: %v", frame, err)
		}
		if again.ID != env.ID || again.Kind != env.Kind || again.Seq != env.Seq || !bytes.Equal(again.Extra, env.Extra) {
			t.Errorf("%+v became %+v", env, again)
		}
	})
}
