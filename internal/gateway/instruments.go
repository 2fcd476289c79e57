package gateway

import "github.com/prometheus/client_golang/prometheus"

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
