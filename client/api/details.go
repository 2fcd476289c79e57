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
	for _, key := range slices.Sorted(maps.Keys(r.Metadata)) {
		var text string
		if json.Unmarshal(r.Metadata[key], &text) != nil {
			text = string(r.Metadata[key])
		}
		if key == "estimated_duration" && r.CompletedAt != nil {
			text += ", took " + r.CompletedAt.Sub(r.StartedAt.Time).Round(100*time.Millisecond).String()
		}
		list = append(list, Detail{strings.ReplaceAll(key, "_", " "), text})
	}
	return appendTexts(list, "references", r.References)
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
