package gateway

import (
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/gateway/httpapi"
)

// SetFS puts the embedded log on another file system.
func (o *Options) SetFS(fs vfs.FS) { o.fs = fs }

// Wait waits until a Drain that has returned ErrNotClosed completes.
func (g *Gateway) Wait() { g.ending.Wait() }

// ConnLimits exports connLimits for tests.
var ConnLimits = connLimits

// Routes returns the routes of the configured adapters but hooks.
func Routes(cfg *config.Config) []httpapi.Route { return new(Gateway).routes(cfg, nil) }

// API exports the API for tests.
func (g *Gateway) API() adapter.API { return g.api }

// Registry exports the registry for tests.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }
