package reduce

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/reasondetail"
	"github.com/meup-protocol/meup/internal/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the details of an envelope.
const (
	maxDetails = 32 << 10                // bytes that an item keeps; a value beyond them is omitted, not cut
	maxEntries = reasondetail.MaxEntries // of a list, of metadata, of notes and of references
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
			if reasondetail.IsScalar(x) {
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
	case reasondetail.IsScalar(v):
		if take(v.Raw()); parts != nil {
			return parts[0]
		}
	}
	return nil
}

// details returns the details of an item as they are shown, masked.
func (d *Display) details(raw json.RawMessage) reasondetail.Details {
	shown := d.params(raw)
	if shown == nil {
		return reasondetail.Details{}
	}
	doc, err := protocol.ParseJSON(shown, protocol.MaxDepth)
	if err != nil {
		return reasondetail.Details{} // not reached: it was parsed before, and masking keeps it JSON
	}
	return reasondetail.Read(doc.Root())
}

// renderDetails sets what an agent gave in addition to its texts: the metadata of its
// first context that has any, the references of its starts and thoughts, its
// notes, and its last conclusion.
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
	if r.Conclusion != nil {
		n += weighConclusion(r.Conclusion)
	}
	return n + weighParts(r.Parts)
}

func weighConclusion(c *api.Conclusion) int {
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
