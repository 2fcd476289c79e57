// Package metrics counts the events of a gateway, for Prometheus.
//
// [Metrics] has one method per event, with the signature of the hook in the
// package that reports the event, such as a space's Observer or a journal's
// OnCommit, so that these packages do not depend on Prometheus. The methods are
// called for every envelope and every write; they look up no labels, since
// [New] creates all series, and take no lock. The exception is Found: the set
// of rules changes with a reload, and findings are rare.
//
// Labels come from fixed sets: kinds outside the protocol and unknown codes are
// counted as "other", and the operator defines the safety rules. Therefore a
// client cannot create series by inventing kinds.
//
// No metric contains names of participants, spaces, ids, tokens or text.
package gateway

import (
	"log/slog"
	"net/http"
	"runtime"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// MetricsOptions configures Metrics. All fields are optional.
type MetricsOptions struct {
	// Version and Commit are the build information of the binary.
	Version, Commit string
	// Logger logs failures of the collection; nil: no log.
	Logger *slog.Logger
}

// Metrics has the counters of one gateway, in a registry of its own. All
// methods may be called concurrently.
type Metrics struct {
	registry *prometheus.Registry
	logger   *slog.Logger

	admitted map[string]prometheus.Counter // by kind
	refused  map[string]prometheus.Counter // by code
	findings *prometheus.CounterVec        // by stage and rule of the safety pipeline

	delivered   prometheus.Counter
	lag         prometheus.Histogram
	fromRing    prometheus.Counter
	fromJournal prometheus.Counter
	liveDropped prometheus.Counter
	connections prometheus.Gauge

	entries prometheus.Counter
	bytes   prometheus.Counter
	commit  prometheus.Histogram
	follows prometheus.Counter

	loginFailures   prometheus.Counter
	violationCloses prometheus.Counter
}

// NewMetrics returns the counters of a gateway, all of them at zero.
func NewMetrics(o MetricsOptions) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), logger: o.Logger}
	if m.logger == nil {
		m.logger = slog.New(slog.DiscardHandler)
	}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.admission()
	m.delivery()
	m.journal()
	m.httpCollectors()
	m.build(o)
	return m
}

// Handler serves the metrics in the format that the scraper requests.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(m.logger.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	})
}

// maxScrapes bounds concurrent scrapes; further ones are answered with 503.
const maxScrapes = 4

func (m *Metrics) admission() {
	m.admitted = m.counters("meup_envelopes_admitted_total",
		"Envelopes that were admitted, retries of admitted ones among them, by kind.", "kind", append(slices.Clone(kinds), other)...)
	m.refused = m.counters("meup_refused_total",
		"Envelopes, connections and requests that were refused, by the code of the refusal.", "code", append(slices.Clone(codes), other)...)
	m.findings = registered(m, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "meup_safety_findings_total",
		Help: "What the safety pipeline found in payloads before these became durable, by stage and rule.",
	}, []string{"stage", "rule"}))
}

func (m *Metrics) delivery() {
	m.delivered = m.counter("meup_envelopes_delivered_total", "Envelopes written to connections.")
	m.lag = m.histogram("meup_delivery_lag_seconds",
		"Age of the youngest envelope of a write when the write was done. A connection that replays the log counts with the age of what it reads.",
		lagBuckets)
	read := m.counters("meup_entries_read_total",
		"Entries that connections read on their way to the head, by where from: ring is memory, journal means that the connection had fallen behind or replays.",
		"source", "ring", "journal")
	m.fromRing, m.fromJournal = read["ring"], read["journal"]
	m.liveDropped = m.counter("meup_live_dropped_total",
		"Envelopes of live kinds (stream.data, presence) that a connection missed because it had fallen behind.")
	m.connections = m.gauge("meup_connections", connectionsHelp, prometheus.Labels{"state": "open"})
}

func (m *Metrics) journal() {
	m.entries = m.counter("meup_journal_entries_total", "Entries that this gateway made durable in the log.")
	m.bytes = m.counter("meup_journal_bytes_total", "Bytes of the entries that this gateway made durable, as encoded.")
	m.commit = m.histogram("meup_journal_commit_seconds",
		"Time that a batch of entries took to become durable; its count is that of the batches.", commitBuckets)
	m.follows = m.counter("meup_journal_consumers_total",
		"Consumers that this gateway requested from NATS: one for each of the 64 streams at a start, and another one after each interruption of a stream.")
}

func (m *Metrics) httpCollectors() {
	m.loginFailures = m.counter("meup_login_failures_total", "Tokens that were presented and are nobody's, or have expired.")
	m.violationCloses = m.counter("meup_violation_closes_total", "Connections closed with 1008 after too many refused envelopes.")
}

func (m *Metrics) build(o MetricsOptions) {
	m.gauge("meup_build_info", "Always 1; the labels say what is running.", prometheus.Labels{
		"version": o.Version, "commit": o.Commit, "go": runtime.Version(),
	}).Set(1)
}
