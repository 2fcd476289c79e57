// Package deltastream shows the text of a decision while a model generates it.
package deltastream

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/protocol"
)

// The descriptions of the streams.
const (
	ofThought  = "a thought that grows"
	ofThinking = "the model's own thinking"
	ofAnswer   = "the answer"
)

// Sender sends an envelope of a stream without waiting for its admission.
type Sender func(kind protocol.Kind, payload json.RawMessage) (*client.Pending, error)

// Bounds of a stream.
const (
	streamPause = 100 * time.Millisecond // between two chunks
	streamBytes = 64 << 10               // per stream; the complete thought contains the rest
)

// Options configures the streams of a decision. All fields but Answer and ShowThinking
// are required.
type Options struct {
	Context      context.Context // of the waits for admission
	Send         Sender          // within the context
	Answer       Sender          // of the answer, beside the context; nil: it grows in the context too
	ShowThinking bool            // the model's own thinking is streamed too
	Off          *atomic.Bool    // the gateway refuses streams; set when it does
	Log          *slog.Logger
}

// stream streams a thought as stream.data while the model generates it. The
// gateway masks secrets in it, as in every envelope of a context.
//
// One goroutine runs from the first chunk to the end.
type stream struct {
	o           *Options
	to          Sender
	description string

	mu     sync.Mutex
	unsent strings.Builder
	size   int
	full   bool // the text has reached streamBytes; later chunks are dropped, because they would leave a gap

	ended chan struct{} // closed by end, which waits for done; nil before the first chunk
	done  chan struct{}

	// Owned by the goroutine, and by end after it.
	id      string // "" until the first chunk
	refused bool   // the stream was refused or its state is unknown; nothing is sent
}

// Streams holds the streams of a decision in progress: the model's text, its thinking,
// and the answer. Add, Begin and End are called by one goroutine.
type Streams struct {
	text, thinking, answer *stream

	answers bool // the text is the answer
	visible visible
}

// New returns the streams of a decision. They open with the first text.
func New(o Options) *Streams {
	return &Streams{
		text: &stream{o: &o, to: o.Send, description: ofThought}, thinking: &stream{o: &o, to: o.Send, description: ofThinking},
		answer: &stream{o: &o, to: o.Answer, description: ofAnswer},
	}
}

// Add appends a chunk of the model's output.
func (l *Streams) Add(d llm.Delta) {
	if d.Text == "" || l.text.o.Off.Load() {
		return
	}
	switch {
	case d.Kind == llm.TextDelta && l.answers:
		if text := l.visible.add(d.Text); text != "" {
			l.answer.add(text)
		}
	case d.Kind == llm.TextDelta:
		l.text.add(d.Text)
	case l.text.o.ShowThinking:
		l.thinking.add(d.Text)
	}
}

// Begin is called when a model is queried. It ends the streams, because earlier
// text belongs to another thought. The text of a synthesis is the answer.
func (l *Streams) Begin(goal contextwindow.Goal) {
	l.End()
	l.answers, l.visible = goal == contextwindow.Synthesis && l.answer.to != nil, visible{}
}

// End closes the streams and returns their ids.
func (l *Streams) End() (ids IDs) {
	ids.Text, ids.Thinking, ids.Answer = l.text.end(), l.thinking.end(), l.answer.end()
	return ids
}

// IDs are the ids of the streams that carried a decision; "" for none.
type IDs struct{ Text, Thinking, Answer string }

func (g *stream) add(text string) {
	g.mu.Lock()
	g.size += len(text)
	g.full = g.full || g.size > streamBytes
	if !g.full {
		g.unsent.WriteString(text)
	}
	g.mu.Unlock()
	if g.ended == nil {
		g.ended, g.done = make(chan struct{}), make(chan struct{})
		go g.run(g.ended, g.done)
	}
}

func (g *stream) run(ended, done chan struct{}) {
	defer close(done)
	tick := time.NewTicker(streamPause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			g.flush()
		case <-ended:
			return
		}
	}
}

// end sends the rest and closes the stream. It returns the stream's id, or ""
// if the decision was complete before the first chunk was sent or the stream
// was not admitted.
func (g *stream) end() string {
	if g.ended == nil {
		return ""
	}
	close(g.ended)
	<-g.done
	id := g.id
	if id != "" {
		g.flush()
		_, _ = g.send(protocol.KindStreamClose, chunk{ID: id})
	}
	if g.refused {
		id = ""
	}
	g.unsent.Reset()
	g.size, g.full, g.ended, g.id, g.refused = 0, false, nil, "", false
	return id
}

// flush sends the text added since the last flush.
func (g *stream) flush() {
	g.mu.Lock()
	text := g.unsent.String()
	g.unsent.Reset()
	g.mu.Unlock()
	if text == "" || g.refused || g.id == "" && !g.open() {
		return
	}
	_, _ = g.send(protocol.KindStreamData, chunk{ID: g.id, Data: text})
}

// open opens the stream and reports whether it was admitted.
func (g *stream) open() bool {
	g.id = uuid.Must(uuid.NewV7()).String()
	pending, err := g.send(protocol.KindStreamOpen, chunk{ID: g.id, ContentType: "text/markdown", Description: g.description})
	if err == nil {
		_, err = pending.Wait(g.o.Context)
	}
	if err == nil {
		return true
	}
	g.refused = true
	var refusal *protocol.Error
	if errors.As(err, &refusal) || pending == nil {
		g.id = "" // never opened, so there is nothing to close
	}
	if refusal != nil && refusal.Code != protocol.CodeUnavailable && g.o.Off.CompareAndSwap(false, true) {
		g.o.Log.Info("thoughts are not streamed", "err", err)
	}
	return false
}

// chunk is the payload of an envelope of a stream.
type chunk struct {
	ID          string `json:"stream_id"`
	Data        string `json:"data,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	Description string `json:"description,omitempty"`
}

// send sends without waiting. The result of a send may be ignored, because
// streams are optional.
func (g *stream) send(kind protocol.Kind, c chunk) (*client.Pending, error) {
	payload, err := json.Marshal(c)
	if err != nil { // impossible for strings
		return nil, err
	}
	return g.to(kind, payload)
}
