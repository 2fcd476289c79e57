package wire

import (
	"bytes"
	"fmt"
)

// turnThoughts and TurnEnvelopes are the numbers of thoughts and envelopes of a turn.
const (
	turnThoughts  = 20
	TurnEnvelopes = turnThoughts + 4
)

// WriteTurn writes the frames of the turn with a number: the question of one
// participant, and the reasoning and answer of another. The question follows the
// answer of an earlier turn, or begins a thread if follows is negative.
func WriteTurn(question, work *bytes.Buffer, n, follows int) {
	frame := func(b *bytes.Buffer, format string, a ...any) {
		b.Write(ClientFrames(fmt.Appendf(nil, format, a...), 1))
	}
	if follows < 0 {
		frame(question, `{"id":"q-%d","kind":"chat","payload":{"message":"Question %[1]d: which of the releases can be rolled back?"}}`, n)
	} else {
		frame(question, `{"id":"q-%d","kind":"chat","correlationId":"a-%d","payload":{"message":"And, for question %[1]d, what about the one before it?"}}`, n, follows)
	}
	frame(work, `{"id":"r-%d","kind":"reasoning.start","correlationId":"q-%[1]d","payload":{"message":"Looking into question %[1]d"}}`, n)
	for i := range turnThoughts {
		frame(work, `{"kind":"reasoning.thought","context":"r-%d","payload":{"message":"Step %d: the listing shows four files; number %d is the most likely to describe a rollback, so I read its first lines before the others."}}`, n, i, n%97)
	}
	frame(work, `{"kind":"reasoning.conclusion","context":"r-%d","payload":{"message":"The last two releases can be rolled back."}}`, n)
	frame(work, `{"id":"a-%d","kind":"chat","correlationId":"q-%[1]d","payload":{"message":"The last two of %[1]d; the one before them changed the schema."}}`, n)
}
