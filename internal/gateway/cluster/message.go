package cluster

import (
	"encoding/json"
	"strings"

	"github.com/meup-protocol/meup/internal/natsconn"
	"github.com/meup-protocol/meup/protocol"
)

// The operations, as they stand in subjects.
const (
	opLive     = "live"
	opBeat     = "beat"
	opRoster   = "roster"
	opSnapshot = "snapshot"
	opHello    = "hello"
	opBye      = "bye"
)

// RosterEntry is a participant who is connected to a gateway.
type RosterEntry struct {
	ID          protocol.ParticipantID `json:"id"`
	Connections int                    `json:"n"`
	Tools       bool                   `json:"tools,omitempty"` // it has declared that it serves tools
}

// beat is the content of a heartbeat. The version of a gateway's rosters grows
// by one with each change.
type beat struct {
	Version uint64 `json:"version"`
}

// rosterChange is one space's roster, and with it the version after the change.
type rosterChange struct {
	Version uint64        `json:"version"`
	Space   string        `json:"space"`
	Here    []RosterEntry `json:"here"`
}

// snapshotPart is a part of all rosters. Parts are sent in order, without
// another message of the gateway between them; a space may go on in the next.
type snapshotPart struct {
	Version uint64        `json:"version"`
	Part    int           `json:"part"`
	Last    bool          `json:"last"`
	Rosters []spaceRoster `json:"rosters"`
}

type spaceRoster struct {
	Space string        `json:"space"`
	Here  []RosterEntry `json:"here"`
}

// hello asks for a snapshot.
type hello struct {
	To string `json:"to,omitempty"` // the gateway that is asked; empty: all
}

// subjects builds and reads subjects.
type subjects struct{ root string }

func newSubjects(prefix string) subjects {
	return subjects{root: strings.ToLower(prefix) + ".gw."}
}

func (s subjects) all() string { return s.root + ">" }

func (s subjects) control(gateway, op string) string { return s.root + gateway + "." + op }

func (s subjects) live(gateway, space string) string {
	return s.control(gateway, opLive) + "." + natsconn.EncodeToken(space)
}

// parse takes a subject apart; the space is only there for live messages.
func (s subjects) parse(subject string) (gateway, op, space string, ok bool) {
	rest, ok := strings.CutPrefix(subject, s.root)
	if !ok {
		return "", "", "", false
	}
	parts := strings.Split(rest, ".")
	switch {
	case len(parts) == 2 && parts[0] != "" && parts[1] != opLive:
		return parts[0], parts[1], "", true
	case len(parts) == 3 && parts[0] != "" && parts[1] == opLive:
		space, ok := natsconn.DecodeToken(parts[2])
		return parts[0], opLive, space, ok
	}
	return "", "", "", false
}

// validRoster reports whether a stranger's roster can be used.
func validRoster(space string, here []RosterEntry) bool {
	if !protocol.ValidSpaceName(space) || len(here) > maxEntries {
		return false
	}
	for _, e := range here {
		if !protocol.ValidParticipantID(string(e.ID)) || e.Connections < 1 || e.Connections > maxConnections {
			return false
		}
	}
	return true
}

// partEntries is how many entries a part of a snapshot has, and a change at
// most: about 300 kB.
const partEntries = 2000

// cutSnapshot makes the parts of a snapshot; at least one.
func cutSnapshot(version uint64, rosters map[string][]RosterEntry) []snapshotPart {
	parts := []snapshotPart{{Version: version}}
	room := partEntries
	for _, space := range sortedKeys(rosters) {
		here := rosters[space]
		for len(here) > 0 {
			if room == 0 {
				parts = append(parts, snapshotPart{Version: version, Part: len(parts)})
				room = partEntries
			}
			n := min(room, len(here))
			last := &parts[len(parts)-1]
			last.Rosters = append(last.Rosters, spaceRoster{space, here[:n]})
			here, room = here[n:], room-n
		}
	}
	parts[len(parts)-1].Last = true
	return parts
}

// encode makes JSON of a message; those of this package always can be.
func encode(message any) []byte {
	data, _ := json.Marshal(message)
	return data
}
