package otlpreceiver

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a request.
const (
	maxBody     = 4 << 20  // bytes, compressed or not
	maxInflated = 4 << 20  // bytes after decompression
	maxSpans    = 10_000   // in one request
	maxElements = 250_000  // spans, attributes and values in one request
	maxNesting  = 64       // of the elements of a request
	maxText     = 16 << 10 // bytes of a text of a span
	maxDepth    = 16       // of values in an attribute
)

// The media types of OTLP over HTTP.
const (
	protobufType = "application/x-protobuf"
	jsonType     = "application/json"
)

// refusal is a request that cannot be accepted, with an HTTP status.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string { return r.message }

// inflate returns the body of a request without its encoding. reserve is called before
// so many bytes are used. Errors: *refusal, reserve's.
func inflate(body []byte, encoding string, reserve func(n int64) error) ([]byte, error) {
	switch encoding {
	case "", "identity":
		return body, reserve(int64(len(body)))
	case "gzip":
	default:
		return nil, &refusal{http.StatusUnsupportedMediaType, "Content-Encoding: expected gzip or identity."}
	}
	in, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, "The body is not valid gzip."}
	}
	var out bytes.Buffer
	for {
		if err := reserve(inflateStep); err != nil {
			return nil, err
		}
		_, err := io.CopyN(&out, in, inflateStep)
		switch {
		case errors.Is(err, io.EOF):
			return out.Bytes(), nil
		case err != nil:
			return nil, &refusal{http.StatusBadRequest, "The body is not valid gzip."}
		case out.Len() > maxInflated:
			return nil, &refusal{http.StatusRequestEntityTooLarge, "The body has more than 4 MiB after decompression; export smaller batches."}
		}
	}
}

// inflateStep is how much is decompressed at once, in bytes.
const inflateStep = 64 << 10

// elements returns how many messages a request has, before they are decoded: the
// smallest has two bytes, and takes a hundred times as much memory. Error: *refusal.
func elements(body []byte, kind string, form protoreflect.MessageDescriptor) (int, error) {
	n := 0
	if kind == jsonType { // the objects and arrays of a text that may not be valid
		quoted := false
		for i := 0; i < len(body); i++ {
			switch c := body[i]; {
			case c == '"':
				quoted = !quoted
			case quoted && c == '\\':
				i++
			case !quoted && (c == '{' || c == '['):
				n++
			}
		}
	} else if !messages(body, form, 0, &n) {
		return 0, errBody(form)
	}
	if n > maxElements {
		return 0, &refusal{http.StatusRequestEntityTooLarge, "The request has more than 250000 elements, attributes and values; export smaller batches."}
	}
	return n, nil
}

// messages adds the messages inside of one to n; it returns false if it is malformed, or
// nested too deep. It counts little more than maxElements.
func messages(body []byte, d protoreflect.MessageDescriptor, depth int, n *int) bool {
	if depth == maxNesting {
		return false
	}
	for len(body) > 0 && *n <= maxElements {
		number, kind, size := protowire.ConsumeTag(body)
		if size < 0 {
			return false
		}
		body = body[size:]
		size = protowire.ConsumeFieldValue(number, kind, body)
		if size < 0 {
			return false
		}
		f := d.Fields().ByNumber(number)
		if f != nil && (f.Message() != nil || f.IsList()) {
			*n++
		}
		if f != nil && f.Message() != nil && kind == protowire.BytesType {
			if inner, _ := protowire.ConsumeBytes(body); !messages(inner, f.Message(), depth+1, n) {
				return false
			}
		}
		body = body[size:]
	}
	return true
}

func errBody(form protoreflect.MessageDescriptor) error {
	name := "ExportTraceServiceRequest"
	if form.Name() == "MetricsData" {
		name = "ExportMetricsServiceRequest"
	}
	return &refusal{http.StatusBadRequest, "The body is not an " + name + "."}
}

