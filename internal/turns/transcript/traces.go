package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// Traces writes the turns of a thread, or a job, as OTLP traces, one trace per turn and
// one line per trace. A line is the JSON of a TracesData, which has the form of
// an ExportTraceServiceRequest: it can be posted to a collector unchanged. The
// error comes from the iterator or the writer.
func Traces(w io.Writer, h Head, list iter.Seq2[*api.Turn, error]) error {
	for t, err := range list {
		if err != nil {
			return err
		}
		var r resourceSpans
		r.Resource.Attributes = []attribute{text("service.name", "meup")}
		r.ScopeSpans = []scopeSpans{{Spans: spans(&h, t)}}
		r.ScopeSpans[0].Scope.Name = scope
		var line strings.Builder
		e := json.NewEncoder(&line)
		e.SetEscapeHTML(false)
		if err := e.Encode(map[string]any{"resourceSpans": []resourceSpans{r}}); err != nil {
			return fmt.Errorf("encode turn %d of thread %s: %w", t.TurnNumber, h.ThreadID, err)
		}
		if err := write(w, line.String()); err != nil {
			return err
		}
	}
	return nil
}

const scope = "github.com/meup-protocol/meup/internal/turns/transcript"

// The JSON of a TracesData, as far as it is used. OTLP requires enums as numbers,
// 64-bit integers as strings and ids in hexadecimal.
type (
	resourceSpans struct {
		Resource struct {
			Attributes []attribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	scopeSpans struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []*traceSpan `json:"spans"`
	}
	traceSpan struct {
		TraceID      string      `json:"traceId"`
		SpanID       string      `json:"spanId"`
		ParentSpanID string      `json:"parentSpanId,omitempty"`
		Name         string      `json:"name"`
		Kind         int         `json:"kind"`
		Start        uint64      `json:"startTimeUnixNano,string,omitempty"`
		End          uint64      `json:"endTimeUnixNano,string,omitempty"`
		Attributes   []attribute `json:"attributes"`
		Events       []spanEvent `json:"events,omitempty"`
		Status       *spanStatus `json:"status,omitempty"`
	}
	spanEvent struct {
		Time       uint64      `json:"timeUnixNano,string"`
		Name       string      `json:"name"`
		Attributes []attribute `json:"attributes"`
	}
	spanStatus struct {
		Message string `json:"message"`
		Code    int    `json:"code"`
	}
	attribute struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"` // the name of its type, and the value
	}
)

// Enums of OTLP.
const (
	kindInternal = 1
	kindClient   = 3
	statusError  = 2
)

// Lengths of ids in bytes.
const (
	traceBytes = 16
	spanBytes  = 8
)

// ids derives the ids of one trace from hashes.
type ids struct {
	turn  string // the hash input
	trace string
}

func idsOf(h *Head, turn int) ids {
	about := fmt.Sprintf("%s/%s/%d", h.Space, h.ThreadID, turn)
	if h.JobID != "" {
		about = fmt.Sprintf("job/%s/%s", h.Space, h.JobID)
	}
	return ids{turn: about, trace: hash(traceBytes, "trace", about)}
}

// span returns the id of a span; what and name identify the span within the
// turn.
func (i ids) span(what, name string) string { return hash(spanBytes, i.turn, what, name) }

// hash returns an id of n bytes.
func hash(n int, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:n])
}

// tree builds the spans of one turn.
type tree struct {
	head  *Head
	turn  *api.Turn
	ids   ids
	spans []*traceSpan
	parts map[protocol.ParticipantID]*traceSpan // the first part of each participant
}

