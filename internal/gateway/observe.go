package gateway

import (
	"time"

	"github.com/meup-protocol/meup/protocol"
)

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
