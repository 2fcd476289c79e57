package natsjournal

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/natsconn"
)

// streamNames encodes and decodes the names of streams and subjects on NATS.
type streamNames struct {
	prefix  string
	streams int
	roots   []string // the beginnings of the subjects of each stream: meup.07.
}

// newStreamNames returns the names of a number of streams that begin with a prefix.
func newStreamNames(prefix string, streams int) streamNames {
	n := streamNames{prefix: prefix, streams: streams}
	for i := range streams {
		n.roots = append(n.roots, fmt.Sprintf("%s.%02d.", strings.ToLower(prefix), i))
	}
	return n
}

// Bucket returns the index of the stream that has the space.
func (n streamNames) Bucket(space string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(space)) // a write to memory does not fail
	return int(h.Sum32() % uint32(n.streams))
}

// Stream returns the name of a stream: MEUP_07.
func (n streamNames) Stream(index int) string {
	return fmt.Sprintf("%s_%02d", strings.ToUpper(n.prefix), index)
}

// All returns the pattern of a stream's subjects: meup.07.>
func (n streamNames) All(index int) string { return n.roots[index] + ">" }

// stateSuffix marks the subject of a space's state entries, which is never
// purged.
const stateSuffix = ".state"

// Epoch returns the subject of a stream's epochs: meup.07.%epoch, which is
// never the encoded name of a space.
func (n streamNames) Epoch(index int) string { return n.roots[index] + "%epoch" }

// Subject returns the subject of the blocks of a space: meup.07.lab, or
// meup.07.lab.state for blocks with a state entry.
func (n streamNames) Subject(space string, state bool) string {
	s := n.roots[n.Bucket(space)] + natsconn.EncodeToken(space)
	if state {
		s += stateSuffix
	}
	return s
}

// Space decodes the space from a subject of a stream.
func (n streamNames) Space(index int, subject string) (string, bool) {
	token, ok := strings.CutPrefix(subject, n.roots[index])
	if !ok {
		return "", false
	}
	token = strings.TrimSuffix(token, stateSuffix)
	space, ok := natsconn.DecodeToken(token)
	return space, ok && n.Bucket(space) == index
}

// Streams returns the number of streams.
func (n streamNames) Streams() int { return n.streams }

// Everything returns the pattern of the subjects of all streams: meup.>
func (n streamNames) Everything() string { return strings.ToLower(n.prefix) + ".>" }

// Audit returns the subject of reports: meup.audit.
func (n streamNames) Audit() string { return strings.ToLower(n.prefix) + ".audit" }
