package reduce

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the details of an envelope.
const (
	maxDetails = 32 << 10   // bytes that an item keeps; a value beyond them is omitted, not cut
	maxEntries = MaxDetails // of a list, of metadata, of notes and of references

	usageWeight = 80 // bytes of an api.Usage, about
)

// detailKeys are the members of a payload that are details.
var detailKeys = []string{
	"references", "confidence", "decision", "recommendation", "key_factors", "evidence", "evidence_against", "metadata",
}

// readDetails returns the details of a payload as an object, unmasked; nil: none.
// Values are kept whole, so that masking recognizes every secret in them.
func readDetails(p protocol.Value) json.RawMessage {
	var out bytes.Buffer
	room := maxDetails
	for _, key := range detailKeys {
		raw := detail(p.Get(key), key == "metadata", &room)
		if raw == nil {
			continue
		}
		sep := byte(',')
		if out.Len() == 0 {
			sep = '{'
		}
		out.WriteByte(sep)
		out.WriteString(strconv.Quote(key) + ":")
		out.Write(raw)
	}
	if out.Len() == 0 {
		return nil
	}
	out.WriteByte('}')
	return bytes.Clone(out.Bytes())
}

// detail returns the part of a value that fits into room: a scalar, the first
// entries of an array or, of metadata, the first scalar members.
func detail(v protocol.Value, metadata bool, room *int) []byte {
	var parts [][]byte
	take := func(part []byte) {
		if len(parts) < maxEntries && len(part)+1 <= *room {
			*room -= len(part) + 1
			parts = append(parts, part)
		}
	}
	switch {
	case metadata:
		for key, x := range v.Members {
			if isScalar(x) {
				take(slices.Concat(key.Raw(), []byte(":"), x.Raw()))
			}
		}
		if parts != nil {
			return slices.Concat([]byte("{"), bytes.Join(parts, []byte(",")), []byte("}"))
		}
	case v.Type() == protocol.TypeArray:
		for x := range v.Elements {
			take(x.Raw())
		}
		if parts != nil {
			return slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]"))
		}
	case isScalar(v):
		if take(v.Raw()); parts != nil {
			return parts[0]
		}
	}
	return nil
}

// addUsage adds what the end of a context reports.
func addUsage(r *api.Reasoning, u *api.Usage) {
	if u == nil {
		return
	}
	if r.Usage == nil {
		r.Usage = new(api.Usage)
	}
	sum := r.Usage
	sum.Tokens += u.Tokens
	sum.Input += u.Input
	sum.Output += u.Output
	sum.Cached += u.Cached
	sum.Reasoning += u.Reasoning
	sum.Uncounted += u.Uncounted
	if sum.Currency == "" || sum.Currency == u.Currency {
		sum.Cost, sum.Currency = math.Round((sum.Cost+u.Cost)*1e9)/1e9, u.Currency
	}
}

// details returns the details of an item as they are shown, masked.
func (d *Display) details(raw json.RawMessage) ReasoningDetails {
	shown := d.params(raw)
	if shown == nil {
		return ReasoningDetails{}
	}
	doc, err := protocol.ParseJSON(shown, protocol.MaxDepth)
	if err != nil {
		return ReasoningDetails{} // not reached: it was parsed before, and masking keeps it JSON
	}
	return ReadReasoningDetails(doc.Root())
}

// renderDetails sets what an agent gave in addition to its texts: the metadata of its
// first context that has any, the references of its starts and thoughts, its
// notes, its last conclusion, and the usage that the ends of its contexts report.
func (b *Builder) renderDetails(r *api.Reasoning, d *Display) {
	own := b.own(r.Agent)
	for _, c := range own {
		if c.start != nil && c.opener == r.Agent && r.Metadata == nil {
			r.Metadata = d.of(c.start).details.Metadata
		}
		if c.concluded && c.closed.Env().From == r.Agent && c.closed.details != nil {
			result := d.of(c.closed).details.Conclusion
			if !result.IsEmpty() {
				r.Conclusion = &result
			}
		}
	}
	for _, c := range b.contexts {
		if c.start != nil && c.opener == r.Agent {
			refer(r, d.of(c.start).details.Note.References)
		}
		if end := c.closed; end != nil && c.reasoner() == r.Agent && end.Env().From == r.Agent && end.Env().Context == c.path { // it may close others too
			addUsage(r, end.usage)
		}
	}
	room := maxNarrative
	for _, t := range b.inOrder {
		if t.state.from != r.Agent || t.it.details == nil {
			continue
		}
		shown := d.of(t.it)
		note := shown.details.Note
		if t.it.Env().Kind == protocol.KindReasoningThought {
			refer(r, note.References)
			continue
		}
		if note.IsEmpty() || len(r.Notes) == maxEntries {
			continue
		}
		note.ID, note.Kind, note.Text = t.it.Env().ID, t.it.Env().Kind, textutil.Shorten(shown.text, shortRationale)
		room -= weighNote(&note)
		if room >= 0 {
			r.Notes = append(r.Notes, note)
		}
	}
}