// decode reads the body of an export, which has the form of a TracesData or a MetricsData.
// Error: *refusal.
func decode(body []byte, kind string, data proto.Message) (err error) {
	if kind == jsonType {
		lenient := protojson.UnmarshalOptions{DiscardUnknown: true}
		err = lenient.Unmarshal(body, data)
		if err != nil { // it rejects lone surrogates and duplicate keys
			var doc *protocol.Doc
			doc, err = protocol.ParseForeignJSON(body, maxNesting)
			if err == nil {
				err = lenient.Unmarshal(doc.Root().Raw(), data)
			}
		}
	} else {
		err = proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(body, data)
	}
	if err != nil {
		return errBody(data.ProtoReflect().Descriptor())
	}
	return nil
}

// value is an attribute of a field.
type value struct {
	rank int
	text string
}

// span is a span of a trace, as far as it is used.
type span struct {
	trace, id, parent string // hexadecimal; parent "": none
	name, service     string
	start, end        uint64 // nanoseconds since 1970
	failed            bool
	failure           string
	texts             map[field]value
	messages          map[field]map[int]*message // of numbered attributes
	kind              kind

	children []*span // of the same request
	order    int     // in the request
}

func (s *span) get(f field) string { return s.texts[f].text }

// agent returns the name of the agent of a span, or "".
func (s *span) agent() string {
	if s.kind == agent {
		return cmp.Or(s.get(agentName), s.get(entityName))
	}
	return s.get(agentName)
}

// tool returns the name of the tool that a span calls.
func (s *span) tool() string { return cmp.Or(s.get(toolName), s.get(entityName), s.name) }

// message is a message of a conversation with a model.
type message struct {
	role, text string
	parts      map[int]string // its text in OpenInference's numbered parts
}

// ownScope begins the names of the instrumentation of this project's programs. Their
// work is in the space already.
const ownScope = "github.com/meup-protocol/meup/"

// spans returns the spans of a request, and how many are invalid. Error: *refusal.
func spans(data *tracepb.TracesData, kind string) (list []*span, invalid int, err error) {
	for _, rs := range data.GetResourceSpans() {
		service := ""
		for _, kv := range rs.GetResource().GetAttributes() {
			if kv.GetKey() == "service.name" {
				service = textutil.Truncate(valueText(kv.GetValue()), 256)
			}
		}
		for _, ss := range rs.GetScopeSpans() {
			if scope := ss.GetScope().GetName(); len(scope) >= len(ownScope) && scope[:len(ownScope)] == ownScope {
				continue
			}
			for _, in := range ss.GetSpans() {
				if len(list)+invalid == maxSpans {
					return nil, 0, &refusal{http.StatusRequestEntityTooLarge, "The request has more than 10000 spans; export smaller batches."}
				}
				s, ok := readSpan(in, kind)
				if !ok {
					invalid++
					continue
				}
				s.service, s.order = service, len(list)
				list = append(list, s)
			}
		}
	}
	return list, invalid, nil
}

// readSpan reads a span. A span without valid ids is invalid.
func readSpan(in *tracepb.Span, kind string) (*span, bool) {
	s := &span{
		trace: hexID(in.GetTraceId(), kind, 16), id: hexID(in.GetSpanId(), kind, 8), parent: hexID(in.GetParentSpanId(), kind, 8),
		name: textutil.Truncate(in.GetName(), 256), start: in.GetStartTimeUnixNano(), end: in.GetEndTimeUnixNano(), texts: make(map[field]value),
		failed: in.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR, failure: textutil.Shorten(in.GetStatus().GetMessage(), maxText),
	}
	if s.trace == "" || s.id == "" || s.parent == s.id {
		return nil, false
	}
	s.read(in.GetAttributes())
	for _, e := range in.GetEvents() {
		s.read(e.GetAttributes())
	}
	s.joinMessages()
	s.kind = kindOf(s)
	return s, true
}

// hexID returns an id in hexadecimal; "": it is invalid or zero. In JSON ids are
// hexadecimal, which protojson has decoded as base64.
func hexID(id []byte, kind string, length int) string {
	if kind == jsonType {
		decoded, err := hex.DecodeString(base64.StdEncoding.EncodeToString(id))
		if err != nil {
			return ""
		}
		id = decoded
	}
	if len(id) != length || len(bytes.Trim(id, "\x00")) == 0 {
		return ""
	}
	return hex.EncodeToString(id)
}

