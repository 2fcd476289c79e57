package mcpserver

import (
	"context"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// memory gives the tools of memorytools the client of the request.
type memory struct{}

// Search searches as the caller.
func (memory) Search(ctx context.Context, space string, query api.SearchQuery) (*api.SearchResult, error) {
	return callerOf(ctx).client.Search(ctx, space, query)
}

// Envelope reads an envelope as the caller.
func (memory) Envelope(ctx context.Context, space string, id protocol.ID) ([]byte, error) {
	return callerOf(ctx).client.Envelope(ctx, space, id)
}

// TurnOf finds a turn as the caller.
func (memory) TurnOf(ctx context.Context, space string, envelope protocol.ID) (*api.TurnOf, error) {
	return callerOf(ctx).client.TurnOf(ctx, space, envelope)
}

// Transcript reads a conversation as the caller.
func (memory) Transcript(ctx context.Context, space string, thread protocol.ID) ([]byte, error) {
	return callerOf(ctx).client.Transcript(ctx, space, thread)
}

// JobTranscript reads a job as the caller.
func (memory) JobTranscript(ctx context.Context, space string, job protocol.ID) ([]byte, error) {
	return callerOf(ctx).client.JobTranscript(ctx, space, job)
}
