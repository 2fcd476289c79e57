package reduce

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

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
	refs, confidence := ids(p.Get("references")), share(p.Get("confidence"))
	out.Note = api.Note{
		Confidence: confidence, Evidence: entries(p.Get("evidence")), EvidenceAgainst: entries(p.Get("evidence_against")), References: refs,
	}
	out.Conclusion = api.Conclusion{
		Decision: short(p.Get("decision")), Recommendation: short(p.Get("recommendation")), Confidence: confidence,
		KeyFactors: entries(p.Get("key_factors")), References: refs,
	}
	for key, v := range p.Get("metadata").Members {
		raw, ok := scalar(v)
		if !ok || len(out.Metadata) == MaxDetails {
			continue
		}
		if out.Metadata == nil {
			out.Metadata = make(map[string]json.RawMessage)
		}
		out.Metadata[textutil.Shorten(key.Text(), maxDetailName)] = raw
	}
	return out
}

// scalar returns the JSON of a value of metadata, a text shortened.
func scalar(v protocol.Value) (json.RawMessage, bool) {
	if !isScalar(v) {
		return nil, false
	}
	if v.Type() != protocol.TypeString {
		return bytes.Clone(v.Raw()), true
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(short(v))
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err == nil
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

func short(v protocol.Value) string { return textutil.Shorten(v.Text(), maxText) }

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

// ids returns the ids of an array, or the one id.
func ids(v protocol.Value) (list []string) {
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
