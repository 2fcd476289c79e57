package turns

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of what is kept of one envelope, in bytes.
const (
	maxChat       = 256 << 10
	maxThought    = 16 << 10
	maxName       = 256
	maxParameters = 64 << 10
)

// item is what a turn keeps of an envelope. It does not change any more.
type item struct {
	entry Entry // the envelope without payload
	text  string
	tool  string // that is called, or that a thought names
	group int    // that a thought gives; -1: none

	call       bool // asks for tools/call
	cancels    bool // takes a request back
	params     json.RawMessage
	paramBytes int // as they were sent

	failed bool // a response with an error
	bytes  int  // of the result or the error
	raw    bool // a model's own thinking
}

func (it *item) env() *protocol.Envelope { return it.entry.Envelope }

// weigh is what an item takes in memory, in bytes, about and at most.
func weigh(e *Entry) int {
	env := e.Envelope
	names := len(env.To) + len(e.Thread) + len(env.Correlation.IDs)
	return 700 + nameCost*names + min(len(env.Payload), maxChat)
}

// masked is the item as another mask shows it.
func (it *item) masked(mask Masker) *item {
	out := *it
	out.text, out.tool = mask.Text(it.text), mask.Text(it.tool)
	doc, err := protocol.ParseJSON(it.params, protocol.MaxDepth)
	if err != nil {
		return &out
	}
	if params := mask.Parameters(doc.Root()); params != nil {
		out.params = params
	}
	return &out
}

// newItem reads what a turn needs of an envelope. A payload that has another
// form than its kind asks for says nothing.
func newItem(e *Entry, mask Masker) *item {
	slim := *e.Envelope
	slim.Payload, slim.Extra = nil, nil
	it := &item{entry: Entry{Envelope: &slim, Thread: e.Thread}, group: -1}
	doc, err := protocol.ParseJSON(e.Envelope.Payload, protocol.MaxDepth)
	if err != nil {
		return it
	}
	p := doc.Root()
	switch slim.Kind {
	case protocol.KindChat:
		it.text = shown(firstText(p, "message", "text"), maxChat, mask)
	case protocol.KindReasoningThought:
		it.readThought(p, mask)
	case protocol.KindReasoningObservation, protocol.KindReasoningHypothesis, protocol.KindReasoningQuestion:
		it.readStep(p, mask)
	case protocol.KindMCPRequest, protocol.KindMCPProposal:
		it.readCall(p, mask)
	case protocol.KindMCPResponse:
		it.readResponse(p)
	case protocol.KindMCPWithdraw, protocol.KindMCPReject:
		it.text = cut(p.Get("reason").Text(), maxName)
	}
	return it
}

func (it *item) readThought(p protocol.Value, mask Masker) {
	it.text = shown(strings.TrimSpace(firstText(p, "message", "content")), maxThought, mask)
	it.tool = shown(p.Get("tool_name").Text(), maxName, mask)
	it.raw = p.Get("raw").Bool()
	if n, ok := p.Get("parallel_group").Int(); ok && n >= 0 && n < 1<<31 {
		it.group = int(n)
	}
}

// readStep reads an observation, a hypothesis or questions.
func (it *item) readStep(p protocol.Value, mask Masker) {
	text := firstText(p, "message", "content", "hypothesis")
	if text == "" {
		var list []string
		for q := range p.Get("questions").Elements {
			list = append(list, firstOf(q.Text(), firstText(q, "question", "message")))
		}
		text = strings.Join(list, "\n")
	}
	it.text = shown(strings.TrimSpace(text), maxThought, mask)
}

func (it *item) readCall(p protocol.Value, mask Masker) {
	switch method := p.Get("method"); {
	case method.EqualText("tools/call"):
		it.call = true
		params := p.Get("params")
		it.tool = shown(params.Get("name").Text(), maxName, mask)
		it.readParameters(params.Get("arguments"), mask)
	case method.EqualText("notifications/cancelled"):
		it.cancels, it.failed = true, true
	}
}

func (it *item) readParameters(args protocol.Value, mask Masker) {
	raw := args.Raw()
	if args.Type() != protocol.TypeObject {
		raw = []byte("{}")
	} else if masked := mask.Parameters(args); masked != nil {
		raw = masked
	}
	it.paramBytes = len(raw)
	if len(raw) <= maxParameters {
		it.params = bytes.Clone(raw)
	}
}

func (it *item) readResponse(p protocol.Value) {
	answer := p.Get("result")
	it.failed = answer.Get("isError").Bool()
	if fault := p.Get("error"); fault.Exists() {
		it.failed = true
		answer = fault
	}
	it.bytes = len(answer.Raw())
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func firstText(p protocol.Value, keys ...string) string {
	for _, key := range keys {
		if text := p.Get(key).Text(); text != "" {
			return text
		}
	}
	return ""
}

// cutMargin is how much of a text is masked beyond what is kept of it, in
// bytes; no secret is longer, a private key of 8192 bits among them.
const cutMargin = 8 << 10

// shown returns the first n bytes of a text as they may be shown. Of a text
// that is far longer only the beginning is masked: it is cut between words, and
// masked, and as much is dropped of its end as a secret takes, since one that
// the first cut has divided is not known any more.
func shown(text string, n int, mask Masker) string {
	if len(text) <= n+2*cutMargin {
		return cut(mask.Text(text), n)
	}
	end := n + 2*cutMargin
	if space := strings.LastIndexAny(text[n+cutMargin:end], " \t\r\n"); space >= 0 {
		end = n + cutMargin + space
	}
	masked := mask.Text(strings.ToValidUTF8(text[:end], ""))
	return cut(masked, max(min(n, len(masked)-cutMargin), 0))
}

// cut shortens a text to n bytes and whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
