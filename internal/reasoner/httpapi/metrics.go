package httpapi

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts requests and callbacks of the HTTP service, for Prometheus.
// Telemetry counts the decisions. Label values come from fixed sets, so that
// requests for invented paths create no series.
type Metrics struct {
	requests  *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	callbacks *prometheus.CounterVec
}

// NewMetrics returns Metrics registered with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "meup_reasoner_requests_total", Help: "Responses by endpoint and HTTP status.",
		}, []string{"endpoint", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "meup_reasoner_request_duration_seconds", Help: "Time from the headers of a request to its response.",
			Buckets: prometheus.ExponentialBuckets(.0005, 4, 10),
		}, []string{"endpoint"}),
		callbacks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "meup_reasoner_callbacks_total", Help: "Callbacks by outcome.",
		}, []string{"outcome"}),
	}
	reg.MustRegister(m.requests, m.seconds, m.callbacks)
	return m
}

// Request counts a response; see Options.Observe.
func (m *Metrics) Request(endpoint string, status int, took time.Duration) {
	m.requests.WithLabelValues(endpoint, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(endpoint).Observe(took.Seconds())
}

// Callback counts a callback; see PosterOptions.
func (m *Metrics) Callback(delivered bool) {
	outcome := "delivered"
	if !delivered {
		outcome = "given_up"
	}
	m.callbacks.WithLabelValues(outcome).Inc()
}
