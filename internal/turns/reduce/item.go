package reduce

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the shown part of one envelope, in bytes.
const (
	maxChat       = 64 << 10
	maxThought    = 16 << 10
	maxName       = 256
	maxOutcome    = 1 << 10
	maxParameters = 64 << 10

	// maxHeld is the most that an item keeps of an envelope's texts.
	maxHeld = maxChat + 2*cutMargin
)

// Entry is an envelope of the log with the data that decides who may see it. It
// is shared: read-only. Entries passed to a viewer have no payload.
type Entry struct {
	Envelope *protocol.Envelope
	// Audience names the senders of the envelopes that it correlates to, directly
	// or through one another; the log keeps them with it.
	Audience []protocol.ParticipantID
}

// Masker removes secrets from texts. It must return the same for the same text
// until its rules change, and may be called concurrently.
type Masker interface {
	// Text returns a text as it may be shown.
	Text(text string) string
	// Parameters returns the arguments of a call, an object, as they may be
	// shown; nil: as they are.
	Parameters(arguments protocol.Value) json.RawMessage
}

// NoMask shows texts as they are.
type NoMask struct{}

// Text returns the text.
func (NoMask) Text(text string) string { return text }

// Parameters returns nil.
func (NoMask) Parameters(protocol.Value) json.RawMessage { return nil }

// Item is the part of an envelope that a turn keeps. Only its masked form
// changes after NewItem.
type Item struct {
	Entry  Entry // the envelope without payload
	Weight int   // in memory with its masked form, in bytes, about and at most

	// Session is the session that a chat or a reasoning.start names; "": none.
	Session string
	text    Excerpt
	tool    Excerpt // that is called, or that a thought names
	group   int     // that a thought gives; -1: none

	call       bool          // asks for tools/call
	asks       exchange.Call // what a call asks for, to compare a request with a proposal
	cancels    bool          // takes a request back
	params     json.RawMessage
	paramBytes int // as they were sent

	failed bool // a response with an error
	bytes  int  // of the result or the error
	raw    bool // a model's own thinking

	asked protocol.ParticipantID // by a reasoning.start, to reason in its context; "": none

	value string // of a feedback

	usage   *api.Usage      // that the end of a context reports; nil: none
	details json.RawMessage // that a reasoning.* gives in addition to its text; nil: none

	mu     sync.Mutex // held while masking, so that concurrent requests share the work
	masked *masked
}

// Env returns the envelope, without its payload.
func (it *Item) Env() *protocol.Envelope { return it.Entry.Envelope }

// IsCall reports whether an item asks for tools/call.
func (it *Item) IsCall() bool { return it.call }

// Beginning returns the beginning of the text of an item: enough to show n bytes.
func (it *Item) Beginning(n int) Excerpt { return excerptWithin(it.text.text, n, titleMargin) }

// masked is an item's texts as they are shown under one set of rules.
type masked struct {
	rules      uint64
	text, tool string
	params     json.RawMessage // nil: too long
	details    ReasoningDetails
}

// Weigh is the memory of an item without its masked form, in bytes, about and at
// most. It bounds the size of a turn.
func Weigh(e *Entry) int {
	env := e.Envelope
	const name = 64
	names := len(env.To) + len(e.Audience) + len(env.Correlation.IDs)
	return 800 + name*names + min(len(env.Payload), maxHeld)
}

// Display shows items under one set of rules, at one moment.
type Display struct {
	Mask  Masker
	Rules uint64
	Now   time.Time
}

// of returns the masked texts of an item. They are computed once for a set of
// rules.
func (d *Display) of(it *Item) *masked {
	it.mu.Lock()
	defer it.mu.Unlock()
	if it.masked == nil || it.masked.rules != d.Rules {
		limit := maxThought
		if it.Env().Kind == protocol.KindChat {
			limit = maxChat
		}
		it.masked = &masked{rules: d.Rules, text: it.text.Masked(limit, d.Mask), tool: it.tool.Masked(maxName, d.Mask), params: d.params(it.params), details: d.details(it.details)}
	}
	return it.masked
}

func (d *Display) params(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	doc, err := protocol.ParseJSON(raw, protocol.MaxDepth)
	if err != nil {
		return nil // not reached: raw was parsed before
	}
	out := d.Mask.Parameters(doc.Root())
	switch {
	case out == nil:
		return raw
	case len(out) > maxParameters:
		return nil
	}
	return out
}

