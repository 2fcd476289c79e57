package intake

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// maxReason bounds the reason of a cancel, in characters.
const maxReason = 500

// PartResult returns the result of a part, the nested context path in which who was asked
// to reason, if env ends it: the conclusion of who, or a cancel by any participant.
// Conclusions of others do not count. The result refers to env.
func PartResult(env *protocol.Envelope, path protocol.ContextPath, who protocol.ParticipantID) (r contextwindow.Result, ended bool) {
	switch {
	case env.Kind == protocol.KindReasoningCancel && (env.Context == path || env.Context == "" && env.Correlation.Names(protocol.ID(path.Last()))):
		verb := "cancelled"
		if env.From == who {
			verb = "declined"
		}
		reason := textutil.ShortenChars(env.ParsePayload().Get("reason").Text(), maxReason)
		r.Error = fmt.Sprintf("%s by %s: %s", verb, env.From, cmp.Or(reason, "no reason given"))
	case env.Kind == protocol.KindReasoningConclusion && env.Context == path && env.From == who:
		r.Text = concluded(env)
		if r.Text == "" {
			r.Error = fmt.Sprintf("%s closed the part without a conclusion", env.From)
		}
		r.Success = r.Error == ""
	default:
		return r, false
	}
	r.Ref = string(env.ID)
	return r, true
}

// concluded returns the text of a conclusion with its fields; "" if it is empty.
func concluded(env *protocol.Envelope) string {
	var p struct {
		Message        string   `json:"message"`
		Decision       any      `json:"decision"`
		Recommendation string   `json:"recommendation"`
		KeyFactors     []any    `json:"key_factors"`
		Confidence     *float64 `json:"confidence"`
	}
	_ = json.Unmarshal(env.Payload, &p) // the gateway has checked the types
	lines := []string{fmt.Sprintf("%s concluded:", env.From)}
	add := func(label string, value any) { lines = append(lines, fmt.Sprintf("%s%v", label, value)) }
	if p.Message != "" {
		add("", p.Message)
	}
	if p.Decision != nil {
		add("Decision: ", p.Decision)
	}
	for _, f := range p.KeyFactors {
		add("Key factor: ", f)
	}
	if p.Recommendation != "" {
		add("Recommendation: ", p.Recommendation)
	}
	if p.Confidence != nil {
		add("Confidence: ", *p.Confidence)
	}
	if len(lines) == 1 {
		return ""
	}
	return strings.Join(lines, "\n")
}
