package protocol

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestDecodeDelivered(t *testing.T) {
	const text = `{"protocol":"meup/v0.1","id":"a","ts":"2026-01-02T03:04:05.000006Z","from":"b","to":["c","d"],"kind":"x-new/thing",` +
		`"correlationId":["x","y"],"context":"c-1/c-2","payload":{"message":"<é>"},"x":[1.0,2e400],"y":null,"seq":7}`
	e, err := DecodeDelivered([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := Envelope{
		ID: "a", TS: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), From: "b", To: []ParticipantID{"c", "d"}, Kind: e.Kind,
		Correlation: Correlation{IDs: []ID{"x", "y"}, Array: true}, Context: "c-1/c-2", Payload: []byte(`{"message":"<é>"}`),
		Extra: []byte(`"x":[1.0,2e400],"y":null`), Seq: 7,
	}
	sameEnvelope(t, &want, &e)
	if e.Seq != 7 || e.Kind == "" {
		t.Errorf("%+v", e)
	}
	one, err := DecodeDelivered([]byte(`{"kind":"system.ack","correlationId":"a","payload":{},"seq":-1}`))
	if err != nil || one.Correlation.Array || one.Correlation.First() != "a" || one.Seq != 0 {
		t.Errorf("%+v, %v", one, err)
	}
}

func TestDecodeDeliveredRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``: "", `[`: "", `[]`: "object", `"x"`: "object", `{}`: "kind", `{"kind":7}`: "kind",
		`{"kind":"chat","payload":` + strings.Repeat("[", MaxDepth+2) + strings.Repeat("]", MaxDepth+2) + `}`: "",
	} {
		if e, err := DecodeDelivered([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %+v, %v", text, e, err)
		}
	}
}

// FuzzDecodeDelivered: decoding never panics, and a decoded envelope can be
// encoded again.
func FuzzDecodeDelivered(f *testing.F) {
	f.Add([]byte(`{"protocol":"meup/v0.1","id":"a","ts":"2026-01-02T03:04:05.000006Z","from":"b","to":["c"],"kind":"chat","correlationId":["x","y"],"context":"c-1","payload":{"message":"<é>"},"x":[1.0,2e400],"seq":7}`))
	f.Add([]byte(`{"kind":"system.ack","correlationId":"a","payload":{"seq":-1}}`))
	f.Add([]byte(`{"kind":"mcp/response","seq":99999999999999999999}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := DecodeDelivered(bytes.Clone(text))
		if err != nil {
			return
		}
		again, err := DecodeDelivered(AppendEnvelope(nil, DialectMEUP01, &e))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if again.ID != e.ID || again.Kind != e.Kind || again.Seq != e.Seq || !bytes.Equal(again.Extra, e.Extra) {
			t.Errorf("%+v became %+v", e, again)
		}
	})
}
