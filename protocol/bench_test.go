package protocol

import (
	"strings"
	"testing"
)

// thought400 is a typical reasoning.thought of 400 bytes.
var thought400 = func() []byte {
	s := `{"protocol":"meup/v0.1","id":"018f9e5a-7b1c-7d4e-9a3b-5c6d7e8f9a0b","kind":"reasoning.thought",` +
		`"correlationId":"018f9e5a-7b1c-7d4e-9a3b-000000000001","context":"018f9e5a-7b1c-7d4e-9a3b-000000000000",` +
		`"payload":{"message":"` + "MESSAGE" + `","confidence":0.85,"tool_name":"read_file","parallel_group":0}}`
	return []byte(strings.Replace(s, "MESSAGE", strings.Repeat("words and ", 40)[:400-len(s)+len("MESSAGE")], 1))
}()

func BenchmarkParseJSON(b *testing.B) {
	b.SetBytes(int64(len(thought400)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseJSON(thought400, MaxDepth); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	b.SetBytes(int64(len(thought400)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(thought400, DialectMEUP01, DefaultContextDepth); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendEnvelope(b *testing.B) {
	for _, d := range allDialects {
		b.Run(d.String(), func(b *testing.B) {
			in, err := Decode(thought400, DialectMEUP01, DefaultContextDepth)
			if err != nil {
				b.Fatal(err)
			}
			in.Envelope.From, in.Envelope.Seq = "planner", 123456
			dst := make([]byte, 0, 1024)
			b.SetBytes(int64(len(thought400)))
			b.ReportAllocs()
			for b.Loop() {
				dst = AppendEnvelope(dst[:0], d, &in.Envelope)
			}
		})
	}
}

// BenchmarkAppendChat renames the text of a chat for the other dialects.
func BenchmarkAppendChat(b *testing.B) {
	frame := []byte(`{"kind":"chat","payload":{"message":"` + strings.Repeat("words and ", 36) + `"}}`)
	in, err := Decode(frame, DialectMEUP01, DefaultContextDepth)
	if err != nil {
		b.Fatal(err)
	}
	dst := make([]byte, 0, 1024)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendEnvelope(dst[:0], DialectMEUP02, &in.Envelope)
	}
}
