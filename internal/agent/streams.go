package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/protocol"
)

// The descriptions of the streams.
const (
	ofThought  = "a thought that grows"
	ofThinking = "the model's own thinking"
	ofAnswer   = "the answer"
)

// deltaSender sends an envelope of a stream without waiting for its admission.
type deltaSender func(kind protocol.Kind, payload json.RawMessage) (*client.Pending, error)

// maxBefore is the number of characters above which a text is shown as the answer. Models
// are asked for a sentence or two before their calls, which are seldom longer; an answer that
// is shorter is complete within seconds.
const maxBefore = 240

// Bounds of a stream.
const (
	streamPause = 100 * time.Millisecond // between two chunks
	streamBytes = 64 << 10               // per stream; the complete thought contains the rest
)

// deltaOptions configures the streams of a decision. All fields but Answer, Undecided and
// ShowThinking are required.
type deltaOptions struct {
	Context      context.Context // of the waits for admission
	Send         deltaSender     // within the context
	Answer       deltaSender     // of the answer, beside the context; nil: it grows in the context too
	Undecided    func() bool     // reports that the decision will be made again, so the text is no answer; nil: it is not
	ShowThinking bool            // the model's own thinking is streamed too
	Off          *atomic.Bool    // the gateway refuses streams; set when it does
	Log          *slog.Logger
}

// stream streams a thought as stream.data while the model generates it. The
// gateway masks secrets in it, as in every envelope of a context.
//
// One goroutine runs from the first chunk to the end.
type stream struct {
	o           *deltaOptions
	to          deltaSender
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

	provisional bool // the text may be the beginning of the answer; set before the first chunk
}

// DeltaStreams shows a decision while a model generates it, as streams: the model's text, its
// thinking, and the answer. Its methods are called by one goroutine.
//
// It is known only at the end of a response whether its text is a thought before calls or
// the answer. So the text begins as a thought, in the context. When it is longer than the
// thoughts that a model writes before calls, it is shown as the answer, beside the context,
// from its first word on. If a call follows all the same, the answer is withdrawn.
type DeltaStreams struct {
	o                      *deltaOptions
	text, thinking, answer *stream

	calls   bool            // calls may follow the text
	may     bool            // the text may be the answer, which is not decided yet
	begun   strings.Builder // the text so far, while may is set
	answers bool            // the text is shown as the answer
	visible visible
	taken   string // the stream of an answer that was withdrawn
}

// expect sets what the next text may be: the answer, and a thought that calls follow.
func (l *DeltaStreams) expect(answer, calls bool) {
	answer = answer && l.o.Answer != nil
	l.calls, l.may, l.answers = calls, answer && calls, answer && !calls
	l.text.provisional = l.may
	l.begun.Reset()
	l.visible, l.taken = visible{}, ""
}

// Add appends a chunk of the model's output.
func (l *DeltaStreams) Add(d llm.Delta) {
	switch {
	case d.Kind == llm.CallDelta:
		if l.calls {
			l.Withdraw()
		}
	case d.Text == "" || l.o.Off.Load():
	case d.Kind == llm.ThinkingDelta:
		if l.o.ShowThinking {
			l.thinking.add(d.Text)
		}
	case l.may:
		l.begun.WriteString(d.Text)
		if l.begun.Len() > maxBefore && utf8.RuneCountInString(l.begun.String()) > maxBefore && l.decide() {
			return
		}
		l.text.add(d.Text)
	case l.answers:
		l.say(d.Text)
	default:
		l.text.add(d.Text)
	}
}

// decide decides whether the text is shown as the answer.
func (l *DeltaStreams) decide() bool {
	l.may = false
	text := l.begun.String()
	l.begun.Reset()
	if noteLine.MatchString(text) || l.o.Undecided != nil && l.o.Undecided() {
		return false
	}
	l.text.end(true)
	l.answers = true
	l.say(text)
	return true
}

func (l *DeltaStreams) say(text string) {
	text = l.visible.add(text)
	if text != "" {
		l.answer.add(text)
	}
}

// Withdraw takes back an answer that is shown: the text is a thought, or dropped.
func (l *DeltaStreams) Withdraw() {
	l.taken = cmp.Or(l.answer.end(true), l.taken)
	l.may, l.answers = false, false
}