// NewItem extracts the part of an envelope that a turn needs. A payload that
// does not have the form of its kind is treated as empty.
func NewItem(e *Entry) *Item {
	slim := *e.Envelope
	slim.Payload, slim.Extra = nil, nil
	it := &Item{Entry: Entry{Envelope: &slim, Audience: e.Audience}, Weight: Weigh(e) + min(len(e.Envelope.Payload), maxHeld), group: -1}
	doc, err := protocol.ParseJSON(e.Envelope.Payload, protocol.MaxDepth)
	if err != nil {
		return it
	}
	p := doc.Root()
	switch slim.Kind {
	case protocol.KindChat:
		it.text = excerptOf(firstText(p, "message", "text"), maxChat)
		it.readSession(p)
	case protocol.KindReasoningStart:
		it.text = excerptOf(firstText(p, "message", "input"), maxThought)
		it.readSession(p)
		it.readAsked(p)
	case protocol.KindReasoningConclusion:
		it.text = excerptOf(firstText(p, "message", "decision", "recommendation"), maxThought)
	case protocol.KindReasoningThought:
		it.text = excerptOf(strings.TrimSpace(firstText(p, "message", "content")), maxThought)
		it.tool = excerptOf(p.Get("tool_name").Text(), maxName)
		it.raw = p.Get("raw").Bool()
		if n, ok := p.Get("parallel_group").Int(); ok && n >= 0 && n < 1<<31 {
			it.group = int(n)
		}
	case protocol.KindReasoningObservation, protocol.KindReasoningHypothesis, protocol.KindReasoningQuestion:
		text := firstText(p, "message", "content", "hypothesis")
		if text == "" {
			var list []string
			for q := range p.Get("questions").Elements {
				list = append(list, cmp.Or(q.Text(), firstText(q, "question", "message")))
			}
			text = strings.Join(list, "\n")
		}
		it.text = excerptOf(strings.TrimSpace(text), maxThought)
	case protocol.KindMCPRequest, protocol.KindMCPProposal:
		switch method := p.Get("method"); {
		case method.EqualText("tools/call"):
			it.call, it.asks = true, exchange.ReadCall(p)
			params := p.Get("params")
			it.tool = excerptOf(params.Get("name").Text(), maxName)
			raw := []byte("{}")
			if args := params.Get("arguments"); args.Type() == protocol.TypeObject {
				raw = args.Raw()
			}
			it.paramBytes = len(raw)
			if len(raw) <= maxParameters {
				it.params = bytes.Clone(raw)
			}
		case method.EqualText("notifications/cancelled"):
			it.cancels, it.failed = true, true
		}
	case protocol.KindMCPResponse:
		r := exchange.ReadResult(p)
		it.failed, it.bytes, it.text = r.Failed, r.Bytes, excerptOf(r.Text, maxOutcome)
	case protocol.KindFeedback:
		it.value, it.text = p.Get("value").Text(), excerptOf(strings.TrimSpace(p.Get("note").Text()), maxThought)
	case protocol.KindMCPWithdraw, protocol.KindMCPReject, protocol.KindReasoningCancel:
		it.text = Excerpt{text: textutil.Shorten(p.Get("reason").Text(), maxName)}
	}
	if strings.HasPrefix(string(slim.Kind), "reasoning.") {
		it.details = readDetails(p)
		if slim.Kind == protocol.KindReasoningConclusion || slim.Kind == protocol.KindReasoningCancel {
			r := exchange.ReadUsage(p.Get("metadata"))
			u := api.Usage{
				Tokens: r.Tokens, Input: r.Input, Output: r.Output, Cached: r.Cached, Reasoning: r.Reasoning,
				Uncounted: r.Uncounted, Cost: r.Cost, Currency: r.Currency,
			}
			if u != (api.Usage{}) {
				it.usage = &u
				it.Weight += usageWeight
			}
		}
		it.Weight += 3 * len(it.details) // itself, masked, and parsed
	}
	return it
}

// readSession reads the session. A name that is no valid id names none.
func (it *Item) readSession(p protocol.Value) {
	if name := p.Get("session_id").Text(); protocol.ValidID(name) {
		it.Session = strings.Clone(name)
	}
}

func firstText(p protocol.Value, keys ...string) string {
	for _, key := range keys {
		if text := p.Get(key).Text(); text != "" {
			return text
		}
	}
	return ""
}

// cutMargin is how much of a text is kept and masked beyond its shown part, in
// bytes. No secret is longer, a private key of 8192 bits among them.
const cutMargin = 8 << 10

// titleMargin is the same for titles, which are kept for every thread.
const titleMargin = 1 << 10

// Excerpt is the beginning of a text, long enough to mask the part of it that is
// shown.
type Excerpt struct {
	text   string
	margin int // bytes at the end to drop after masking; 0: the text is whole
}

func excerptOf(text string, n int) Excerpt { return excerptWithin(text, n, cutMargin) }

// excerptWithin keeps of a text as much as it takes to show its first n bytes.
// Of a text that is far longer only the beginning is kept: it is cut between
// words, and after masking margin bytes of its end are dropped, since a secret
// that the cut divided is not recognized.
func excerptWithin(text string, n, margin int) Excerpt {
	if len(text) <= n+2*margin {
		return Excerpt{text: text}
	}
	end := n + 2*margin
	if space := strings.LastIndexAny(text[n+margin:end], " \t\r\n"); space >= 0 {
		end = n + margin + space
	}
	return Excerpt{strings.Clone(strings.ToValidUTF8(text[:end], "")), margin}
}

// Len returns the size of the kept text in bytes.
func (x Excerpt) Len() int { return len(x.text) }

// Masked returns the first n bytes of the text as they may be shown.
func (x Excerpt) Masked(n int, mask Masker) string {
	if x.text == "" {
		return ""
	}
	text := mask.Text(x.text)
	if x.margin > 0 {
		n = max(min(n, len(text)-x.margin), 0)
	}
	return textutil.Shorten(text, n)
}

// Append appends the encoding of an excerpt to dst.
func (x Excerpt) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(x.margin))
	dst = binary.AppendUvarint(dst, uint64(len(x.text)))
	return append(dst, x.text...)
}

// ReadExcerpt returns the excerpt at the beginning of b, and the rest of b; nil if
// there is none.
func ReadExcerpt(b []byte) (x Excerpt, rest []byte) {
	margin, n := binary.Uvarint(b)
	if n <= 0 || margin > cutMargin+titleMargin {
		return x, nil
	}
	size, m := binary.Uvarint(b[n:])
	if m <= 0 || size > uint64(len(b)-n-m) {
		return x, nil
	}
	b = b[n+m:]
	return Excerpt{string(b[:size]), int(margin)}, b[size:]
}
