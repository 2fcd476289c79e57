package gateway_test

import (
	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/space"
)

var _ space.Observer = (*gateway.Metrics)(nil)