// Begin is called when a model is queried, with what its text may be: the answer, and a
// thought that calls follow. It takes back earlier text, which is not part of the decision,
// and earlier thinking: the complete thought has what belongs to the decision.
func (l *DeltaStreams) Begin(answer, calls bool) {
	l.text.end(true)
	l.thinking.end(true)
	l.answer.end(true)
	l.expect(answer, calls)
}

// End closes the streams and returns their ids. What follows belongs to another text.
func (l *DeltaStreams) End() (ids StreamIDs) {
	ids = StreamIDs{Text: cmp.Or(l.text.end(false), l.taken), Thinking: l.thinking.end(false), Answer: l.answer.end(false)}
	l.expect(true, true)
	return ids
}

// StreamIDs are the ids of the streams that carried a decision; "" for none. A withdrawn answer
// is a Text.
type StreamIDs struct{ Text, Thinking, Answer string }

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

// end sends the rest and closes the stream, or withdraws it. It returns the stream's id,
// or "" if the decision was complete before the first chunk was sent, or the stream
// was not admitted.
func (g *stream) end(withdraw bool) string {
	if g.ended == nil {
		return ""
	}
	close(g.ended)
	<-g.done
	id := g.id
	switch {
	case id == "":
	case withdraw || g.refused:
		_, _ = g.send(protocol.KindStreamClose, chunk{ID: id, Reason: protocol.StreamWithdrawn})
	default:
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
	g.id = string(newID())
	pending, err := g.send(protocol.KindStreamOpen, chunk{ID: g.id, ContentType: "text/markdown", Description: g.description, Provisional: g.provisional})
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
	Provisional bool   `json:"provisional,omitempty"`
	Reason      string `json:"reason,omitempty"`
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

// closings begin the lines of an answer that are for the agent and not for the reader,
// such as the confidence.
var closings = []string{"confidence", "key factors", "recommendation", "references", "reply to e"}

// noteLine matches a line that the agent shares as a note when calls follow.
var noteLine = regexp.MustCompile(`(?im)^[\s>*_#-]*(observation|hypothesis|question|evidence for|evidence against|reply to e\d+)[*_]*\s*:`)

// visible selects the part of an answer that is streamed: without space at its ends, and
// up to the first line that is, or may become, one of the closings. The complete answer has
// the rest.
type visible struct {
	begun   bool
	midline bool   // the beginning of the line was returned
	held    string // may begin a closing
	space   string // to be returned before further text
	over    bool
}

// add returns what can be shown after a further piece of the answer.
func (v *visible) add(piece string) string {
	var out strings.Builder
	for rest := v.held + piece; rest != "" && !v.over; {
		v.held = ""
		line, after, complete := strings.Cut(rest, "\n")
		if complete {
			line += "\n"
		}
		if !v.midline {
			is, undecided := closes(line, complete)
			v.over = is
			if is {
				break
			}
			if undecided {
				v.held = rest
				break
			}
		}
		out.WriteString(line)
		v.midline, rest = !complete, after
	}
	text := v.space + out.String()
	if !v.begun {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
	}
	shown := strings.TrimRightFunc(text, unicode.IsSpace)
	v.begun, v.space = v.begun || shown != "", text[len(shown):]
	return shown
}

// closes reports whether a line is a closing, or undecided: more of it is needed.
func closes(line string, complete bool) (is, undecided bool) {
	text := strings.ToLower(strings.TrimLeft(line, " \t\r\n>*_#-"))
	for _, label := range closings {
		rest, found := strings.CutPrefix(text, label)
		switch {
		case !found:
			undecided = undecided || strings.HasPrefix(label, text)
		case label == "reply to e":
			return true, false
		default:
			value := strings.TrimLeft(strings.TrimPrefix(rest, " level"), " \t\r\n*_")
			if strings.HasPrefix(value, ":") || strings.HasPrefix(value, "=") || value == "" && complete {
				return true, false
			}
			undecided = undecided || value == "" || strings.HasPrefix(" level", rest) //nolint:gocritic // rest may be the beginning of it
		}
	}
	return false, undecided && !complete
}
