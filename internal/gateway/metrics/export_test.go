package metrics

import "github.com/prometheus/client_golang/prometheus"

// Registry lets tests look at what is registered.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }
