package transcript

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// span is a span read from the export, with ids in hexadecimal.
type span struct {
	*trace.Span
	trace, id, parent string
	attrs             map[string]string
}

// readSpans parses the lines of an export with the types of a collector.
func readSpans(t *testing.T, text string) (lines [][]span) {
	t.Helper()
	for line := range strings.Lines(text) {
		var request collector.ExportTraceServiceRequest
		if err := protojson.Unmarshal([]byte(line), &request); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		var list []span
		for _, r := range request.ResourceSpans {
			for _, s := range r.ScopeSpans {
				for _, x := range s.Spans {
					list = append(list, readSpan(t, x))
				}
			}
		}
		lines = append(lines, list)
	}
	return lines
}

func readSpan(t *testing.T, s *trace.Span) span {
	t.Helper()
	out := span{
		Span: s, trace: hexID(t, s.TraceId, 16), id: hexID(t, s.SpanId, 8), parent: hexID(t, s.ParentSpanId, 8),
		attrs: make(map[string]string),
	}
	for _, a := range s.Attributes {
		value := a.Value.GetStringValue()
		if value == "" {
			value = fmt.Sprint(a.Value.GetIntValue())
		}
		if _, twice := out.attrs[a.Key]; twice {
			t.Errorf("%s has %s twice", s.Name, a.Key)
		}
		out.attrs[a.Key] = value
	}
	return out
}

// hexID converts an id field, which protojson has read as base64, to the text
// in the JSON.
func hexID(t *testing.T, field []byte, size int) string {
	t.Helper()
	id := base64.StdEncoding.EncodeToString(field)
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != size && len(raw) != 0 || strings.Trim(id, "0") == "" && id != "" {
		t.Errorf("%q is no id of %d bytes", id, size)
	}
	return id
}

func incident(t *testing.T) *turns.Tracker {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/incident.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return readLog(t, archive.Files[0].Data).tracker()
}

func TestTraces(t *testing.T) {
	text := thread(t, incident(t), Traces)
	lines := readSpans(t, text)
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	ids := make(map[string]bool)
	for _, list := range lines {
		byID := make(map[string]span)
		for i, s := range list {
			if ids[s.id] || s.trace != list[0].trace || (s.parent == "") != (i == 0) || i > 0 && byID[s.parent].Span == nil {
				t.Errorf("%s: id %s, parent %s, trace %s", s.Name, s.id, s.parent, s.trace)
			}
			ids[s.id], byID[s.id] = true, s
			if p := byID[s.parent].Span; p != nil && (s.StartTimeUnixNano < p.StartTimeUnixNano || s.EndTimeUnixNano > p.EndTimeUnixNano) {
				t.Errorf("%s is not within %s", s.Name, p.Name)
			}
			if s.attrs["gen_ai.conversation.id"] != "lab" || s.attrs["meup.thread.id"] != "q1" {
				t.Errorf("%s: %v", s.Name, s.attrs)
			}
		}
		if ids[list[0].trace] {
			t.Error("two turns have one trace")
		}
		ids[list[0].trace] = true
	}
	if again := thread(t, incident(t), Traces); again != text {
		t.Error("another export gives other lines")
	}
}

// A call and its outcome are in its span.
func TestSpans(t *testing.T) {
	lines := readSpans(t, thread(t, incident(t), Traces))
	var got strings.Builder
	for _, list := range lines {
		for _, s := range list {
			took := time.Duration(s.EndTimeUnixNano - s.StartTimeUnixNano)
			fmt.Fprintf(&got, "%s %s %v %s|%s|%s|%s\n", s.Name, took, s.Status.GetCode(),
				s.attrs["gen_ai.tool.call.id"], s.attrs["meup.tool.outcome"], s.attrs["meup.tool.parallel_group"], s.attrs["error.type"])
		}
	}
	const want = `turn 1m13.25s STATUS_CODE_UNSET |||
invoke_agent planner 1m11.25s STATUS_CODE_UNSET |||
execute_tool read_log 3s STATUS_CODE_UNSET r1|success|0|
execute_tool git_diff 1m3.25s STATUS_CODE_ERROR r2|error|0|tool_error
execute_tool limits 1s STATUS_CODE_UNSET r3|success||
turn 12s STATUS_CODE_UNSET |||
invoke_agent planner 9s STATUS_CODE_UNSET |||
execute_tool set_limit 4s STATUS_CODE_ERROR p1|fulfilled||tool_error
invoke_agent reviewer 7s STATUS_CODE_UNSET |||
execute_tool set_limit 1s STATUS_CODE_ERROR p2|rejected||rejected
turn 2s STATUS_CODE_UNSET |||
invoke_agent planner 1s STATUS_CODE_UNSET |||
execute_tool set_limit 0s STATUS_CODE_UNSET r5|pending||
`
	if got.String() != want {
		t.Errorf("spans\n%s\nwant\n%s", &got, want)
	}
}

// The calls of the turn show which fulfilled proposals failed, in the order of
// each agent.
func TestSpans_FulfilledCallsThatFailed(t *testing.T) {
	of := func(agent string) *api.Reasoning {
		return &api.Reasoning{Agent: protocol.ParticipantID(agent)}
	}
	several := failures(&api.Turn{ToolCalls: []api.ToolCall{
		{Agent: "a", HasError: true}, {Agent: "b"}, {Agent: "a"}, {Agent: "b", HasError: true},
	}})
	if !several(of("a"), 0) || several(of("a"), 1) || several(of("b"), 0) || !several(of("b"), 1) || several(of("b"), 2) {
		t.Error("calls of several agents are taken for one another")
	}
	one := failures(&api.Turn{ToolCalls: []api.ToolCall{{}, {HasError: true}}})
	if one(of("a"), 0) || !one(of("a"), 1) {
		t.Error("calls of one agent are taken for one another")
	}
}

// The ids depend on session, thread and turn.
func TestIDs_DifferByThread(t *testing.T) {
	a := idsOf(&Head{Space: "lab", ThreadID: "q1", SessionID: turns.SessionID("lab", "q1")}, 1)
	seen := map[string]bool{a.trace: true}
	for _, other := range []ids{
		idsOf(&Head{ThreadID: "q1", SessionID: turns.SessionID("den", "q1")}, 1),
		idsOf(&Head{ThreadID: "q2", SessionID: turns.SessionID("lab", "q1")}, 1),
		idsOf(&Head{ThreadID: "q1", SessionID: turns.SessionID("lab", "q1")}, 2),
	} {
		if seen[other.trace] {
			t.Errorf("%+v is not new", other)
		}
		seen[other.trace] = true
		if other.span("call", "c1") == a.span("call", "c1") {
			t.Error("a span of another turn has the same id")
		}
	}
	if a.span("agent", "x") == a.span("call", "x") {
		t.Error("an agent and a call have the same id")
	}
}

// A text with invalid UTF-8 does not prevent the export of a turn.
func TestTraces_InvalidUTF8(t *testing.T) {
	bad := "\xff\xfe"
	var b strings.Builder
	if err := Traces(&b, Head{Space: bad}, all(texts{bad, bad, bad, bad, bad, bad, bad}.turn())); err != nil {
		t.Fatal(err)
	}
	readSpans(t, b.String())
}
