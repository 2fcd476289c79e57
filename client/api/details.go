package api

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Detail is a detail of a reasoning for display. Label and Text contain texts of
// participants: neither is safe for a terminal or a page.
type Detail struct{ Label, Text string }

// Details returns the metadata, sorted by key, and the references. The estimated
// duration comes with the actual one.
func (r *Reasoning) Details() (list []Detail) {
	var took *time.Duration
	if r.CompletedAt != nil {
		d := r.CompletedAt.Sub(r.StartedAt.Time)
		took = &d
	}
	return appendTexts(metadata(r.Metadata, took), "references", r.References)
}

// metadata returns the metadata of a start, sorted by key.
func metadata(m map[string]json.RawMessage, took *time.Duration) (list []Detail) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		var text string
		if json.Unmarshal(m[key], &text) != nil {
			text = string(m[key])
		}
		if key == "estimated_duration" && took != nil {
			text += ", took " + took.Round(100*time.Millisecond).String()
		}
		list = append(list, Detail{strings.ReplaceAll(key, "_", " "), text})
	}
	return list
}

// Asked returns the rationale and the metadata of a part.
func (p *Part) Asked() (list []Detail) {
	if p.Rationale != "" {
		list = append(list, Detail{"rationale", p.Rationale})
	}
	var took *time.Duration
	if p.DurationMS != nil {
		d := time.Duration(*p.DurationMS) * time.Millisecond
		took = &d
	}
	return append(list, metadata(p.Metadata, took)...)
}

// Ended returns the envelope that ended a part, and the fields of its conclusion.
func (p *Part) Ended() (list []Detail) {
	if p.EndID != "" {
		list = append(list, Detail{"ended by envelope", string(p.EndID)})
	}
	if p.Details != nil {
		list = append(list, p.Details.Details()...)
	}
	return list
}

// Result returns the outcome of a part with the reason, such as "declined: too many
// questions are waiting". It may contain texts of participants.
func (p *Part) Result() string {
	text := p.Outcome
	if p.Outcome == PartCancelled && p.EndedBy != "" {
		text += " by " + string(p.EndedBy)
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

// Details returns all but the text.
func (n *Note) Details() []Detail {
	list := appendConfidence(nil, n.Confidence)
	list = appendTexts(list, "evidence", n.Evidence)
	list = appendTexts(list, "evidence against", n.EvidenceAgainst)
	return appendTexts(list, "references", n.References)
}

// Details returns all fields.
func (c *Conclusion) Details() (list []Detail) {
	if c.Decision != "" {
		list = append(list, Detail{"decision", c.Decision})
	}
	if c.Recommendation != "" {
		list = append(list, Detail{"recommendation", c.Recommendation})
	}
	list = appendConfidence(list, c.Confidence)
	list = appendTexts(list, "key factors", c.KeyFactors)
	return appendTexts(list, "references", c.References)
}

func appendConfidence(list []Detail, share *float64) []Detail {
	if share == nil {
		return list
	}
	return append(list, Detail{"confidence", strconv.FormatFloat(*share, 'g', -1, 64)})
}

func appendTexts(list []Detail, label string, texts []string) []Detail {
	if len(texts) == 0 {
		return list
	}
	return append(list, Detail{label, strings.Join(texts, "; ")})
}