// refer adds references that an agent has not given yet.
func refer(r *api.Reasoning, list []string) {
	for _, id := range list {
		if len(r.References) < maxEntries && !slices.Contains(r.References, id) {
			r.References = append(r.References, id)
		}
	}
}

func weighMetadata(m map[string]json.RawMessage) (n int) {
	for key, value := range m {
		n += 10 + len(key) + len(value)
	}
	return n
}

func weighConclusion(c *api.Conclusion) int {
	if c == nil {
		return 0
	}
	return 120 + len(c.Decision) + len(c.Recommendation) + weighTexts(c.KeyFactors) + weighTexts(c.References)
}

func weighNote(n *api.Note) int {
	return 120 + len(n.ID) + len(n.Text) + weighTexts(n.Evidence) + weighTexts(n.EvidenceAgainst) + weighTexts(n.References)
}

func weighTexts(list []string) (n int) {
	for _, text := range list {
		n += 4 + len(text)
	}
	return n
}

// Bounds of the details of an envelope.
const (
	MaxDetails    = 64      // of a list, and of metadata
	maxText       = 1 << 10 // bytes of one text
	maxDetailName = 256     // bytes of an id or a key
	maxNumber     = 64      // bytes of a number
)

// ReasoningDetails are what an agent gives with one envelope of its reasoning in addition to
// its text: metadata, references, evidence, confidence, and the fields of a conclusion.
type ReasoningDetails struct {
	Metadata   map[string]json.RawMessage // texts, numbers and booleans
	Note       api.Note                   // without id, kind and text
	Conclusion api.Conclusion             // of a conclusion
}

// ReadReasoningDetails returns the details in a payload.
func ReadReasoningDetails(p protocol.Value) (out ReasoningDetails) {
	refs := idsIn(p.Get("references"))
	var confidence *float64
	if n, ok := p.Get("confidence").Float(); ok && n >= 0 && n <= 1 {
		confidence = &n
	}
	out.Note = api.Note{
		Confidence: confidence, Evidence: textsIn(p.Get("evidence")), EvidenceAgainst: textsIn(p.Get("evidence_against")), References: refs,
	}
	out.Conclusion = api.Conclusion{
		Decision: shortText(p.Get("decision")), Recommendation: shortText(p.Get("recommendation")), Confidence: confidence,
		KeyFactors: textsIn(p.Get("key_factors")), References: refs,
	}
	for key, v := range p.Get("metadata").Members {
		if !isScalar(v) || len(out.Metadata) == MaxDetails {
			continue
		}
		var raw []byte
		if v.Type() == protocol.TypeString {
			raw, _ = Encode(shortText(v)) // never fails
		} else {
			raw = bytes.Clone(v.Raw())
		}
		if out.Metadata == nil {
			out.Metadata = make(map[string]json.RawMessage)
		}
		out.Metadata[textutil.Shorten(key.Text(), maxDetailName)] = raw
	}
	return out
}

// isScalar reports whether a value is a text that is not empty, a number of usual
// length, or a boolean.
func isScalar(v protocol.Value) bool {
	switch v.Type() {
	case protocol.TypeString:
		return v.Text() != ""
	case protocol.TypeNumber, protocol.TypeBool:
		return len(v.Raw()) <= maxNumber
	}
	return false
}

func shortText(v protocol.Value) string { return textutil.Shorten(v.Text(), maxText) }

// textsIn returns the texts of an array, or the one text; other values as JSON.
func textsIn(v protocol.Value) (list []string) {
	if text := shortText(v); text != "" {
		return []string{text}
	}
	for x := range v.Elements {
		if len(list) == MaxDetails {
			break
		}
		text := x.Text()
		switch x.Type() {
		case protocol.TypeString:
		case protocol.TypeObject:
			text = cmp.Or(x.Get("message").Text(), x.Get("text").Text(), x.Get("content").Text(), string(x.Raw()))
		default:
			text = string(x.Raw())
		}
		if text != "" {
			list = append(list, textutil.Shorten(text, maxText))
		}
	}
	return list
}

// idsIn returns the ids of an array, or the one id.
func idsIn(v protocol.Value) (list []string) {
	if text := v.Text(); text != "" {
		return []string{textutil.Shorten(text, maxDetailName)}
	}
	for x := range v.Elements {
		if id := x.Text(); id != "" && len(list) < MaxDetails {
			list = append(list, textutil.Shorten(id, maxDetailName))
		}
	}
	return list
}
