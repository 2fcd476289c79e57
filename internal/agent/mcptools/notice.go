package mcptools

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	toolsChanged     = "notifications/tools/list_changed"
	promptsChanged   = "notifications/prompts/list_changed"
	resourcesChanged = "notifications/resources/list_changed"
)

// clientOptions returns the handlers for the server's notifications. The client
// offers no features to servers: neither sampling nor elicitation nor roots.
func (s *server) clientOptions() *mcp.ClientOptions {
	opts := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		Logger:       s.log,
		ToolListChangedHandler: func(_ context.Context, r *mcp.ToolListChangedRequest) {
			select {
			case s.changed <- struct{}{}:
			default:
			}
			s.notice(toolsChanged, r.Params)
		},
	}
	if s.opts.OnNotice == nil {
		return opts
	}
	opts.PromptListChangedHandler = func(_ context.Context, r *mcp.PromptListChangedRequest) {
		s.notice(promptsChanged, r.Params)
	}
	opts.ResourceListChangedHandler = func(_ context.Context, r *mcp.ResourceListChangedRequest) {
		s.notice(resourcesChanged, r.Params)
	}
	opts.ResourceUpdatedHandler = func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
		s.notice("notifications/resources/updated", r.Params)
	}
	// Deprecated from revision 2026-07-28 on, but remains in servers for years.
	opts.LoggingMessageHandler = func(_ context.Context, r *mcp.LoggingMessageRequest) { //nolint:staticcheck // see above
		s.notice("notifications/message", r.Params)
	}
	opts.ProgressNotificationHandler = func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		s.notice("notifications/progress", r.Params)
	}
	return opts
}

func (s *server) notice(method string, params mcp.Params) {
	if s.opts.OnNotice != nil {
		s.opts.OnNotice(method, params)
	}
}
