package openaiapi

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/recent"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the texts of a turn.
const (
	maxArguments = 500       // bytes of the arguments of a call that are shown
	maxHeld      = 256       // steps that wait for the end of one that grows
	maxStep      = 64 << 10  // bytes of one that does not grow
	maxGrown     = 256 << 10 // bytes of a text that grows, for the comparison with the complete one
	maxMissed    = 256
)

// output shows a turn to a client.
type output interface {
	// think adds to the reasoning; begins: it is a new step.
	think(text string, begins bool)
	// say adds to the answer.
	say(text string)
	// end ends the turn.
	end(usage)
	// fail ends it with an error.
	fail(*fault)
	// more reports whether the client takes more.
	more() bool
}

// usage counts the tokens that participants report in the metadata of their
// conclusions and cancellations. Without a report it is zero: a space has no tokens
// of its own. cached is a part of input, reasoning one of output. uncounted is the
// number of answers that are not in the others.
type usage struct{ input, output, cached, reasoning, uncounted int64 }

// with returns the counts in the form of an API, with the uncounted answers, if there are
// any: clients ignore members that they do not know.
func (u usage) with(counts map[string]any) map[string]any {
	counts["total_tokens"] = u.input + u.output
	if u.uncounted > 0 {
		counts["uncounted"] = u.uncounted
	}
	return counts
}

// view turns the events of a turn into text. One step at a time is shown while it
// grows; others wait for its end.
type view struct {
	out output
	// only is the participant that was asked; "": all. Texts of others have a name.
	only protocol.ParticipantID

	live     protocol.ID            // the stream that is shown as it grows; "": none
	writer   protocol.ParticipantID // of live, or of finished
	sent     text
	finished protocol.ID                        // the stream that was shown last, whose complete text may follow
	last     bool                               // nothing was shown after it
	missed   *recent.Map[protocol.ID, struct{}] // streams of steps and answers whose beginning was not shown
	held     []string
	closing  *ask.Event // a conclusion that the answer may repeat; nil: none

	saying    protocol.ID // the answer that is shown as it grows; "": none
	speaker   protocol.ParticipantID
	said      text        // of it, or of retracted
	waiting   []string    // answers that wait for its end
	waits     int         // bytes of waiting
	answers   int         // that were shown, or begun
	retracted protocol.ID // the last answer that was none, if its thought may follow
	used      usage
	ended     bool
}

func newView(out output, only protocol.ParticipantID) *view {
	return &view{out: out, only: only, sent: text{most: maxGrown}, said: text{most: maxAnswer}, missed: recent.New[protocol.ID, struct{}](maxMissed)}
}

// event shows an event of the turn; it returns false at its end.
func (v *view) event(e *ask.Event) bool {
	if c := v.closing; c != nil && e.Type != ask.StreamClosed {
		v.closing = nil
		if e.Type != ask.Answered || e.Envelope.From != c.Envelope.From || !ask.Repeats(e.Text, c.Text) {
			v.step(c.Envelope.From, describe(c))
		}
	}
	switch e.Type {
	case ask.Delta:
		v.grow(e)
	case ask.StreamOpened:
	case ask.StreamClosed:
		v.settle(e.Ref)
	case ask.Thought:
		v.thought(e)
	case ask.Answering:
		v.say(e)
	case ask.Retracted:
		if e.Ref == v.saying { // it was no answer; as its text cannot be taken back, a blank line follows it
			v.answers--
			if v.answers == 0 {
				v.out.say("\n\n")
			}
			v.retracted = e.Ref
			v.endAnswer()
		}
	case ask.Answered:
		v.settle(v.live)
		for _, text := range e.Steps {
			v.step(e.Envelope.From, text)
		}
		v.answer(e)
	case ask.Closed:
		v.count(e.Envelope)
		if e.Envelope.Kind != protocol.KindReasoningConclusion || e.Envelope.Context.Depth() != 1 {
			v.step(e.Envelope.From, describe(e))
		} else if v.saying == "" || v.speaker != e.Envelope.From || !ask.Repeats(v.said.String(), e.Text) {
			v.closing = e
		}
	case ask.Ended:
		v.end(e)
		return false
	default:
		v.step(e.Envelope.From, describe(e))
	}
	return v.out.more()
}

// describe returns the text of a step that is no thought; "": nothing is shown.
func describe(e *ask.Event) string {
	payload := e.Envelope.ParsePayload()
	switch e.Type {
	case ask.Opened:
		if asked := protocol.ParticipantIn(payload, "participant_id"); asked != "" {
			return strings.TrimSuffix("asks "+string(asked)+": "+e.Text, ": ")
		}
	case ask.Called:
		return "calls " + callText(e.Envelope, payload)
	case ask.Proposed:
		return fmt.Sprintf("proposes to call %s. It waits for a decision: a participant that may decide approves or rejects proposal %s in the page, in the terminal, or with \"meup proposals approve %s\". A message in this chat does not decide it.",
			callText(e.Envelope, payload), e.Envelope.ID, e.Envelope.ID)
	case ask.Returned:
		return "returned: " + cmp.Or(exchange.ReadResult(payload).String(), "done")
	case ask.Settled:
		return strings.TrimSuffix(fmt.Sprintf("decided on proposal %s: %s: %s", e.Ref, e.State, e.Text), ": ")
	case ask.Closed:
		if e.Envelope.Kind == protocol.KindReasoningCancel {
			return strings.TrimSuffix("gave up: "+e.Text, ": ")
		}
	case ask.Said:
		return "says: " + e.Text
	}
	return e.Text
}

// callText returns the tool of a call, its host, and its arguments.
func callText(e *protocol.Envelope, payload protocol.Value) string {
	text, params := exchange.ShownCall(payload)
	host := protocol.ParticipantIn(payload, "participant_id")
	if len(e.To) == 1 {
		host = e.To[0]
	}
	if host != "" {
		text += " at " + string(host)
	}
	if len(params) > len("{}") {
		text += " with " + textutil.Shorten(string(params), maxArguments)
	}
	return text
}

// step shows a complete step, after the one that grows.
func (v *view) step(from protocol.ParticipantID, text string) {
	if text == "" {
		return
	}
	text = textutil.Shorten(text, maxStep)
	if from != v.only {
		text = string(from) + ": " + text
	}
	if v.live != "" && len(v.held) < maxHeld {
		v.held = append(v.held, text)
		return
	}
	v.settle(v.live)
	v.last = false
	v.out.think(text, true)
}

// grow shows an addition to a step, unless another one grows.
func (v *view) grow(e *ask.Event) {
	if _, missed := v.missed.Get(e.Ref); e.Text == "" || missed {
		return
	}
	if v.live != "" && v.live != e.Ref {
		v.missed.Put(e.Ref, struct{}{})
		return
	}
	text := e.Text
	begins := v.live == ""
	if begins {
		v.live, v.writer, v.finished = e.Ref, e.Envelope.From, ""
		v.sent.reset()
		if e.Envelope.From != v.only {
			text = string(e.Envelope.From) + ": " + text
		}
	}
	v.sent.add(e.Text)
	v.out.think(text, begins)
}

// settle ends a step that grows, and shows the ones that waited for it.
func (v *view) settle(stream protocol.ID) {
	if stream == "" || stream != v.live {
		return
	}
	v.live, v.finished, v.last = "", v.live, len(v.held) == 0
	for _, text := range v.held {
		v.out.think(text, true)
	}
	v.held = nil
}

