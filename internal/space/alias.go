package space

import (
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/contexts"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/internal/space/streams"
)

// Types of the packages below that are part of the API of a space.
type (
	// Config is the configuration of one space.
	Config = authority.Config
	// ParticipantConfig is the configuration of a participant.
	ParticipantConfig = authority.ParticipantConfig
	// Limiter holds the token buckets of one participant.
	Limiter = authority.Limiter
	// Reservation is a charge that can be returned.
	Reservation = authority.Reservation
	// Invitation is the effect of an invitation's token.
	Invitation = authority.Invitation

	// Entry is an envelope encoded for delivery.
	Entry = ring.Entry
	// Viewer is a participant that reads a space.
	Viewer = ring.Viewer
	// Visibility decides which envelopes a viewer may see at one moment.
	Visibility = ring.Visibility

	// Redaction is the result of masking a payload.
	Redaction = streams.Redaction
	// StreamRedactor masks the data of one stream across the borders of its chunks.
	StreamRedactor = streams.Redactor

	// Context is one node of the tree of contexts.
	Context = contexts.Context
)
