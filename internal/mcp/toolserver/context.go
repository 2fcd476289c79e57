package toolserver

import (
	"context"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// FromContext is a Memory that a request chooses: a server can then serve several
// participants.
type FromContext func(context.Context) Memory

// Search searches in the memory of the request.
func (of FromContext) Search(ctx context.Context, space string, query api.SearchQuery) (*api.SearchResult, error) {
	return of(ctx).Search(ctx, space, query)
}

// Envelope reads an envelope in the memory of the request.
func (of FromContext) Envelope(ctx context.Context, space string, id protocol.ID) ([]byte, error) {
	return of(ctx).Envelope(ctx, space, id)
}

// TurnOf finds a turn in the memory of the request.
func (of FromContext) TurnOf(ctx context.Context, space string, envelope protocol.ID) (*api.TurnOf, error) {
	return of(ctx).TurnOf(ctx, space, envelope)
}

// Transcript reads a conversation in the memory of the request.
func (of FromContext) Transcript(ctx context.Context, space string, thread protocol.ID) ([]byte, error) {
	return of(ctx).Transcript(ctx, space, thread)
}

// JobTranscript reads a job in the memory of the request.
func (of FromContext) JobTranscript(ctx context.Context, space string, job protocol.ID) ([]byte, error) {
	return of(ctx).JobTranscript(ctx, space, job)
}
