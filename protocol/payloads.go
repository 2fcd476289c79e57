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
	// ActiveStreams exists because MEW clients expect the field.
	ActiveStreams *[]any `json:"active_streams,omitempty"`
	// Clock is the gateway's time minus the local one when a client received the
	// welcome.
	Clock time.Duration `json:"-"`
}

// Now returns the time by the gateway's clock, which decides whether something has
// expired.
func (w Welcome) Now() time.Time { return time.Now().Add(w.Clock) }

// ExpiresAt returns the time after a duration by the gateway's clock, in RFC 3339.
func (w Welcome) ExpiresAt(after time.Duration) string {
	return w.Now().Add(after).UTC().Format(time.RFC3339Nano)
}

// You describes the receiver of a welcome.
type You struct {
	ID           ParticipantID     `json:"id"`
	Capabilities []json.RawMessage `json:"capabilities"`
	Limits       Limits            `json:"limits"`
	// Connections is the number of the participant's connections, with this one, at all
	// gateways; 0: not known.
	Connections int `json:"connections,omitempty"`
}

// Limits are the limits of a participant; 0: none.
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

// SpaceInfo describes the space in a welcome: Seq is the current head of the
// log, Log is the id of the log, which changes when the log was lost, replaced
// or cut back.
type SpaceInfo struct {
	Name string `json:"name"`
	Seq  Seq    `json:"seq"`
	Log  string `json:"log,omitempty"`
}

// Participant describes a participant of a space.
type Participant struct {
	ID           ParticipantID     `json:"id"`
	Capabilities []json.RawMessage `json:"capabilities"`
	// Serves lists the services that the participant declared when it
	// connected.
	Serves []string `json:"serves,omitempty"`
	// Description says what the participant does, from the gateway's configuration.
	Description string `json:"description,omitempty"`
}

// ServesTools is the value of Serves for participants that handle tools/list
// and tools/call.
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
	// Decides means, of an mcp.opinion, that its sender is a reviewer that decides on the
	// proposal. It is absent for a retry.
	Decides bool `json:"decides,omitempty"`
}

// InviteAck is the payload of space.invite-ack, which only the inviter
// receives.
type InviteAck struct {
	ParticipantID ParticipantID `json:"participant_id"`
	Token         string        `json:"token,omitempty"`      // absent for a guest, whose issuer's token is valid again
	ExpiresAt     string        `json:"expires_at,omitempty"` // RFC 3339

	// For MEW clients.
	Status        string `json:"status,omitempty"`         // "created"
	ConnectionURL string `json:"connection_url,omitempty"` // connection URL of the recipient
}

// ParticipantIn returns the participant id in a field of a payload; "" if there is
// none.
func ParticipantIn(payload Value, field string) ParticipantID {
	return ParticipantID(payload.Get(field).Text())
}

// MetaWorkingDirectory is the key of _meta in the params of a call under which a participant
// that makes the call itself names the folder that relative paths in it are relative to.
const MetaWorkingDirectory = "meup/cwd"

// MetaRealPaths is the key of _meta beside MetaWorkingDirectory that has an object: by the text
// of a path in the arguments, the path that it leads to by symbolic links.
const MetaRealPaths = "meup/real_paths"

// PathArguments are the names of the arguments in which tools take the path of a file or a folder.
var PathArguments = []string{"file_path", "filePath", "path", "notebook_path", "filename", "target_file", "absolute_path", "directory"}

// maxPause bounds a pause, because a time.Duration is at most about 292 years.
const maxPause = 100 * 365 * 24 * time.Hour

// PauseDuration returns the duration requested by the payload of a
// participant.pause; 0: until it is resumed. It is at most 100 years.
func PauseDuration(payload Value) time.Duration {
	seconds, ok := payload.Get("timeout_seconds").Float()
	if !ok || seconds <= 0 {
		return 0
	}
	return max(1, time.Duration(min(seconds, maxPause.Seconds())*float64(time.Second)))
}
