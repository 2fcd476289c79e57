package telemetry

import (
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// metrics holds the metrics of one program, in their own registry. Metrics of
// the GenAI conventions have the conventions' names, in Prometheus' spelling.
type metrics struct {
	registry *prometheus.Registry

	tokens     *prometheus.HistogramVec // gen_ai_client_token_usage
	operations *prometheus.HistogramVec // gen_ai_client_operation_duration_seconds
	agents     *prometheus.HistogramVec
	plans      *prometheus.HistogramVec
	tools      *prometheus.HistogramVec

	decisions      *prometheus.CounterVec
	decisionTime   *prometheus.HistogramVec
	decisionTokens *prometheus.CounterVec
	chosen         *prometheus.CounterVec
	contextTokens  *prometheus.HistogramVec
	contextResults *prometheus.CounterVec
	toolsLeftOut   *prometheus.CounterVec

	spans *prometheus.CounterVec

	// Labels with external values are masked and bounded in number.
	label struct{ agent, provider, model, tool, source, outcome *labels }
}

// Buckets of the conventions.
var (
	tokenBuckets    = prometheus.ExponentialBuckets(1, 4, 14)
	durationBuckets = prometheus.ExponentialBuckets(.01, 2, 14)
)

func newMetrics(o Options, mask func(string) string) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	for _, l := range []**labels{&m.label.agent, &m.label.provider, &m.label.model, &m.label.tool, &m.label.source, &m.label.outcome} {
		*l = &labels{mask: mask, seen: make(map[string]struct{})}
	}

	// Of the conventions.
	m.tokens = m.histogram("gen_ai_client_token_usage", "Tokens of an answer.", tokenBuckets,
		"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "gen_ai_token_type")
	m.operations = m.histogram("gen_ai_client_operation_duration_seconds", "Time that a model took to answer, or to fail.", durationBuckets,
		"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "error_type")
	m.agents = m.histogram("gen_ai_invoke_agent_duration_seconds", "Time that an agent took for an intent.", durationBuckets,
		"gen_ai_agent_name", "error_type")
	m.tools = m.histogram("gen_ai_execute_tool_duration_seconds", "Time that a tool took.", durationBuckets,
		"gen_ai_tool_name", "error_type")

	m.plans = m.histogram("meup_plan_duration_seconds", "Time that it took to decide what to do.", durationBuckets,
		"gen_ai_agent_name", "error_type")
	m.decisions = m.counter("meup_decisions_total", "Decisions, those that failed among them.",
		"source", "provider", "model", "outcome", "error_type")
	m.decisionTime = m.histogram("meup_decision_duration_seconds", "Time that decisions took.", durationBuckets, "source", "outcome")
	m.decisionTokens = m.counter("meup_decision_tokens_total", "Tokens that decisions took; those that were cached or thought are part of the others.",
		"provider", "model", "type")
	m.chosen = m.counter("meup_decision_tools_total", "Tools that decisions chose.", "tool")
	m.contextTokens = m.histogram("meup_context_tokens", "Estimated tokens of the input of models that decided.", tokenBuckets, "goal")
	m.contextResults = m.counter("meup_context_results_total", "Results that models were not shown in full.", "form")
	m.toolsLeftOut = m.counter("meup_context_tools_left_out_total", "Tools that were not offered to models, for lack of room; each decision counts them.")
	m.spans = m.counter("meup_spans_total", "Spans by what became of them; those that found the queue full are not counted.", "state")
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "meup_build_info", Help: "Always 1; the labels say what is running.",
		ConstLabels: prometheus.Labels{"service": mask(o.Service), "version": mask(o.Version), "go": runtime.Version()},
	}, func() float64 { return 1 }))
	return m
}

func (m *metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

// maxScrapes bounds the concurrent scrapes; more are answered with 503.
const maxScrapes = 4

// modelCalled counts an answer of a model, or its failure. model is a label.
func (m *metrics) modelCalled(provider, model string, u llm.Usage, took time.Duration, err error) {
	provider = m.label.provider.value(provider)
	m.operations.WithLabelValues(string(Chat), provider, model, ErrorClass(err)).Observe(took.Seconds())
	if u.Input > 0 {
		m.tokens.WithLabelValues(string(Chat), provider, model, "input").Observe(float64(u.Input))
	}
	if u.Output > 0 {
		m.tokens.WithLabelValues(string(Chat), provider, model, "output").Observe(float64(u.Output))
	}
}

// ended counts an operation. Requests to models are counted by modelCalled.
func (m *metrics) ended(op Operation, name string, took time.Duration, err error) {
	switch op {
	case InvokeAgent:
		m.agents.WithLabelValues(m.label.agent.value(name), ErrorClass(err)).Observe(took.Seconds())
	case Plan:
		m.plans.WithLabelValues(m.label.agent.value(name), ErrorClass(err)).Observe(took.Seconds())
	case ExecuteTool:
		m.tools.WithLabelValues(m.label.tool.value(name), ErrorClass(err)).Observe(took.Seconds())
	case Chat:
	}
}

func (m *metrics) decided(d Decision) {
	source, outcome := m.label.source.value(d.Source), m.label.outcome.value(d.Outcome)
	provider, model := m.label.provider.value(d.Provider), m.label.model.value(d.Model)
	m.decisions.WithLabelValues(source, provider, model, outcome, ErrorClass(d.Err)).Inc()
	m.decisionTime.WithLabelValues(source, outcome).Observe(d.Duration.Seconds())
	for kind, count := range map[string]int{
		"input": d.Usage.Input, "output": d.Usage.Output, "cached": d.Usage.Cached, "reasoning": d.Usage.Reasoning,
	} {
		if count > 0 {
			m.decisionTokens.WithLabelValues(provider, model, kind).Add(float64(count))
		}
	}
	if c := d.Context; c != nil {
		m.contextTokens.WithLabelValues(string(c.Goal)).Observe(float64(c.Tokens))
		m.contextResults.WithLabelValues("preview").Add(float64(c.Previews))
		m.contextResults.WithLabelValues("summary").Add(float64(c.Summaries))
		m.contextResults.WithLabelValues("dropped").Add(float64(c.Dropped))
		m.toolsLeftOut.WithLabelValues().Add(float64(c.Tools))
	}
	for _, tool := range d.Tools {
		m.chosen.WithLabelValues(m.label.tool.value(tool)).Inc()
	}
}

const (
	// maxLabels bounds the values of one label: tool owners choose the names of
	// tools, and each value creates a permanent series.
	maxLabels = 64
	// maxLabel bounds one value, in bytes.
	maxLabel = 128
	// otherLabel replaces all further values.
	otherLabel = "_OTHER"
)

// labels holds the values of one label.
type labels struct {
	mask func(string) string

	mu   sync.Mutex
	seen map[string]struct{}
}

// value returns the label value for text and adds it if there is room.
func (l *labels) value(text string) string { return l.lookup(text, maxLabels) }

// known returns the label value for text if it exists, or else otherLabel.
func (l *labels) known(text string) string { return l.lookup(text, 0) }

// lookup adds a new value if there are fewer than limit.
func (l *labels) lookup(text string, limit int) string {
	if text == "" {
		return ""
	}
	label := textutil.Truncate(l.mask(text), maxLabel)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.seen[label]; known {
		return label
	}
	if len(l.seen) >= limit {
		return otherLabel
	}
	l.seen[label] = struct{}{}
	return label
}
