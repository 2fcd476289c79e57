package otlpreceiver

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/protocol"
)

const jsonSpan = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]},"scopeSpans":[{"spans":[
{"traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"eee19b7ec3c1b174","parentSpanId":"eee19b7ec3c1b173","name":"chat","startTimeUnixNano":"1544712660000000000","endTimeUnixNano":"1544712661000000000","kind":2,"status":{"code":2,"message":"x"},
"attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.usage.input_tokens","value":{"intValue":"5"}},{"key":"gen_ai.input.messages","value":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"role","value":{"stringValue":"user"}},{"key":"content","value":{"stringValue":"why?"}}]}}]}}}],
"events":[{"name":"exception","attributes":[{"key":"exception.message","value":{"stringValue":"broken"}}]}]}]}]}]}`

// tracesForm is the form of an export of traces.
var tracesForm = new(tracepb.TracesData).ProtoReflect().Descriptor()

func TestTraces_JSON(t *testing.T) {
	data := new(tracepb.TracesData)
	err := decode([]byte(jsonSpan), jsonType, data)
	if err != nil {
		t.Fatal(err)
	}
	list, invalid, err := spans(data, jsonType)
	if err != nil || invalid != 0 || len(list) != 1 {
		t.Fatalf("%v %d %v", list, invalid, err)
	}
	s := list[0]
	if s.trace != "5b8efff798038103d269b633813fc60c" || s.id != "eee19b7ec3c1b174" || s.parent != "eee19b7ec3c1b173" || s.kind != call || !s.failed || s.service != "s" ||
		s.number(inputTokens) != 5 || messageText(s.get(input), true) != "why?" || s.get(errorMessage) != "broken" {
		t.Errorf("%+v", s)
	}
}

func FuzzTraces(f *testing.F) {
	f.Add([]byte(jsonSpan), true)
	binary, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{
		{TraceId: bytes.Repeat([]byte{1}, 16), SpanId: bytes.Repeat([]byte{2}, 8), Attributes: []*commonpb.KeyValue{{Key: "openinference.span.kind", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: "TOOL"}}}}},
	}}}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(binary, false)
	f.Fuzz(func(t *testing.T, body []byte, isJSON bool) {
		kind := protobufType
		if isJSON {
			kind = jsonType
		}
		if _, err := elements(body, kind, tracesForm); err != nil {
			return
		}
		data := new(tracepb.TracesData)
		if err := decode(body, kind, data); err != nil {
			return
		}
		list, _, err := spans(data, kind)
		if err != nil {
			return
		}
		total := 0
		for _, top := range roots(list) {
			total += countOf(top)
		}
		if total != len(list) {
			t.Errorf("%d of %d spans", total, len(list))
		}
		for _, s := range list {
			if len(s.trace) != 32 || len(s.id) != 16 {
				t.Errorf("%q %q", s.trace, s.id)
			}
			for _, payload := range []json.RawMessage{adapter.Object("metadata", s.metadata("x"), "message", s.text()), argumentsOf(s.get(toolArguments))} {
				if _, err := protocol.ParseJSON(payload, protocol.MaxDepth); err != nil {
					t.Errorf("%q: %v", payload, err)
				}
			}
		}
	})
}

func countOf(s *span) int {
	n := 1
	for _, c := range s.children {
		n += countOf(c)
	}
	return n
}

func FuzzInflate(f *testing.F) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write([]byte("text"))
	_ = z.Close()
	f.Add(out.Bytes())
	f.Fuzz(func(t *testing.T, body []byte) {
		var used int64
		text, err := inflate(body, "gzip", func(n int64) error { used += n; return nil })
		if err == nil && (int64(len(text)) > used || len(text) > maxInflated) {
			t.Errorf("%d bytes, %d reserved", len(text), used)
		}
	})
}

// The memory of a decompressed body is reserved before it is used.
func TestInflate_Reserves(t *testing.T) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(make([]byte, 3<<20))
	_ = z.Close()
	busy, used := errors.New("busy"), int64(0)
	_, err := inflate(out.Bytes(), "gzip", func(n int64) error {
		used += n
		if used > 1<<20 {
			return busy
		}
		return nil
	})
	if !errors.Is(err, busy) {
		t.Error(err)
	}
}

// The kinds of spans of the conventions in use.
func TestKindOf_Conventions(t *testing.T) {
	for _, test := range []struct {
		attributes map[string]string
		want       kind
	}{
		{map[string]string{"gen_ai.operation.name": "chat"}, call},
		{map[string]string{"gen_ai.operation.name": "execute_tool"}, tool},
		{map[string]string{"gen_ai.operation.name": "new_operation"}, step},
		{map[string]string{"gen_ai.system": "openai", "gen_ai.request.model": "m"}, call},
		{map[string]string{"openinference.span.kind": "AGENT"}, agent},
		{map[string]string{"openinference.span.kind": "CHAIN"}, step},
		{map[string]string{"traceloop.span.kind": "workflow"}, agent},
		{map[string]string{"traceloop.span.kind": "task"}, step},
		{map[string]string{"llm.request.type": "chat"}, call},
		{map[string]string{"ai.operationId": "ai.streamText.doStream", "gen_ai.request.model": "m"}, call},
		{map[string]string{"ai.operationId": "ai.streamText"}, agent},
		{map[string]string{"http.request.method": "GET"}, other},
	} {
		s := &span{texts: make(map[field]value)}
		var list []*commonpb.KeyValue
		for key, text := range test.attributes {
			list = append(list, &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: text}}})
		}
		if s.read(list); kindOf(s) != test.want {
			t.Errorf("%v: %d", test.attributes, kindOf(s))
		}
	}
}

// Of a tool of OpenLLMetry, the name of the entity is the tool's, and that of an agent is
// not.
func TestSpan_Names(t *testing.T) {
	for _, test := range []struct {
		attributes  map[string]string
		tool, agent string
	}{
		{map[string]string{"traceloop.span.kind": "tool", "traceloop.entity.name": "read", "gen_ai.agent.name": "lead"}, "read", "lead"},
		{map[string]string{"traceloop.span.kind": "tool", "traceloop.entity.name": "read"}, "read", ""},
		{map[string]string{"traceloop.span.kind": "agent", "traceloop.entity.name": "lead"}, "", "lead"},
		{map[string]string{"traceloop.span.kind": "task", "traceloop.entity.name": "fetch"}, "", ""},
		{map[string]string{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read", "gen_ai.agent.name": "lead"}, "read", "lead"},
	} {
		s := spanWith(t, test.attributes)
		if s.kind == tool && s.tool() != test.tool || s.agent() != test.agent {
			t.Errorf("%v: tool %q of agent %q, want %q of %q", test.attributes, s.tool(), s.agent(), test.tool, test.agent)
		}
	}
}

// The messages of a conversation by number count more than the JSON of a provider.
func TestSpan_NumberedMessages(t *testing.T) {
	for name, test := range map[string]struct {
		attributes    map[string]string
		input, output string
	}{
		"a provider's JSON": {map[string]string{
			"openinference.span.kind": "LLM", "input.value": `{"contents":[]}`, "output.value": `{"id":"1","choices":[{"message":{"content":"because"}}]}`,
			"llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "be kind",
			"llm.input_messages.1.message.role": "user", "llm.input_messages.1.message.content": "why?",
			"llm.input_messages.10.message.role": "user", "llm.input_messages.10.message.content": "why then?",
			"llm.input_messages.2.message.role": "assistant", "llm.input_messages.2.message.content": "hm",
			"llm.output_messages.1.message.content": "it is so", "llm.output_messages.0.message.content": "because",
		}, "why then?", "because\nit is so"},
		"a text": {map[string]string{"openinference.span.kind": "LLM", "output.value": "because", "llm.output_messages.0.message.content": "no"}, "", "because"},
		"OpenLLMetry": {map[string]string{
			"llm.request.type": "chat", "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "be kind", "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": "why?",
			"gen_ai.completion.0.content": "because",
		}, "why?", "because"},
		"parts of OpenInference": {map[string]string{
			"openinference.span.kind": "LLM", "output.value": `{"choices":[]}`, "llm.output_messages.0.message.contents.1.message_content.text": "so",
			"llm.output_messages.0.message.contents.0.message_content.text": "because", "llm.output_messages.0.message.contents.x.message_content.text": "no",
		}, "", "because\nso"},
		"without roles": {map[string]string{"llm.request.type": "chat", "gen_ai.prompt.0.content": "a", "gen_ai.prompt.1.content": "b", "gen_ai.prompt.x.content": "c"}, "b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := spanWith(t, test.attributes)
			if in, out := messageText(s.get(input), true), messageText(s.get(output), false); in != test.input || out != test.output {
				t.Errorf("input %q, output %q, want %q, %q", in, out, test.input, test.output)
			}
		})
	}
}

// spanWith returns a span with the attributes.
func spanWith(t *testing.T, attributes map[string]string) *span {
	t.Helper()
	in := &tracepb.Span{TraceId: bytes.Repeat([]byte{1}, 16), SpanId: bytes.Repeat([]byte{2}, 8)}
	for key, text := range attributes {
		in.Attributes = append(in.Attributes, &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: text}}})
	}
	s, ok := readSpan(in, protobufType)
	if !ok {
		t.Fatal("the span is invalid")
	}
	return s
}

func TestArgumentsOf_Wrapped(t *testing.T) {
	for raw, want := range map[string]string{
		`{"args":[],"kwargs":{"path":"a","n":1.0}}`:                                          `{"path":"a","n":1.0}`,
		`{"args":["a"],"kwargs":{}}`:                                                         `{"args":["a"],"kwargs":{}}`,
		`{"args":[],"kwargs":{},"path":"a"}`:                                                 `{"args":[],"kwargs":{},"path":"a"}`,
		`{"input_str":"{'path': 'a'}","tags":[],"inputs":{"path":"a"},"kwargs":{"color":1}}`: `{"path":"a"}`,
		`{"input_str":"a","inputs":null}`:                                                    `{"input_str":"a","inputs":null}`,
		`{"path":"a"}`:                                                                       `{"path":"a"}`,
		`plain`:                                                                              `{"input":"plain"}`,
	} {
		if got := string(argumentsOf(raw)); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

func TestMessageText_Forms(t *testing.T) {
	for _, test := range []struct {
		raw   string
		asked bool
		want  string
	}{
		{"plain", true, "plain"},
		{`"quoted"`, false, "quoted"},
		{`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`, true, "c"},
		{`[{"role":"assistant","parts":[{"type":"text","content":"x"},{"type":"tool_call","name":"read"}]}]`, false, "x\ncalls read"},
		{`{"prompt":"why?"}`, true, "why?"},
		{`{"args":["why?"],"kwargs":{}}`, true, "why?"},
		{`{"args":[],"kwargs":{"prompt":"why?"}}`, true, "why?"},
		{`{"args":[],"kwargs":{"q":"why?"}}`, true, "why?"},
		{`{"args":[],"kwargs":{"q":"why?","n":3}}`, true, `{"q":"why?","n":3}`},
		{`{"rows":3}`, false, `{"rows":3}`},
		{`{"broken`, false, `{"broken`},
	} {
		if got := messageText(test.raw, test.asked); got != test.want {
			t.Errorf("%s: %q", test.raw, got)
		}
	}
	if got := messageText(strings.Repeat("x", 2*maxText), false); len(got) > maxText+len("…") {
		t.Errorf("%d bytes", len(got))
	}
}

// The memory has a bound for ids, participants, and traces.
func TestMemory_Bounds(t *testing.T) {
	m := newMemory()
	now := time.Now()
	for i := range maxOpen + 5 {
		m.opened("a", protocol.ID(fmt.Sprint(i)), now)
	}
	if stale := m.stale("a", now); len(stale) != 5 || stale[0] != "0" {
		t.Errorf("%v", stale)
	}
	if stale := m.stale("a", now.Add(maxIdle+time.Minute)); len(stale) != maxOpen+5 {
		t.Errorf("%d", len(stale))
	}
	for i := range 3 * maxOwners {
		m.opened(fmt.Sprint("p", i), "x", now)
	}
	for i := range 3 * maxDone {
		m.done(fmt.Sprint(i))
	}
	if m.owners.Len() > 2*maxOwners || m.published.Len() > 2*maxDone {
		t.Errorf("%d participants, %d ids", m.owners.Len(), m.published.Len())
	}
}

// A body of the smallest elements does not use more memory than its budget has for it,
// and has no more of them than permitted.
func TestElements_Memory(t *testing.T) {
	wrap := func(number byte, inner []byte) []byte {
		return append(protowire.AppendVarint([]byte{number<<3 | 2}, uint64(len(inner))), inner...)
	}
	forms := map[string]struct {
		kind string
		body func(n int) []byte
	}{
		"attributes": {protobufType, func(n int) []byte { return wrap(1, wrap(2, wrap(2, bytes.Repeat([]byte{9<<3 | 2, 0}, n)))) }},
		"spans":      {protobufType, func(n int) []byte { return wrap(1, wrap(2, bytes.Repeat([]byte{2<<3 | 2, 0}, n))) }},
		"json": {jsonType, func(n int) []byte {
			return []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Repeat("{},", n) + `{}]}]}]}`)
		}},
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			const n = 100_000
			body := form.body(n)
			count, err := elements(body, form.kind, tracesForm)
			if err != nil || count < n {
				t.Fatalf("%d %v", count, err)
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			data := new(tracepb.TracesData)
			err = decode(body, form.kind, data)
			runtime.GC()
			runtime.ReadMemStats(&after)
			if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); err != nil || used > int64(count)*elementSize+copies*int64(len(body)) {
				t.Errorf("%d bytes for %d elements: %v", used, count, err)
			}
			if _, _, err := spans(data, form.kind); err == nil && form.kind == protobufType && name == "spans" {
				t.Error("too many spans are accepted")
			}
			if _, err := elements(form.body(maxElements+1), form.kind, tracesForm); err == nil {
				t.Error("too many elements are accepted")
			}
		})
	}
	deep := []byte{}
	for range 100 { // a value in an array in a value
		deep = wrap(5, wrap(1, deep))
	}
	if _, err := elements(wrap(1, wrap(2, wrap(2, wrap(9, wrap(2, deep))))), protobufType, tracesForm); err == nil {
		t.Error("deep values are accepted")
	}
}