// spans returns the spans of a turn: the root, and each agent followed by its
// calls and parts.
func spans(h *Head, t *api.Turn) []*traceSpan {
	r := &tree{head: h, turn: t, ids: idsOf(h, t.TurnNumber), parts: make(map[protocol.ParticipantID]*traceSpan)}
	root := r.root()
	failed := failures(t)
	all := t.AllReasonings()
	for i := range all {
		reasoning := &all[i]
		parent := root
		if part := r.parts[reasoning.Agent]; part != nil && reasoning.AskedBy != "" {
			parent = part
		}
		agent := r.agent(parent, reasoning)
		for i := range reasoning.ToolDecisions {
			r.call(agent, reasoning, &reasoning.ToolDecisions[i], failed(reasoning, i))
		}
		for i := range reasoning.Parts {
			r.part(agent, &reasoning.Parts[i])
		}
	}
	for i := range t.Feedback {
		r.feedback(root, &t.Feedback[i])
	}
	for _, s := range r.spans {
		root.End = max(root.End, s.End)
	}
	return r.spans
}

// failures returns a function that reports whether a call of a turn failed. A
// fulfilled proposal may have failed, which its outcome does not contain.
func failures(t *api.Turn) func(r *api.Reasoning, i int) bool {
	return func(r *api.Reasoning, i int) bool {
		for _, c := range t.ToolCalls {
			if c.Agent != "" && c.Agent != r.Agent {
				continue
			}
			i--
			if i < 0 {
				return c.HasError
			}
		}
		return false
	}
}

// add adds a span. A span without an end, or with an end before its start, ends
// at its start.
func (r *tree) add(parent *traceSpan, id, name string, begun time.Time, ended *time.Time, attrs ...attribute) *traceSpan {
	about := []attribute{text("gen_ai.conversation.id", r.head.Space), text("meup.session.id", r.head.SessionID)}
	if r.head.JobID != "" {
		about = append(about, text("meup.job.id", string(r.head.JobID)))
	} else {
		about = append(about, text("meup.thread.id", string(r.head.ThreadID)), number("meup.turn.number", r.turn.TurnNumber))
	}
	s := &traceSpan{
		TraceID: r.ids.trace, SpanID: id, Name: valid(name), Kind: kindInternal,
		Start: nanos(begun), End: nanos(begun), Attributes: append(about, attrs...),
	}
	if parent != nil {
		s.ParentSpanID = parent.SpanID
	}
	if ended != nil {
		s.End = max(s.Start, nanos(*ended))
	}
	r.spans = append(r.spans, s)
	return s
}

