package gateway

import "github.com/prometheus/client_golang/prometheus"

// Registry exports the registry for tests.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }
