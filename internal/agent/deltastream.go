package agent

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/protocol"
)

var descriptions = map[llm.DeltaKind]string{llm.TextDelta: "a thought that grows", llm.ThinkingDelta: "the model's own thinking"}

// Bounds of a stream.
const (
	streamPause = 100 * time.Millisecond // between two chunks
	streamBytes = 64 << 10               // per stream; the complete thought contains the rest
)

// deltaStream streams a thought as stream.data while the model generates it.
// The gateway masks secrets in it, as in every envelope of a context.
//
// One goroutine runs from the first chunk to the end.
type deltaStream struct {
	a    *Agent
	p    *problem
	kind llm.DeltaKind

	mu     sync.Mutex
	unsent strings.Builder
	size   int
	full   bool // the text has reached streamBytes; later chunks are dropped, because they would leave a gap

	ended chan struct{} // closed by end, which waits for done; nil before the first chunk
	done  chan struct{}

	// Owned by the goroutine, and by end after it.
	stream  string // "" until the first chunk
	refused bool   // the stream was refused or its state is unknown; nothing is sent
}

// decisionStreams holds the two streams of a decision in progress: the model's
// text, and its thinking, which is streamed only with ShowThinking.
type decisionStreams struct{ text, thinking *deltaStream }

func (a *Agent) newDecisionStreams(p *problem) *decisionStreams {
	return &decisionStreams{text: &deltaStream{a: a, p: p, kind: llm.TextDelta}, thinking: &deltaStream{a: a, p: p, kind: llm.ThinkingDelta}}
}

func (l *decisionStreams) add(d llm.Delta) {
	if d.Text == "" || l.text.a.streamsOff.Load() {
		return
	}
	if d.Kind == llm.TextDelta {
		l.text.add(d)
	} else if l.text.a.opts.ShowThinking {
		l.thinking.add(d)
	}
}

// begin is called when a model is queried. It ends the streams, because earlier
// text belongs to another thought.
func (l *decisionStreams) begin(contextwindow.Goal) { l.end() }

// end closes both streams and returns their ids.
func (l *decisionStreams) end() (s streams) {
	s.text, s.thinking = l.text.end(), l.thinking.end()
	return s
}

// streams are the ids of the streams that carried a decision; "" for none.
type streams struct{ text, thinking string }

// add appends a chunk of the model's output. Add, begin and end are called by
// one goroutine.
func (g *deltaStream) add(d llm.Delta) {
	g.mu.Lock()
	g.size += len(d.Text)
	g.full = g.full || g.size > streamBytes
	if !g.full {
		g.unsent.WriteString(d.Text)
	}
	g.mu.Unlock()
	if g.ended == nil {
		g.ended, g.done = make(chan struct{}), make(chan struct{})
		go g.run(g.ended, g.done)
	}
}

func (g *deltaStream) run(ended, done chan struct{}) {
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
func (g *deltaStream) end() string {
	if g.ended == nil {
		return ""
	}
	close(g.ended)
	<-g.done
	stream := g.stream
	if stream != "" {
		g.flush()
		_, _ = g.send(protocol.KindStreamClose, field{"stream_id", stream})
	}
	if g.refused {
		stream = ""
	}
	g.unsent.Reset()
	g.size, g.full, g.ended, g.stream, g.refused = 0, false, nil, "", false
	return stream
}

// flush sends the text added since the last flush.
func (g *deltaStream) flush() {
	g.mu.Lock()
	text := g.unsent.String()
	g.unsent.Reset()
	g.mu.Unlock()
	if text == "" || g.refused || g.stream == "" && !g.open() {
		return
	}
	_, _ = g.send(protocol.KindStreamData, field{"stream_id", g.stream}, field{"data", text})
}

// open opens the stream and reports whether it was admitted.
func (g *deltaStream) open() bool {
	g.stream = string(newID())
	pending, err := g.send(protocol.KindStreamOpen, field{"stream_id", g.stream}, field{"content_type", "text/markdown"}, field{"description", descriptions[g.kind]})
	if err == nil {
		_, err = pending.Wait(g.p.ctx)
	}
	if err == nil {
		return true
	}
	g.refused = true
	var refusal *protocol.Error
	if errors.As(err, &refusal) || pending == nil {
		g.stream = "" // never opened, so there is nothing to close
	}
	if _, fatal := refusalOf(err); fatal == nil && g.a.streamsOff.CompareAndSwap(false, true) {
		g.a.log.Info("thoughts are not streamed", "err", err)
	}
	return false
}

// send sends without waiting. The result of a send may be ignored, because
// streams are optional.
func (g *deltaStream) send(kind protocol.Kind, fields ...field) (*client.Pending, error) {
	return g.a.opts.Space.SendAsync(g.p.ctx, g.p.inside(kind, fields...))
}
