package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/meup-protocol/meup/client/api"
)

// Traces writes the turns of a thread as OTLP traces, one trace per turn and
// one line per trace. A line is the JSON of a TracesData, which has the form of
// an ExportTraceServiceRequest: it can be posted to a collector unchanged. The
// error comes from the iterator or the writer.
func Traces(w io.Writer, h Head, list iter.Seq2[*api.Turn, error]) error {
	for t, err := range list {
		if err != nil {
			return err
		}
		line, err := encode(&trace.TracesData{ResourceSpans: []*trace.ResourceSpans{{
			Resource:   &resource.Resource{Attributes: []*common.KeyValue{text("service.name", "meup")}},
			ScopeSpans: []*trace.ScopeSpans{{Scope: &common.InstrumentationScope{Name: scope}, Spans: spans(&h, t)}},
		}}})
		if err != nil {
			return fmt.Errorf("encode turn %d of thread %s: %w", t.TurnNumber, h.ThreadID, err)
		}
		if err := write(w, line); err != nil {
			return err
		}
	}
	return nil
}

const scope = "github.com/meup-protocol/meup/internal/gateway/transcript"

// encode returns a message as one line. OTLP requires enums as numbers. The
// white space of protojson varies between builds, so it is removed.
func encode(data *trace.TracesData) (string, error) {
	loose, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(data)
	if err != nil {
		return "", err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, loose); err != nil {
		return "", err
	}
	return line.String() + "\n", nil
}

// tree builds the spans of one turn.
type tree struct {
	head  *Head
	turn  *api.Turn
	ids   ids
	spans []*trace.Span
}

// spans returns the spans of a turn: the root, and each agent followed by its
// calls.
func spans(h *Head, t *api.Turn) []*trace.Span {
	r := &tree{head: h, turn: t, ids: idsOf(h, t.TurnNumber)}
	root := r.root()
	failed := failures(t)
	all := t.AllReasonings()
	for i := range all {
		reasoning := &all[i]
		agent := r.agent(root, reasoning)
		for i := range reasoning.ToolDecisions {
			r.call(agent, reasoning, &reasoning.ToolDecisions[i], failed(reasoning, i))
		}
	}
	r.close(root)
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
			if i--; i < 0 {
				return c.HasError
			}
		}
		return false
	}
}

// add adds a span. A span without an end, or with an end before its start, ends
// at its start.
func (r *tree) add(parent *trace.Span, id []byte, name string, begun time.Time, ended *time.Time, attrs ...*common.KeyValue) *trace.Span {
	s := &trace.Span{
		TraceId: r.ids.trace, SpanId: id, Name: valid(name), Kind: trace.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: nanos(begun), EndTimeUnixNano: nanos(begun),
		Attributes: append([]*common.KeyValue{
			text("gen_ai.conversation.id", r.head.Space), text("meup.session.id", r.head.SessionID),
			text("meup.thread.id", string(r.head.ThreadID)), number("meup.turn.number", r.turn.TurnNumber),
		}, attrs...),
	}
	if parent != nil {
		s.ParentSpanId = parent.SpanId
	}
	if ended != nil {
		s.EndTimeUnixNano = max(s.StartTimeUnixNano, nanos(*ended))
	}
	r.spans = append(r.spans, s)
	return s
}

func nanos(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

// close extends the root to the end of the last span.
func (r *tree) close(root *trace.Span) {
	for _, s := range r.spans {
		root.EndTimeUnixNano = max(root.EndTimeUnixNano, s.EndTimeUnixNano)
	}
}

func failed(s *trace.Span, kind, message string) {
	s.Status = &trace.Status{Code: trace.Status_STATUS_CODE_ERROR, Message: message}
	s.Attributes = append(s.Attributes, text("error.type", kind))
}
