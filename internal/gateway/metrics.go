package gateway

import (
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/meup-protocol/meup/protocol"
)

// MetricsOptions configures Metrics. All fields are optional.
type MetricsOptions struct {
	// Version and Commit are the build information of the binary.
	Version, Commit string
	// Logger logs failures of the collection; nil: no log.
	Logger *slog.Logger
}

// Metrics counts the events of one gateway, for Prometheus, in a registry of its
// own. All methods may be called concurrently.
//
// It has one method per event, with the signature of the hook in the package that
// reports the event, such as a space's Observer or a journal's OnCommit, so that
// these packages do not depend on Prometheus. The methods are called for every
// envelope and every write; they look up no labels, since [NewMetrics] creates all
// series, and take no lock. The exception is Found: the set of rules changes with
// a reload, and findings are rare.
//
// Labels come from fixed sets: kinds outside the protocol and unknown codes are
// counted as "other", and the operator defines the safety rules. Therefore a
// client cannot create series by inventing kinds.
//
// No metric contains names of participants, spaces, ids, tokens or text.
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

	m.admitted = m.counters("meup_envelopes_admitted_total",
		"Envelopes that were admitted, retries of admitted ones among them, by kind.", "kind", append(slices.Clone(kinds), other)...)
	m.refused = m.counters("meup_refused_total",
		"Envelopes, connections and requests that were refused, by the code of the refusal.", "code", append(slices.Clone(codes), other)...)
	m.findings = registered(m, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "meup_safety_findings_total",
		Help: "What the safety pipeline found in payloads before these became durable, by stage and rule.",
	}, []string{"stage", "rule"}))

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

	m.entries = m.counter("meup_journal_entries_total", "Entries that this gateway made durable in the log.")
	m.bytes = m.counter("meup_journal_bytes_total", "Bytes of the entries that this gateway made durable, as encoded.")
	m.commit = m.histogram("meup_journal_commit_seconds",
		"Time that a batch of entries took to become durable; its count is that of the batches.", commitBuckets)
	m.follows = m.counter("meup_journal_consumers_total",
		"Consumers that this gateway requested from NATS: one for each of the 64 streams at a start, and another one after each interruption of a stream.")

	m.loginFailures = m.counter("meup_login_failures_total", "Tokens that were presented and are nobody's, or have expired.")
	m.violationCloses = m.counter("meup_violation_closes_total", "Connections closed with 1008 after too many refused envelopes.")
	m.gauge("meup_build_info", "Always 1; the labels say what is running.", prometheus.Labels{
		"version": o.Version, "commit": o.Commit, "go": runtime.Version(),
	}).Set(1)
	return m
}

// Metrics returns the handler of /metrics, for a listener of its own.
func (g *Gateway) Metrics() http.Handler { return g.metrics.Handler() }

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

// Admitted counts an envelope that was admitted.
func (m *Metrics) Admitted(kind protocol.Kind) { add(m.admitted, string(kind)) }

// Refused counts a rejected envelope, connection or request.
func (m *Metrics) Refused(code protocol.Code) { add(m.refused, string(code)) }

// Delivered counts the entries of one write to a connection; lag is the age of
// the latest entry.
func (m *Metrics) Delivered(entries int, lag time.Duration) {
	m.delivered.Add(float64(entries))
	m.lag.Observe(max(lag, 0).Seconds()) // the clocks of two gateways differ
}

// FromRing counts entries that a connection read from memory.
func (m *Metrics) FromRing(entries int) { m.fromRing.Add(float64(entries)) }

// FromJournal counts entries that a connection read from the log.
func (m *Metrics) FromJournal(entries int) { m.fromJournal.Add(float64(entries)) }

// LiveDropped counts live envelopes that a connection missed.
func (m *Metrics) LiveDropped(entries int) { m.liveDropped.Add(float64(entries)) }

// Connections adds delta to the number of connections.
func (m *Metrics) Connections(delta int) { m.connections.Add(float64(delta)) }

// Committed counts a batch that became durable: its entries, its size in bytes,
// and its duration.
func (m *Metrics) Committed(entries, bytes int, took time.Duration) {
	m.entries.Add(float64(entries))
	m.bytes.Add(float64(bytes))
	m.commit.Observe(took.Seconds())
}

// Followed counts a consumer of a stream of the log.
func (m *Metrics) Followed() { m.follows.Inc() }

// Found counts a finding of a rule, in a stage of the safety pipeline. The rule
// must be one of the pipeline's own.
func (m *Metrics) Found(stage, rule string) { m.findings.WithLabelValues(stage, rule).Inc() }

// LoginFailed counts a rejected token.
func (m *Metrics) LoginFailed() { m.loginFailures.Inc() }

// ViolationClose counts a connection that was closed for too many rejected
// envelopes.
func (m *Metrics) ViolationClose() { m.violationCloses.Inc() }

const connectionsHelp = "Connections by state: open ones are WebSockets and event streams in a space, joining ones have not said yet who they are."

// Sources provides the gauges. They are called at every scrape, concurrently,
// and must not block.
type Sources struct {
	// Ready returns nil while the gateway can do its work.
	Ready func() error
	// Spaces returns how many spaces are open.
	Spaces func() int
	// Joining returns how many connections have not authenticated yet.
	Joining func() int
	// CertificateExpiry returns the end of the TLS certificate in use; nil: no TLS.
	CertificateExpiry func() time.Time
}

