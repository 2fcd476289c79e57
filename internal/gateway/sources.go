package gateway

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

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
