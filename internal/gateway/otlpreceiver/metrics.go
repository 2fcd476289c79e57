package otlpreceiver

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Metrics become a participant.status with the usage since the export before. Nothing is kept
// in memory: the values of cumulative series are in the status, where the next export finds
// them at any gateway, and the id of a status follows from the points, so that an export that
// is repeated counts once.

// Bounds of an export of metrics.
const (
	maxPoints   = 10_000 // that are read
	maxSeries   = 256    // cumulative ones
	maxStatuses = 1000   // that are searched for the last values
	maxModels   = 8      // that are named
)

// part is what the tokens of a data point are.
type part uint8

const (
	ignored part = iota // they are counted as something else too
	inputPart
	cachedInput // in addition to the input
	cachedPart  // of the input
	outputPart
	moreOutput // reasoning in addition to the output
	reasoningPart
)

// counter is a metric that is read.
type counter struct {
	attribute string // that says what the tokens are
	parts     map[string]part
	currency  string // of a cost; "": it counts tokens
	general   bool   // other metrics of the same program count instead, if it sends them
}

// counters are the metrics that are read, by their names. All are sums or histograms.
var counters = map[string]counter{
	"claude_code.token.usage": {attribute: "type", parts: map[string]part{"input": inputPart, "output": outputPart, "cacheRead": cachedInput, "cacheCreation": inputPart}},
	"claude_code.cost.usage":  {currency: "USD"},
	"codex.turn.token_usage": {attribute: "token_type", parts: map[string]part{
		"total": ignored, "input": inputPart, "cached_input": cachedPart, "output": outputPart, "reasoning_output": reasoningPart,
	}},
	"gemini_cli.token.usage": gemini,
	"qwen-code.token.usage":  gemini,
	// Of the GenAI conventions.
	"gen_ai.client.token.usage": {attribute: "gen_ai.token.type", parts: map[string]part{"input": inputPart, "output": outputPart}, general: true},
}

var gemini = counter{attribute: "type", parts: map[string]part{"input": inputPart, "tool": inputPart, "cache": cachedPart, "output": outputPart, "thought": moreOutput}}

// point is a data point of a counter.
type point struct {
	of          counter
	part        part
	known       bool // part is
	model       string
	value       float64
	cumulative  bool
	start, time uint64 // nanoseconds since 1970
	series      [sha256.Size]byte
}

// points is what an export has of the counters.
type points struct {
	list    []point
	invalid int
	reason  string // why the first one is invalid
}

func (p *points) reject(format string, args ...any) {
	p.invalid++
	if p.reason == "" {
		p.reason = fmt.Sprintf(format, args...)
	}
}

// read reads the counters of an export. Error: *refusal.
func (p *points) read(data *metricspb.MetricsData) error {
	for _, rm := range data.GetResourceMetrics() {
		resource := sha256.New()
		writeAttributes(resource, rm.GetResource().GetAttributes())
		first, special := len(p.list), false
		for _, sm := range rm.GetScopeMetrics() {
			if strings.HasPrefix(sm.GetScope().GetName(), ownScope) {
				continue // its participant reports the usage itself
			}
			for _, m := range sm.GetMetrics() {
				c, known := counters[m.GetName()]
				if !known {
					continue
				}
				special = special || c.attribute != "" && !c.general
				if err := p.metric(c, m, resource.Sum(nil)); err != nil {
					return err
				}
			}
		}
		if special {
			own := slices.DeleteFunc(p.list[first:], func(x point) bool { return x.of.general })
			p.list = p.list[:first+len(own)]
		}
	}
	return nil
}