// Sample registers the gauges. It is called once, when the gateway is
// assembled; all sources other than CertificateExpiry must be set.
func (m *Metrics) Sample(s Sources) {
	m.gaugeFunc("meup_ready", "1 while the gateway can do its work, otherwise 0.", nil, func() float64 {
		if s.Ready() != nil {
			return 0
		}
		return 1
	})
	m.gaugeFunc("meup_spaces_open", "Spaces that this gateway has opened.", nil, func() float64 {
		return float64(s.Spaces())
	})
	m.gaugeFunc("meup_connections", connectionsHelp, prometheus.Labels{"state": "joining"}, func() float64 {
		return float64(s.Joining())
	})
	if s.CertificateExpiry != nil {
		m.gaugeFunc("meup_tls_certificate_expiry_timestamp_seconds",
			"End of the TLS certificate in use, in seconds since 1970; absent without TLS.", nil,
			func() float64 { return float64(s.CertificateExpiry().Unix()) })
	}
}

// Buckets, in seconds. A delivery to an idle receiver takes much less than a
// millisecond; a synced commit about one.
var (
	lagBuckets    = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60}
	commitBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
)

// other is the label of values that are not in a fixed set.
const other = "other"

// registered registers c, which must be the first of its name.
func registered[C prometheus.Collector](m *Metrics, c C) C {
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	return registered(m, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help}))
}

// counters returns a counter for each value of one label.
func (m *Metrics) counters(name, help, label string, values ...string) map[string]prometheus.Counter {
	vec := registered(m, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label}))
	made := make(map[string]prometheus.Counter, len(values))
	for _, v := range values {
		made[v] = vec.WithLabelValues(v)
	}
	return made
}

func (m *Metrics) gauge(name, help string, labels prometheus.Labels) prometheus.Gauge {
	return registered(m, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}))
}

func (m *Metrics) gaugeFunc(name, help string, labels prometheus.Labels, value func() float64) {
	registered(m, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value))
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	return registered(m, prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}))
}

// add increments the counter of a label value, or of other.
func add(counters map[string]prometheus.Counter, value string) {
	c, ok := counters[value]
	if !ok {
		c = counters[other]
	}
	c.Inc()
}

// kinds are the kinds of the protocol; a test checks that they are complete.
var kinds = text(
	protocol.KindChat, protocol.KindChatAcknowledge, protocol.KindChatCancel, protocol.KindFeedback,
	protocol.KindMCPRequest, protocol.KindMCPResponse, protocol.KindMCPProposal,
	protocol.KindMCPWithdraw, protocol.KindMCPReject, protocol.KindMCPOpinion,
	protocol.KindReviewerPromote, protocol.KindReviewerDemote, protocol.KindPolicyDismiss, protocol.KindBudgetExtend, protocol.KindClaim, protocol.KindRelease,
	protocol.KindReasoningStart, protocol.KindReasoningThought, protocol.KindReasoningObservation,
	protocol.KindReasoningHypothesis, protocol.KindReasoningQuestion,
	protocol.KindReasoningConclusion, protocol.KindReasoningCancel,
	protocol.KindCapabilityGrant, protocol.KindCapabilityRevoke, protocol.KindCapabilityGrantAck,
	protocol.KindSpaceInvite, protocol.KindSpaceInviteAck, protocol.KindSpaceKick,
	protocol.KindAdminSpacePut, protocol.KindAdminSpaceRemove, protocol.KindAdminParticipantPut,
	protocol.KindAdminParticipantRemove, protocol.KindAdminTokenIssue, protocol.KindAdminTokenRevoke,
	protocol.KindParticipantPause, protocol.KindParticipantResume, protocol.KindParticipantStatus,
	protocol.KindParticipantRequestStatus, protocol.KindParticipantForget, protocol.KindParticipantCompact,
	protocol.KindParticipantCompactDone, protocol.KindParticipantClear, protocol.KindParticipantRestart,
	protocol.KindParticipantShutdown,
	protocol.KindStreamRequest, protocol.KindStreamOpen, protocol.KindStreamData, protocol.KindStreamClose,
	protocol.KindStreamGrantWrite, protocol.KindStreamRevokeWrite, protocol.KindStreamTransfer,
	protocol.KindStreamWriteGranted, protocol.KindStreamWriteRevoked, protocol.KindStreamTransferred,
	protocol.KindSystemWelcome, protocol.KindSystemPresence, protocol.KindSystemAck, protocol.KindSystemError,
	protocol.KindSystemSubscribe, protocol.KindSystemSubscribed, protocol.KindSystemHeartbeat, protocol.KindSystemJoin,
)

// codes are the codes of sections 4 and 5; a test checks that they are
// complete.
var codes = text(
	protocol.CodeInvalidJSON, protocol.CodeInvalidEnvelope, protocol.CodeInvalidPayload,
	protocol.CodeMessageTooLarge, protocol.CodeUnsupportedProtocol, protocol.CodeInvalidContext,
	protocol.CodeIdentityMismatch, protocol.CodeReservedKind, protocol.CodeUnknownParticipant,
	protocol.CodeDuplicateID, protocol.CodeCapabilityViolation, protocol.CodeRateLimited,
	protocol.CodeCannotDelegate, protocol.CodeNotProposer, protocol.CodePaused,
	protocol.CodeOutcomeUnknown, protocol.CodeProposalMismatch, protocol.CodeProposalSettled, protocol.CodeClaimed,
	protocol.CodeCursorExpired, protocol.CodeUnavailable,
	protocol.CodeUnauthorizedStreamWrite, protocol.CodeStreamNotFound, protocol.CodeTargetNotFound,
	protocol.CodeParticipantNotFound, protocol.CodeInvalidOperation,
	protocol.CodeBadRequest, protocol.CodeUnauthorized, protocol.CodeForbidden, protocol.CodeKicked,
	protocol.CodeNotFound, protocol.CodeNotAllowed, protocol.CodeTooMany, protocol.CodeShuttingDown, protocol.CodeInternal,
)

func text[S ~string](list ...S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}
