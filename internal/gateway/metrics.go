package gateway

import "net/http"

// Metrics returns the handler of /metrics, for a listener of its own.
func (g *Gateway) Metrics() http.Handler { return g.metrics.Handler() }