// metric reads the points of a metric.
func (p *points) metric(c counter, m *metricspb.Metric, resource []byte) error {
	temporality := metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_UNSPECIFIED
	add := func(attributes []*commonpb.KeyValue, start, at uint64, value float64) error {
		if len(p.list)+p.invalid == maxPoints {
			return &refusal{http.StatusRequestEntityTooLarge, "The request has more than 10000 points of tokens and costs; export smaller batches."}
		}
		x := point{of: c, value: value, start: start, time: at, cumulative: temporality == metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE}
		switch {
		case temporality == metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_UNSPECIFIED:
			p.reject("%s: neither a sum nor a histogram with a temporality", m.GetName())
			return nil
		case !(value >= 0 && value <= exchange.MaxUsage):
			p.reject("%s: the value is negative, too large or no number", m.GetName())
			return nil
		}
		for _, kv := range attributes {
			switch kv.GetKey() {
			case c.attribute:
				x.part, x.known = c.parts[valueText(kv.GetValue())]
			case "model", "gen_ai.request.model":
				x.model = textutil.ShortenChars(valueText(kv.GetValue()), 100)
			}
		}
		h := sha256.New()
		h.Write(resource)
		writeText(h, m.GetName())
		writeAttributes(h, attributes)
		writeNumber(h, start)
		h.Sum(x.series[:0])
		p.list = append(p.list, x)
		return nil
	}
	switch d := m.GetData().(type) {
	case *metricspb.Metric_Sum:
		if d.Sum.GetIsMonotonic() {
			temporality = d.Sum.GetAggregationTemporality()
		}
		for _, x := range d.Sum.GetDataPoints() {
			value := x.GetAsDouble()
			if n, whole := x.GetValue().(*metricspb.NumberDataPoint_AsInt); whole {
				value = float64(n.AsInt)
			}
			if err := add(x.GetAttributes(), x.GetStartTimeUnixNano(), x.GetTimeUnixNano(), value); err != nil {
				return err
			}
		}
	case *metricspb.Metric_Histogram:
		temporality = d.Histogram.GetAggregationTemporality()
		for _, x := range d.Histogram.GetDataPoints() {
			if err := add(x.GetAttributes(), x.GetStartTimeUnixNano(), x.GetTimeUnixNano(), x.GetSum()); err != nil {
				return err
			}
		}
	case *metricspb.Metric_ExponentialHistogram:
		temporality = d.ExponentialHistogram.GetAggregationTemporality()
		for _, x := range d.ExponentialHistogram.GetDataPoints() {
			if err := add(x.GetAttributes(), x.GetStartTimeUnixNano(), x.GetTimeUnixNano(), x.GetSum()); err != nil {
				return err
			}
		}
	default:
		p.reject("%s: neither a sum nor a histogram with a temporality", m.GetName())
	}
	return nil
}

// writeAttributes writes attributes in an order of their own.
func writeAttributes(h hash.Hash, list []*commonpb.KeyValue) {
	texts := make(map[string]string, len(list))
	for _, kv := range list {
		texts[kv.GetKey()] = valueText(kv.GetValue())
	}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		writeText(h, key)
		writeText(h, texts[key])
	}
	writeNumber(h, uint64(len(texts)))
}

func writeText(h hash.Hash, s string) {
	writeNumber(h, uint64(len(s)))
	h.Write([]byte(s))
}

func writeNumber(h hash.Hash, n uint64) { h.Write(binary.BigEndian.AppendUint64(nil, n)) }

// series is the last value of a cumulative series, in a status.
type series struct {
	time  uint64
	value float64
}

// key is the name of a series in a status.
func (x *point) key() string { return hex.EncodeToString(x.series[:12]) }

// receiveMetrics publishes what the metrics of a request say was used. An error means that the export
// must be repeated.
func (s *receiver) receiveMetrics(w http.ResponseWriter, r *http.Request, kind string) (rejected int, reason string, err error) {
	data := new(metricspb.MetricsData)
	q, err := s.open(w, r, kind, data)
	if err != nil {
		return 0, "", err
	}
	defer q.close()
	var p points
	err = p.read(data)
	if err != nil {
		return 0, "", err
	}
	x := &export{client: q.Client, space: q.space, you: q.you, rejected: make(map[string]bool)}
	last, err := x.lastValues(r.Context(), &p)
	if err != nil {
		return 0, "", err
	}
	today := uint64(time.Now().UTC().Truncate(24 * time.Hour).UnixNano())
	var used usage
	sum := sha256.New()
	next := make(map[string]any)
	for i := range p.list {
		at := &p.list[i]
		delta := at.value
		if at.cumulative {
			if len(next) == maxSeries {
				p.reject("there are more than %d cumulative series; export deltas", maxSeries)
				continue
			}
			before, known := last[at.key()]
			switch {
			case known && (at.time <= before.time || at.value == before.value):
				continue // repeated, overtaken, or nothing new
			case known && at.value >= before.value:
				delta = at.value - before.value
			case !known && at.start < today:
				delta = 0 // of earlier days too
				used.uncounted++
			}
			next[at.key()] = []any{fmt.Sprint(at.time), at.value}
		}
		sum.Write(at.series[:])
		writeNumber(sum, at.time)
		writeNumber(sum, math.Float64bits(at.value))
		used.add(at, delta)
	}
	if used.input == 0 && used.output == 0 && used.cost == 0 && used.uncounted == 0 && len(next) == 0 {
		return p.invalid, p.reason, nil
	}
	payload := []any{"metadata", used.metadata()}
	if len(next) > 0 {
		payload = append(payload, "series", next)
	}
	err = x.send(r.Context(), &span{id: "metrics", trace: "metrics"}, protocol.Envelope{
		ID: x.id("metrics", string(sum.Sum(nil))), Kind: protocol.KindParticipantStatus, Payload: object(payload...),
	})
	if errors.Is(err, errRejected) {
		return len(p.list) + p.invalid, strings.TrimPrefix(x.reason, "span metrics: "), nil
	}
	return p.invalid, p.reason, err
}

// lastValues returns the last values of the cumulative series of an export.
func (x *export) lastValues(ctx context.Context, p *points) (map[string]series, error) {
	wanted := make(map[string]bool)
	for i := range p.list {
		if p.list[i].cumulative {
			wanted[p.list[i].key()] = true
		}
	}
	found := make(map[string]series)
	q := api.EnvelopeQuery{Descending: true, Limit: 100, From: []protocol.ParticipantID{x.you}, Kinds: []string{string(protocol.KindParticipantStatus)}}
	for read := 0; len(found) < len(wanted) && read < maxStatuses; {
		page, err := x.client.Envelopes(ctx, x.space, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Envelopes {
			for key, v := range page.Envelopes[i].ParsePayload().Get("series").Members {
				name := key.Text()
				if _, newer := found[name]; newer || !wanted[name] {
					continue
				}
				var last series
				n := 0
				for element := range v.Elements {
					if n == 0 {
						_, _ = fmt.Sscan(element.Text(), &last.time)
					} else {
						last.value, _ = element.Float()
					}
					n++
				}
				found[name] = last
			}
		}
		read += len(page.Envelopes)
		if !page.HasMore {
			break
		}
		q.Before, q.Log = page.Next, page.Log
	}
	return found, nil
}

// usage is what an export says was used.
type usage struct {
	input, cached, output, reasoning float64
	cost                             float64
	currency                         string
	uncounted                        int
	models                           []string
}

func (u *usage) add(x *point, n float64) {
	if x.model != "" && n > 0 && len(u.models) < maxModels && !slices.Contains(u.models, x.model) {
		u.models = append(u.models, x.model)
	}
	switch {
	case x.of.currency != "":
		u.cost += n
		u.currency = x.of.currency
		return
	case !x.known:
		u.uncounted++
	}
	switch x.part {
	case inputPart:
		u.input += n
	case cachedInput:
		u.input += n
		u.cached += n
	case cachedPart:
		u.cached += n
	case outputPart:
		u.output += n
	case moreOutput:
		u.output += n
		u.reasoning += n
	case reasoningPart:
		u.reasoning += n
	case ignored:
	}
}

// metadata returns the usage in the form of the end of a context.
func (u *usage) metadata() map[string]any {
	m := map[string]any{"source": "opentelemetry"}
	if u.input+u.output > 0 {
		tokens := map[string]int64{"input_tokens": int64(u.input), "output_tokens": int64(u.output)}
		if u.cached > 0 {
			tokens["cached_tokens"] = int64(u.cached)
		}
		if u.reasoning > 0 {
			tokens["reasoning_tokens"] = int64(u.reasoning)
		}
		m["usage"] = tokens
	}
	if u.cost > 0 {
		m["cost"], m["currency"] = u.cost, u.currency
	}
	if u.uncounted > 0 {
		m["uncounted"] = u.uncounted
	}
	if len(u.models) > 0 {
		m["model"] = strings.Join(u.models, ", ")
	}
	return m
}