func nanos(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

func failed(s *traceSpan, kind, message string) {
	s.Status = &spanStatus{message, statusError}
	s.Attributes = append(s.Attributes, text("error.type", kind))
}

// root adds the span of the turn: the question and its outcome.
func (r *tree) root() *traceSpan {
	t := r.turn
	attrs := []attribute{
		text("meup.message.id", string(t.MessageID)), text("meup.participant", string(t.From)),
		text("meup.turn.state", t.State), text("meup.turn.user_input", t.UserInput),
	}
	if t.Response != nil {
		attrs = append(attrs, text("meup.turn.response", *t.Response), text("meup.turn.response_from", string(t.ResponseFrom)))
	}
	if t.Truncated {
		attrs = append(attrs, attribute{"meup.turn.truncated", map[string]any{"boolValue": true}})
	}
	name := "turn"
	if r.head.JobID != "" {
		name = "job"
	}
	s := r.add(nil, r.ids.span("turn", ""), name, t.StartedAt.Time, instant(t.CompletedAt), attrs...)
	if t.State == api.TurnFailed || t.State == api.TurnInterrupted {
		failed(s, t.State, name+" "+t.State)
	}
	return s
}

// agent adds the span of one agent's reasoning.
func (r *tree) agent(parent *traceSpan, reasoning *api.Reasoning) *traceSpan {
	attrs := []attribute{
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
	for i := range reasoning.Parts {
		if p := &reasoning.Parts[i]; reasoning.CompletedAt == nil && p.DurationMS != nil {
			last := p.StartedAt.Add(time.Duration(*p.DurationMS) * time.Millisecond)
			if ended == nil || last.After(*ended) {
				ended = &last
			}
		}
	}
	return r.add(parent, r.ids.span("agent", string(reasoning.Agent)), "invoke_agent "+string(reasoning.Agent), begun, ended, attrs...)
}

// call adds the span of a decision for a tool.
func (r *tree) call(agent *traceSpan, reasoning *api.Reasoning, d *api.Decision, hasError bool) {
	attrs := []attribute{
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

// part adds the span of a part that an agent asked another participant to take.
func (r *tree) part(agent *traceSpan, p *api.Part) {
	attrs := []attribute{
		text("gen_ai.operation.name", "invoke_agent"), text("gen_ai.agent.name", string(p.Participant)),
		text("meup.part.id", string(p.ID)), text("meup.part.question", p.Question), text("meup.part.outcome", p.Outcome),
		text("meup.part.context", string(p.Context)),
	}
	for _, d := range []attribute{
		text("meup.part.rationale", p.Rationale), text("meup.part.conclusion", p.Conclusion), text("meup.part.reason", p.Reason),
		text("meup.part.end_id", string(p.EndID)), text("meup.part.ended_by", string(p.EndedBy)),
	} {
		if d.Value["stringValue"] != "" {
			attrs = append(attrs, d)
		}
	}
	if p.ParallelGroup != nil {
		attrs = append(attrs, number("meup.part.parallel_group", *p.ParallelGroup))
	}
	ended := p.StartedAt.Time
	if p.DurationMS != nil {
		ended = ended.Add(time.Duration(*p.DurationMS) * time.Millisecond)
	}
	s := r.add(agent, r.ids.span("part", string(p.ID)), "invoke_agent "+string(p.Participant), p.StartedAt.Time, &ended, attrs...)
	s.Kind = kindClient
	if p.Outcome == api.PartDeclined || p.Outcome == api.PartCancelled {
		failed(s, p.Outcome, "the part was "+p.Outcome)
	}
	if r.parts[p.Participant] == nil {
		r.parts[p.Participant] = s
	}
}

// feedback adds an event of the semantic conventions of generative AI to the span of
// what the feedback is about: a call, else the turn.
func (r *tree) feedback(root *traceSpan, f *api.Feedback) {
	score := 0.0
	if f.Value == protocol.FeedbackUp {
		score = 1
	}
	attrs := []attribute{
		text("gen_ai.evaluation.name", "feedback"), text("gen_ai.evaluation.score.label", f.Value),
		{"gen_ai.evaluation.score.value", map[string]any{"doubleValue": score}},
		text("meup.participant", string(f.From)), text("meup.feedback.id", string(f.ID)), text("meup.feedback.about", string(f.About)),
		text("meup.feedback.about_kind", string(f.AboutKind)), text("meup.feedback.about_from", string(f.AboutFrom)),
	}
	if f.Note != "" {
		attrs = append(attrs, text("gen_ai.evaluation.explanation", f.Note))
	}
	on := root
	if i := slices.IndexFunc(r.spans, func(s *traceSpan) bool { return s.SpanID == r.ids.span("call", string(f.About)) }); i >= 0 {
		on = r.spans[i]
	}
	on.Events = append(on.Events, spanEvent{nanos(f.SentAt.Time), "gen_ai.evaluation.result", attrs})
}

// end returns when a call ended, or when it started if it has not ended.
func end(d *api.Decision) time.Time {
	if d.DurationMS == nil {
		return d.StartedAt.Time
	}
	return d.StartedAt.Add(time.Duration(*d.DurationMS) * time.Millisecond)
}

func instant(t *protocol.Time) *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}

func text(key, value string) attribute {
	return attribute{key, map[string]any{"stringValue": valid(value)}}
}

func number(key string, value int) attribute {
	return attribute{key, map[string]any{"intValue": strconv.Itoa(value)}}
}

// valid returns a text in valid UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