// thought shows a thought, or what is missing of one that grew.
func (v *view) thought(e *ask.Event) {
	stream := protocol.ID(e.Envelope.ParsePayload().Get("stream_id").Text())
	if stream != "" && e.Envelope.From == v.writer && (stream == v.live || stream == v.finished) {
		rest, same := strings.CutPrefix(e.Text, v.sent.String())
		if v.sent.full {
			rest, same = "", true
		}
		if same {
			if rest != "" {
				v.out.think(rest, stream != v.live && !v.last)
			}
			v.settle(stream)
			v.finished = ""
			return
		}
	}
	text := e.Text
	if stream != "" && stream == v.retracted && e.Envelope.From == v.speaker { // it was shown as an answer
		v.retracted = ""
		if rest, same := strings.CutPrefix(text, v.said.String()); same {
			text = strings.TrimSpace(rest)
		}
	}
	v.step(e.Envelope.From, text)
}

// say shows an addition to an answer, unless another one grows.
func (v *view) say(e *ask.Event) {
	if _, missed := v.missed.Get(e.Ref); e.Text == "" || missed {
		return
	}
	if v.saying != "" && v.saying != e.Ref {
		v.missed.Put(e.Ref, struct{}{})
		return
	}
	begin := ""
	if v.saying == "" {
		v.settle(v.live)
		v.saying, v.speaker, v.retracted = e.Ref, e.Envelope.From, ""
		v.said.reset()
		begin = v.before(e.Envelope.From)
	}
	v.said.add(e.Text)
	v.out.say(begin + e.Text)
}

// before returns the text between two answers, with the sender of the second if it is not
// the one that was asked.
func (v *view) before(from protocol.ParticipantID) (text string) {
	if v.answers > 0 {
		text = "\n\n"
	}
	v.answers++
	if from != v.only {
		text += "**" + string(from) + "**: "
	}
	return text
}

// answer shows an answer, or the rest of one that grew.
func (v *view) answer(e *ask.Event) {
	stream := protocol.ID(e.Envelope.ParsePayload().Get("stream_id").Text())
	switch grown := v.saying != "" && stream == v.saying && e.Envelope.From == v.speaker; {
	case e.Text == "":
	case v.saying != "" && !grown:
		text := v.before(e.Envelope.From) + e.Text
		v.waiting = append(v.waiting, text)
		v.waits += len(text)
		if v.waits > maxAnswer { // the one that grows is shown again when it is complete
			v.missed.Put(v.saying, struct{}{})
			v.endAnswer()
		}
	case grown:
		rest, same := strings.CutPrefix(e.Text, v.said.String())
		if !same || v.said.full { // it was changed
			rest = v.before(e.Envelope.From) + e.Text
		}
		if rest != "" {
			v.out.say(rest)
		}
		v.endAnswer()
	default:
		v.out.say(v.before(e.Envelope.From) + e.Text)
	}
}

// endAnswer ends an answer that grows, and shows the ones that waited for it.
func (v *view) endAnswer() {
	v.saying = ""
	for _, text := range v.waiting {
		v.out.say(text)
	}
	v.waiting, v.waits = nil, 0
}

// count adds the tokens that a conclusion or a cancellation reports.
func (v *view) count(e *protocol.Envelope) {
	metadata := e.ParsePayload().Get("metadata")
	count := func(v protocol.Value, most int64) int64 {
		n, _ := v.Int()
		return min(max(n, 0), most)
	}
	tokens := func(name string, most int64) int64 { return count(metadata.Get("usage").Get(name), most) }
	const most = 1 << 40
	in, out := tokens("input_tokens", most), tokens("output_tokens", most)
	v.used.input += in
	v.used.output += out
	v.used.cached += tokens("cached_tokens", in)
	v.used.reasoning += tokens("reasoning_tokens", out)
	v.used.uncounted += count(metadata.Get("uncounted"), most)
}

func (v *view) end(e *ask.Event) {
	v.settle(v.live)
	v.endAnswer()
	v.ended = true
	switch {
	case e.State == ask.Failed:
		v.out.fail(failed(e.Text))
	case e.State == ask.Withdrawn:
		f := failed("The question was withdrawn: " + cmp.Or(e.Text, "without a reason") + ".")
		f.code = "question_withdrawn"
		v.out.fail(f)
	default:
		if v.answers == 0 {
			v.out.say(e.Text)
		}
		v.out.end(v.used)
	}
}
