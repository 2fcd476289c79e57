package cluster

import (
	"strings"

	"github.com/meup-protocol/meup/internal/kit/natsconn"
	"github.com/meup-protocol/meup/protocol"
)

// The operations, as they appear in subjects.
const (
	opLive      = "live"
	opHeartbeat = "beat"
	opRoster    = "roster"
	opSnapshot  = "snapshot"
	opHello     = "hello"
	opBye       = "bye"
	opSpent     = "spent"
)

// RosterEntry is a participant that is connected to a gateway.
type RosterEntry struct {
	ID          protocol.ParticipantID `json:"id"`
	Connections int                    `json:"n"`
	Tools       bool                   `json:"tools,omitempty"` // it has declared that it serves tools
}

// heartbeat is the payload of a heartbeat. The version of a gateway's rosters
// increases by one with each change.
type heartbeat struct {
	Version uint64 `json:"version"`
}

// rosterChange is one space's roster, with the version after the change.
type rosterChange struct {
	Version uint64        `json:"version"`
	Space   string        `json:"space"`
	Here    []RosterEntry `json:"here"`
}

// snapshotPart is a part of all rosters. Parts are sent in order, without
// another message of the gateway between them; a roster may continue in the
// next part.
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

// Spending is the tokens that one participant spent from its rate limits at one gateway
// since the gateway's last message.
type Spending struct {
	Space       string                 `json:"space"` // or the pattern of spaces that share the limits
	Invited     bool                   `json:"invited,omitempty"`
	Participant protocol.ParticipantID `json:"id"`
	Spent       map[string]int         `json:"spent"` // tokens by limit
}

// hello requests a snapshot.
type hello struct {
	To string `json:"to,omitempty"` // the gateway that should answer; empty: all
}

// subjects builds and parses subjects.
type subjects struct{ root string }

func newSubjects(prefix string) subjects {
	return subjects{root: strings.ToLower(prefix) + ".gw."}
}

func (s subjects) all() string { return s.root + ">" }

func (s subjects) control(gateway, op string) string { return s.root + gateway + "." + op }

func (s subjects) live(gateway, space string) string {
	return s.control(gateway, opLive) + "." + natsconn.EncodeToken(space)
}

// parse splits a subject; the space is set only for live messages.
func (s subjects) parse(subject string) (gateway, op, space string, ok bool) {
	rest, ok := strings.CutPrefix(subject, s.root)
	if !ok {
		return "", "", "", false
	}
	parts := strings.Split(rest, ".")
	switch {
	case len(parts) == 2 && parts[0] != "" && parts[1] != "" && parts[1] != opLive:
		return parts[0], parts[1], "", true
	case len(parts) == 3 && parts[0] != "" && parts[1] == opLive:
		space, ok := natsconn.DecodeToken(parts[2])
		return parts[0], opLive, space, ok
	}
	return "", "", "", false
}

// validRoster validates a roster from another gateway.
func validRoster(space string, here []RosterEntry) bool {
	if !protocol.ValidSpaceName(space) || len(here) > maxEntries {
		return false
	}
	for _, e := range here {
		if !protocol.ValidParticipantID(string(e.ID)) || e.Connections < 0 || e.Connections > maxConnections {
			return false
		}
	}
	return true
}

// partEntries is the maximum number of entries in a part of a snapshot and in a
// change: about 300 kB.
const partEntries = 2000

// maxSpent bounds the tokens of one limit in a message of another gateway.
const maxSpent = 1 << 40

// validSpending validates spending at another gateway.
func validSpending(list []Spending) bool {
	if len(list) > partEntries {
		return false
	}
	for _, x := range list {
		for _, n := range x.Spent {
			if n > maxSpent || n < -maxSpent {
				return false
			}
		}
	}
	return true
}

// cutSnapshot splits a snapshot into parts; at least one.
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
