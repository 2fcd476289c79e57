package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// replay is the part of an answer that is returned to its provider, in the
// fields in which it arrived. It is the data of llm.Opaque.
type replay struct {
	ReasoningContent string                     `json:"reasoning_content,omitempty"`
	Reasoning        string                     `json:"reasoning,omitempty"`
	Details          []json.RawMessage          `json:"reasoning_details,omitempty"`
	Extra            map[string]json.RawMessage `json:"extra_content,omitempty"` // by the call's id
}

// replayBuilder collects a replay from the pieces of an answer.
type replayBuilder struct {
	content, reasoning strings.Builder
	details            []*detail
}

// detail is one of OpenRouter's reasoning_details. Details with a text arrive
// in pieces. The pieces are merged into one detail, since the provider compares
// it with its signature as a whole.
type detail struct {
	Type      str             `json:"type"`
	Index     json.RawMessage `json:"index"`
	ID        str             `json:"id"`
	Text      str             `json:"text"`
	Summary   str             `json:"summary"`
	Signature json.RawMessage `json:"signature"`

	raw    json.RawMessage // as received, if not merged
	text   strings.Builder
	merged bool
}

const (
	detailText    = "reasoning.text"
	detailSummary = "reasoning.summary"
)

// readableText returns the readable text of a detail, or of a piece of one.
func (d *detail) readableText() string {
	switch d.Type {
	case detailText:
		return string(d.Text)
	case detailSummary:
		return string(d.Summary)
	}
	return ""
}

func readDetail(raw json.RawMessage) *detail {
	d := &detail{raw: raw}
	if json.Unmarshal(raw, d) != nil {
		return &detail{raw: raw}
	}
	d.text.WriteString(d.readableText())
	return d
}

// textOf returns the readable text of pieces. A new summary begins a paragraph.
func (k *replayBuilder) textOf(pieces []json.RawMessage) string {
	var b strings.Builder
	last := k.last()
	for _, raw := range pieces {
		d := readDetail(raw)
		said := d.readableText()
		if said != "" && last != nil && last.readableText() != "" && !last.continuedBy(d) {
			b.WriteString("\n\n")
		}
		b.WriteString(said)
		last = d
	}
	return b.String()
}

func (k *replayBuilder) last() *detail {
	if len(k.details) == 0 {
		return nil
	}
	return k.details[len(k.details)-1]
}

func (k *replayBuilder) add(pieces []json.RawMessage) {
	for _, raw := range pieces {
		if !some(raw) {
			continue
		}
		d := readDetail(raw)
		if last := k.last(); last != nil && last.continuedBy(d) {
			last.merged = true
			last.text.WriteString(d.readableText())
			if some(d.Signature) {
				last.Signature = d.Signature
			}
			continue
		}
		k.details = append(k.details, d)
	}
}

// continuedBy reports whether next is a further piece of d.
func (d *detail) continuedBy(next *detail) bool {
	if d.Type != next.Type || d.Type != detailText && d.Type != detailSummary {
		return false
	}
	if d.ID != "" && next.ID != "" && d.ID != next.ID {
		return false
	}
	return bytes.Equal(d.Index, next.Index)
}

// json returns the detail as its provider would send it in one piece: the first
// piece, with the complete text and the latest signature.
func (d *detail) json() json.RawMessage {
	if !d.merged {
		return d.raw
	}
	var fields map[string]json.RawMessage
	text, err := json.Marshal(d.text.String())
	if err != nil || json.Unmarshal(d.raw, &fields) != nil {
		return d.raw
	}
	name := "text"
	if d.Type == detailSummary {
		name = "summary"
	}
	fields[name] = text
	if some(d.Signature) {
		fields["signature"] = d.Signature
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return d.raw
	}
	return out
}

func (k *replayBuilder) opaque(provider string, extra map[string]json.RawMessage) llm.ProviderState {
	r := replay{ReasoningContent: k.content.String(), Extra: extra}
	for _, d := range k.details {
		r.Details = append(r.Details, d.json())
	}
	if r.Details == nil && r.ReasoningContent == "" { // otherwise it has the same text
		r.Reasoning = k.reasoning.String()
	}
	data, err := json.Marshal(r)
	if err != nil || string(data) == "{}" {
		return llm.ProviderState{}
	}
	return llm.ProviderState{Provider: provider, Data: data}
}