// read adds the attributes of the table.
func (s *span) read(list []*commonpb.KeyValue) {
	for _, kv := range list {
		n, known := names[kv.GetKey()]
		if !known {
			s.readMessage(kv)
			continue
		}
		if has, given := s.texts[n.field]; given && has.rank <= n.rank {
			continue
		}
		if text := valueText(kv.GetValue()); text != "" {
			s.texts[n.field] = value{n.rank, text}
		}
	}
}

// readMessage adds an attribute of a single message.
func (s *span) readMessage(kv *commonpb.KeyValue) {
	for _, n := range numbered {
		rest, found := strings.CutPrefix(kv.GetKey(), n.prefix)
		if !found {
			continue
		}
		digits, member, _ := strings.Cut(rest, ".")
		member = "." + member
		i, err := strconv.Atoi(digits)
		part, isPart := strings.CutSuffix(strings.TrimPrefix(member, partPrefix), partSuffix)
		at, odd := strconv.Atoi(part)
		isPart = isPart && odd == nil
		if err != nil || member != n.text && member != n.role && !isPart {
			return
		}
		if s.messages == nil {
			s.messages = make(map[field]map[int]*message)
		}
		if s.messages[n.field] == nil {
			s.messages[n.field] = make(map[int]*message)
		}
		m := s.messages[n.field][i]
		if m == nil {
			m = new(message)
			s.messages[n.field][i] = m
		}
		switch text := valueText(kv.GetValue()); {
		case isPart:
			if m.parts == nil {
				m.parts = make(map[int]string)
			}
			m.parts[at] = text
		case member == n.text:
			m.text = text
		default:
			m.role = text
		}
		return
	}
}

// joinMessages sets the input and the output from single messages: the input is the last
// message of the user, or the last one if no roles are given.
func (s *span) joinMessages() {
	for f, list := range s.messages {
		var texts []string
		asked := message{}
		for _, i := range slices.Sorted(maps.Keys(list)) {
			m := list[i]
			if m.text == "" {
				var parts []string
				for _, at := range slices.Sorted(maps.Keys(m.parts)) {
					parts = append(parts, m.parts[at])
				}
				m.text = strings.Join(parts, "\n")
			}
			if m.text == "" {
				continue
			}
			texts = append(texts, m.text)
			if m.role == "user" || asked.role != "user" {
				asked = *m
			}
		}
		text := asked.text
		if f == output {
			text = strings.Join(texts, "\n")
		}
		given := strings.TrimSpace(s.get(f))
		if text != "" && (given == "" || given[0] == '{' || given[0] == '[') {
			s.texts[f] = value{text: text}
		}
	}
	s.messages = nil
}

// valueText returns a value as a text: a string as it is, others as JSON.
func valueText(v *commonpb.AnyValue) string {
	if s, ok := v.GetValue().(*commonpb.AnyValue_StringValue); ok {
		return s.StringValue
	}
	x := plain(v, 0)
	if x == nil {
		return ""
	}
	text, err := json.Marshal(x)
	if err != nil {
		return "" // a number that is not finite
	}
	return string(text)
}

// plain returns a value as one of encoding/json.
func plain(v *commonpb.AnyValue, depth int) any {
	if depth == maxDepth {
		return nil
	}
	switch x := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return x.StringValue
	case *commonpb.AnyValue_BoolValue:
		return x.BoolValue
	case *commonpb.AnyValue_IntValue:
		return x.IntValue
	case *commonpb.AnyValue_DoubleValue:
		return x.DoubleValue
	case *commonpb.AnyValue_BytesValue:
		return x.BytesValue
	case *commonpb.AnyValue_ArrayValue:
		list := []any{}
		for _, e := range x.ArrayValue.GetValues() {
			list = append(list, plain(e, depth+1))
		}
		return list
	case *commonpb.AnyValue_KvlistValue:
		object := make(map[string]any)
		for _, kv := range x.KvlistValue.GetValues() {
			object[kv.GetKey()] = plain(kv.GetValue(), depth+1)
		}
		return object
	}
	return nil
}

// number returns a number of tokens; 0: none.
func (s *span) number(f field) int64 {
	n, err := strconv.ParseInt(s.get(f), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
