package reduce

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the details of an envelope.
const (
	maxDetails = 32 << 10 // bytes that an item keeps; a value beyond them is omitted, not cut
	maxEntries = 64       // of a list, of metadata, of notes and of references
	maxDetail  = 1 << 10  // bytes of one shown text
	maxNumber  = 64       // bytes of a number
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

// details are the details of an item as they are shown.
type details struct {
	metadata map[string]json.RawMessage
	note     api.Note       // without id, kind and text
	result   api.Conclusion // of a conclusion
}

func (d *Display) details(raw json.RawMessage) (out details) {
	shown := d.params(raw)
	if shown == nil {
		return out
	}
	doc, err := protocol.ParseJSON(shown, protocol.MaxDepth)
	if err != nil {
		return out // not reached: it was parsed before, and masking keeps it JSON
	}
	p := doc.Root()
	refs, confidence := ids(p.Get("references")), share(p.Get("confidence"))
	out.note = api.Note{
		Confidence: confidence, Evidence: entries(p.Get("evidence")), EvidenceAgainst: entries(p.Get("evidence_against")), References: refs,
	}
	out.result = api.Conclusion{
		Decision: short(p.Get("decision")), Recommendation: short(p.Get("recommendation")), Confidence: confidence,
		KeyFactors: entries(p.Get("key_factors")), References: refs,
	}
	for key, v := range p.Get("metadata").Members {
		raw := bytes.Clone(v.Raw())
		if v.Type() == protocol.TypeString {
			if raw, err = Encode(short(v)); err != nil {
				continue // not reached: a text
			}
		}
		if out.metadata == nil {
			out.metadata = make(map[string]json.RawMessage)
		}
		out.metadata[textutil.Shorten(key.Text(), maxName)] = raw
	}
	return out
}

func short(v protocol.Value) string { return textutil.Shorten(v.Text(), maxDetail) }

// share returns a number from 0 to 1; nil: v is none.
func share(v protocol.Value) *float64 {
	if v.Type() != protocol.TypeNumber {
		return nil
	}
	n, err := strconv.ParseFloat(string(v.Raw()), 64)
	if err != nil || n < 0 || n > 1 {
		return nil
	}
	return &n
}

// entries returns the texts of an array, or the one text; other values as JSON.
func entries(v protocol.Value) (list []string) {
	if text := short(v); text != "" {
		return []string{text}
	}
	for x := range v.Elements {
		text := x.Text()
		switch x.Type() {
		case protocol.TypeString:
		case protocol.TypeObject:
			if text = firstText(x, "message", "text", "content"); text == "" {
				text = string(x.Raw())
			}
		default:
			text = string(x.Raw())
		}
		if text != "" {
			list = append(list, textutil.Shorten(text, maxDetail))
		}
	}
	return list
}

// ids returns the ids of an array, or the one id.
func ids(v protocol.Value) (list []string) {
	if text := v.Text(); text != "" {
		return []string{textutil.Shorten(text, maxName)}
	}
	for x := range v.Elements {
		if id := x.Text(); id != "" {
			list = append(list, textutil.Shorten(id, maxName))
		}
	}
	return list
}

// renderDetails sets what an agent gave in addition to its texts: the metadata of its
// first context that has any, the references of its starts and thoughts, its
// notes, and its last conclusion.
func (b *Builder) renderDetails(r *api.Reasoning, d *Display) {
	own := b.own(r.Agent)
	for _, c := range own {
		if c.start != nil && r.Metadata == nil {
			r.Metadata = d.of(c.start).details.metadata
		}
		if c.concluded && c.closed.Env().From == r.Agent && c.closed.details != nil {
			result := d.of(c.closed).details.result
			if !result.IsEmpty() {
				r.Conclusion = &result
			}
		}
	}
	for _, c := range b.contexts {
		if c.start != nil && c.opener == r.Agent {
			refer(r, d.of(c.start).details.note.References)
		}
	}
	room := maxNarrative
	for _, t := range b.inOrder {
		if t.state.from != r.Agent || t.it.details == nil {
			continue
		}
		shown := d.of(t.it)
		note := shown.details.note
		if t.it.Env().Kind == protocol.KindReasoningThought {
			refer(r, note.References)
			continue
		}
		if note.IsEmpty() || len(r.Notes) == maxEntries {
			continue
		}
		note.ID, note.Kind, note.Text = t.it.Env().ID, t.it.Env().Kind, textutil.Shorten(shown.text, shortRationale)
		if room -= weighNote(&note); room >= 0 {
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

// weighDetails is the size of the details of a reasoning as JSON, in bytes, about.
func weighDetails(r *api.Reasoning) int {
	n := weighTexts(r.References)
	for key, value := range r.Metadata {
		n += 10 + len(key) + len(value)
	}
	for i := range r.Notes {
		n += weighNote(&r.Notes[i])
	}
	if c := r.Conclusion; c != nil {
		n += 120 + len(c.Decision) + len(c.Recommendation) + weighTexts(c.KeyFactors) + weighTexts(c.References)
	}
	return n
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
