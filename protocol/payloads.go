package protocol

import (
	"encoding/json"
	"time"
)

// Welcome is the payload of system.welcome, the first frame of a connection.
// Section 4.
type Welcome struct {
	You          You           `json:"you"`
	Participants []Participant `json:"participants"`
	Space        SpaceInfo     `json:"space"`
	Protocol     string        `json:"protocol"`
	// ActiveStreams is there for MEW clients, which expect the field.
	ActiveStreams *[]any `json:"active_streams,omitempty"`
}

// You says who the receiver of a welcome is.
type You struct {
	ID           ParticipantID     `json:"id"`
	Capabilities []json.RawMessage `json:"capabilities"`
	Limits       Limits            `json:"limits"`
}

// Limits are those that hold for a participant; 0 stands for none.
type Limits struct {
	Rate           float64     `json:"rate,omitempty"`             // envelopes per second
	Burst          int         `json:"burst,omitempty"`            // envelopes
	BytesPerSecond int64       `json:"bytes_per_second,omitempty"` // bytes
	MessageBytes   int64       `json:"message_bytes,omitempty"`    // bytes
	Connections    int         `json:"connections,omitempty"`
	OpenContexts   int         `json:"open_contexts,omitempty"`
	ContextDepth   int         `json:"context_depth,omitempty"` // segments
	Kinds          []KindLimit `json:"kinds,omitempty"`
}

// KindLimit is a limit for the kinds that a pattern selects.
type KindLimit struct {
	Kind  string  `json:"kind"`
	Rate  float64 `json:"rate"`
	Burst int     `json:"burst"`
}

// SpaceInfo describes the space in a welcome: Seq is the head of the log at
// that moment, Log is the id of the log, which changes when the log was lost,
// replaced or cut back.
type SpaceInfo struct {
	Name string `json:"name"`
	Seq  Seq    `json:"seq"`
	Log  string `json:"log,omitempty"`
}

// Participant is somebody in a space.
type Participant struct {
	ID           ParticipantID     `json:"id"`
	Capabilities []json.RawMessage `json:"capabilities"`
	// Serves names what the participant has declared to serve when it connected.
	Serves []string `json:"serves,omitempty"`
}

// ServesTools is the value of Serves for participants that answer tools/list and
// tools/call.
const ServesTools = "tools"

// Presence is the payload of system.presence.
type Presence struct {
	Event       string      `json:"event"` // "join" or "leave"
	Participant Participant `json:"participant"`
}

// The events of a Presence.
const (
	PresenceJoin  = "join"
	PresenceLeave = "leave"
)

// Ack is the payload of system.ack.
type Ack struct {
	Seq Seq `json:"seq"`
}

// InviteAck is the payload of space.invite-ack, which the inviter alone gets.
type InviteAck struct {
	ParticipantID ParticipantID `json:"participant_id"`
	Token         string        `json:"token,omitempty"`      // absent for a guest, whose issuer's token is good again
	ExpiresAt     string        `json:"expires_at,omitempty"` // RFC 3339

	// For clients of MEW.
	Status        string `json:"status,omitempty"`         // "created"
	ConnectionURL string `json:"connection_url,omitempty"` // where the recipient connects
}

// maxPause bounds a pause; a time.Duration ends at about 292 years.
const maxPause = 100 * 365 * 24 * time.Hour

// PauseDuration returns how long the pause lasts that a participant.pause with
// this payload asks for; 0 means until it is resumed. It is at most 100 years.
func PauseDuration(payload Value) time.Duration {
	seconds, ok := payload.Get("timeout_seconds").Float()
	if !ok || seconds <= 0 {
		return 0
	}
	return max(1, time.Duration(min(seconds, maxPause.Seconds())*float64(time.Second)))
}
