package safety

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// BenchmarkPipeline runs all stages on one text. The targets on two old cores are
// 5 µs for the first and 50 µs for the second.
func BenchmarkPipeline(b *testing.B) {
	p := knowing(b, value, "another-value-of-the-environment")
	texts := []struct {
		name string
		text []byte
	}{
		{"clean 300 B", snippet(b, 300, prose)},
		{"clean 4 KiB", snippet(b, 4096, prose)},
		{"trigger words 4 KiB", snippet(b, 4096, technical[:3]...)},
		{"code and logs 4 KiB", snippet(b, 4096, technical...)},
		{"base64 4 KiB", []byte(base64.StdEncoding.EncodeToString(snippet(b, 3072, "{alnum:64}")))},
		{"unseen characters 4 KiB", append(snippet(b, 4090, prose), "a\u200bb"...)},
		{"one secret 300 B", append(snippet(b, 260, prose), " "+ghp...)},
	}
	for _, c := range texts {
		b.Run(c.name, func(b *testing.B) {
			payload := parse(b, `{"message":`+string(must(json.Marshal(string(c.text))))+`}`)
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := thought(p, payload); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkShown measures the calls of package turns.
func BenchmarkShown(b *testing.B) {
	p := knowing(b, value)
	text := string(snippet(b, 300, prose))
	args := parse(b, `{"path":"src/gateway/main.go","query":"sessions that expire","options":{"limit":20,"max_tokens":4096,"case":false}}`)
	b.Run("text 300 B", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p.Text(text)
		}
	})
	b.Run("parameters", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p.Parameters(args)
		}
	})
}

// BenchmarkStream is one clean chunk of 20 bytes, in the middle of a text.
func BenchmarkStream(b *testing.B) {
	p := knowing(b, value)
	chunk := parse(b, `{"stream_id":"01a1fe4a-d236","data":" that the sessions, "}`)
	var s Stream
	b.ReportAllocs()
	for b.Loop() {
		if v, _ := p.StreamData(&s, chunk, protocol.Value{}); v.Payload != nil {
			b.Fatal("it is not passed on")
		}
	}
}
