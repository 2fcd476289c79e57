package metrics_test

import (
	"github.com/meup-protocol/meup/internal/gateway/metrics"
	"github.com/meup-protocol/meup/internal/space"
)

var _ space.Observer = (*metrics.Metrics)(nil)
