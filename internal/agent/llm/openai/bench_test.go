package openai

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// canned answers every request with one transcript.
type canned []byte

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(c))}, nil
}

// BenchmarkGenerate decodes an answer of 2,000 pieces.
func BenchmarkGenerate(b *testing.B) {
	chat, responses := new(bytes.Buffer), new(bytes.Buffer)
	for i := range 2000 {
		fmt.Fprintf(chat, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"},\"finish_reason\":null}]}\n\n")
		fmt.Fprintf(responses, "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"word \",\"sequence_number\":%d}\n\n", i)
	}
	chat.WriteString("data: [DONE]\n\n")
	responses.WriteString("data: {\"type\":\"response.completed\",\"response\":{}}\n\n")
	for api, transcript := range map[API][]byte{Chat: chat.Bytes(), Responses: responses.Bytes()} {
		b.Run(string(api), func(b *testing.B) {
			m := New(Options{Model: "m", API: api, HTTP: &http.Client{Transport: canned(transcript)}})
			b.SetBytes(int64(len(transcript)))
			b.ReportAllocs()
			for b.Loop() {
				pieces := 0
				if _, err := llm.Ask(b.Context(), m, question, func(llm.Delta) { pieces++ }); err != nil || pieces != 2000 {
					b.Fatal(pieces, err)
				}
			}
		})
	}
}
