package gateway

import (
	"context"
	"net/http"
	"slices"

	"github.com/meup-protocol/meup/internal/gateway/a2a"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/internal/gateway/agui"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/gateway/hooks"
	"github.com/meup-protocol/meup/internal/gateway/httpapi"
	"github.com/meup-protocol/meup/internal/gateway/mcpserver"
	"github.com/meup-protocol/meup/internal/gateway/openaiapi"
	"github.com/meup-protocol/meup/internal/gateway/otlpreceiver"
	"github.com/meup-protocol/meup/protocol"
)

// routes returns the routes of the configured adapters, which admit their requests by an
// [adapter.Gate], and read and publish through api. The route of hooks is part of api: see
// [Gateway.hooks].
func (g *Gateway) routes(cfg *config.Config, api *httpapi.Server) (list []httpapi.Route) {
	serves := func(name string) bool { return slices.Contains(cfg.Adapters, name) }
	options := adapter.Options{API: api, Origins: cfg.Origins, Logger: g.log}
	options.MaySend = func(ctx context.Context, space string, id protocol.ParticipantID, kind protocol.Kind) bool {
		s, err := g.hub.SpaceFor(ctx, space, id)
		return err != nil || s.MaySend(id, kind) // the envelope has the same error
	}
	options.Secret = func(ctx context.Context) ([]byte, error) { return g.secret.Key(ctx, "ids of adapters") }
	if serves(config.AdapterMCP) {
		list = append(list,
			httpapi.Route{Pattern: "POST /mcp", Handler: mcpserver.New(mcpserver.Options{
				Options: options, Version: g.options.Version.Version, Issuers: g.issuers, Charge: g.charge, ListWait: g.options.ListWait,
			})},
			httpapi.Route{Pattern: "GET " + adapter.WellKnown, Handler: adapter.ResourceMetadata("", g.issuers)},
			httpapi.Route{Pattern: "GET " + adapter.WellKnown + "/mcp", Handler: adapter.ResourceMetadata("/mcp", g.issuers)})
	}
	if serves(config.AdapterAGUI) {
		list = append(list,
			httpapi.Route{Pattern: "POST /api/spaces/{space}/agui", Handler: agui.New(options)},
			httpapi.Route{Pattern: "GET /api/spaces/{space}/agui", Handler: agui.Capabilities()})
	}
	if serves(config.AdapterA2A) {
		handler := a2a.New(a2a.Options{Options: options, Version: g.options.Version.Version})
		for _, pattern := range a2a.Patterns {
			list = append(list, httpapi.Route{Pattern: pattern, Handler: handler})
		}
	}
	if serves(config.AdapterOpenAI) {
		models := openaiapi.New(options)
		for _, pattern := range openaiapi.Patterns() {
			list = append(list, httpapi.Route{Pattern: pattern, Handler: models})
		}
	}
	if serves(config.AdapterOTLP) {
		traces, metrics := otlpreceiver.New(options)
		list = append(list, httpapi.Route{Pattern: "POST /v1/traces", Handler: traces}, httpapi.Route{Pattern: "POST /v1/metrics", Handler: metrics})
	}
	return list
}

// charge charges a request to the limits of a participant. Error: *protocol.Error.
func (g *Gateway) charge(ctx context.Context, space string, who protocol.ParticipantID) error {
	sp, err := g.hub.Space(ctx, space)
	if err != nil {
		return protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot be read now; try again in a moment.")
	}
	return sp.ChargeRead(who)
}

// issuers returns the trusted issuers of the current configuration.
func (g *Gateway) issuers() (list []string) {
	for _, s := range g.cfg.Load().Spaces {
		if s.JWT != nil && !slices.Contains(list, s.JWT.Issuer) {
			list = append(list, s.JWT.Issuer)
		}
	}
	return list
}

// hooks returns what makes the handler of hooks; nil: they are not configured.
func (g *Gateway) hooks(cfg *config.Config) func(api http.Handler) httpapi.HookHandler {
	if !slices.Contains(cfg.Adapters, config.AdapterHooks) {
		return nil
	}
	return func(api http.Handler) httpapi.HookHandler {
		server := hooks.New(hooks.Options{API: api, Logger: g.log})
		return func(w http.ResponseWriter, r *http.Request, h httpapi.Hook) {
			server.Serve(w, r, hooks.Caller{ID: h.Participant, Space: h.Space, Release: h.Release, Refused: h.Refused}, h.Body)
		}
	}
}
