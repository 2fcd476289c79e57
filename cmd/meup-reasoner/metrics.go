package main

import (
	"bytes"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// concatMetrics serves the metrics of telemetry and of a registry as one text. The two
// have no series in common, so their concatenation is a valid exposition.
func concatMetrics(telemetry http.Handler, reg *prometheus.Registry) http.Handler {
	own := promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		plain := r.Clone(r.Context())
		plain.Header = http.Header{"Accept": {"text/plain;version=0.0.4"}} // not compressed, and without an end marker
		body := new(bytes.Buffer)
		for _, h := range []http.Handler{telemetry, own} {
			part := &bufferedResponse{header: make(http.Header), body: body, status: http.StatusOK}
			if h.ServeHTTP(part, plain); part.status != http.StatusOK {
				http.Error(w, "the metrics cannot be collected at the moment", part.status)
				return
			}
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(body.Bytes()) // the scraper is gone
	})
}

// bufferedResponse keeps a response in memory.
type bufferedResponse struct {
	header http.Header
	body   *bytes.Buffer
	status int
}

// Header returns the headers.
func (p *bufferedResponse) Header() http.Header { return p.header }

// WriteHeader stores the status.
func (p *bufferedResponse) WriteHeader(status int) { p.status = status }

// Write appends to the body.
func (p *bufferedResponse) Write(b []byte) (int, error) { return p.body.Write(b) }
