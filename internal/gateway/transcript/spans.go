package transcript

import (
	"strings"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/meup-protocol/meup/client/api"
)

// root adds the span of the turn: the question and its outcome.
func (r *tree) root() *trace.Span {
	t := r.turn
	attrs := []*common.KeyValue{
		text("meup.message.id", string(t.MessageID)), text("meup.participant", string(t.From)),
		text("meup.turn.state", t.State), text("meup.turn.user_input", t.UserInput),
	}
	if t.Response != nil {
		attrs = append(attrs, text("meup.turn.response", *t.Response), text("meup.turn.response_from", string(t.ResponseFrom)))
	}
	if t.Truncated {
		attrs = append(attrs, truth("meup.turn.truncated"))
	}
	s := r.add(nil, r.ids.span("turn", ""), "turn", t.StartedAt.Time, instant(t.CompletedAt), attrs...)
	if t.State == api.TurnFailed || t.State == api.TurnInterrupted {
		failed(s, t.State, "turn "+t.State)
	}
	return s
}

// agent adds the span of one agent's reasoning.
func (r *tree) agent(root *trace.Span, reasoning *api.Reasoning) *trace.Span {
	attrs := []*common.KeyValue{
		text("gen_ai.operation.name", "invoke_agent"), text("gen_ai.agent.name", string(reasoning.Agent)),
	}
	if reasoning.Narrative != "" {
		attrs = append(attrs, text("meup.reasoning.narrative", reasoning.Narrative))
	}
	begun, ended := reasoning.StartedAt.Time, instant(reasoning.CompletedAt)
	for _, d := range reasoning.ToolDecisions {
		if begun.IsZero() || d.StartedAt.Before(begun) {
			begun = d.StartedAt.Time
		}
		if last := end(&d); reasoning.CompletedAt == nil && (ended == nil || last.After(*ended)) {
			ended = &last
		}
	}
	return r.add(root, r.ids.span("agent", string(reasoning.Agent)), "invoke_agent "+string(reasoning.Agent), begun, ended, attrs...)
}

// call adds the span of a decision for a tool.
func (r *tree) call(agent *trace.Span, reasoning *api.Reasoning, d *api.Decision, hasError bool) {
	attrs := []*common.KeyValue{
		text("gen_ai.operation.name", "execute_tool"), text("gen_ai.agent.name", string(reasoning.Agent)),
		text("gen_ai.tool.name", d.ToolName), text("gen_ai.tool.call.id", string(d.CallID)),
		text("meup.tool.rationale", d.Rationale), text("meup.tool.outcome", d.Outcome),
		text("meup.tool.context", string(d.Context)),
	}
	if kept(d.Parameters) {
		attrs = append(attrs, text("gen_ai.tool.call.arguments", string(d.Parameters)))
	} else {
		attrs = append(attrs, number("meup.tool.parameter_bytes", d.ParameterBytes))
	}
	if d.ParallelGroup != nil {
		attrs = append(attrs, number("meup.tool.parallel_group", *d.ParallelGroup))
	}
	if d.ResultBytes != nil {
		attrs = append(attrs, number("meup.tool.result_bytes", *d.ResultBytes))
	}
	if d.DecidedBy != "" {
		attrs = append(attrs, text("meup.tool.decided_by", string(d.DecidedBy)))
	}
	if d.AnsweredBy != "" {
		attrs = append(attrs, text("meup.tool.answered_by", string(d.AnsweredBy)))
	}
	ended := end(d)
	s := r.add(agent, r.ids.span("call", string(d.CallID)), "execute_tool "+d.ToolName, d.StartedAt.Time, &ended, attrs...)
	switch {
	case d.Outcome == api.OutcomeRejected:
		failed(s, "rejected", "the call was rejected")
	case d.Outcome == api.OutcomeError, d.Outcome == api.OutcomeFulfilled && hasError:
		failed(s, "tool_error", "the call failed")
	}
}

// end returns when a call ended, or when it started if it has not ended.
func end(d *api.Decision) time.Time {
	if d.DurationMS == nil {
		return d.StartedAt.Time
	}
	return d.StartedAt.Add(time.Duration(*d.DurationMS) * time.Millisecond)
}

func instant(t *api.Time) *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}

func attribute(key string, v *common.AnyValue) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: v}
}

func text(key, value string) *common.KeyValue {
	return attribute(key, &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: valid(value)}})
}

func number(key string, value int) *common.KeyValue {
	return attribute(key, &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: int64(value)}})
}

func truth(key string) *common.KeyValue {
	return attribute(key, &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: true}})
}

// valid returns a text in valid UTF-8, which protocol buffers require.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
