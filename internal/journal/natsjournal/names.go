package natsjournal

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/meup-protocol/meup/internal/natsconn"
)

// names encodes and decodes the names of streams and subjects on NATS.
type names struct {
	prefix  string // as in Options
	streams int
	roots   []string // the beginnings of the subjects of each stream: meup.07.
}

func newNames(prefix string, streams int) names {
	n := names{prefix: prefix, streams: streams}
	for i := range streams {
		n.roots = append(n.roots, fmt.Sprintf("%s.%02d.", strings.ToLower(prefix), i))
	}
	return n
}

// bucket returns the index of the stream that has the space.
func (n names) bucket(space string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(space)) // a write to memory does not fail
	return int(h.Sum32() % uint32(n.streams))
}

// stream returns the name of a stream: MEUP_07.
func (n names) stream(index int) string {
	return fmt.Sprintf("%s_%02d", strings.ToUpper(n.prefix), index)
}

// all returns the pattern of a stream's subjects: meup.07.>
func (n names) all(index int) string { return n.roots[index] + ">" }

// stateSuffix marks the subject of a space's state entries, which is never
// purged.
const stateSuffix = ".state"

// epoch returns the subject of a stream's epochs: meup.07.%epoch, which is
// never the encoded name of a space.
func (n names) epoch(index int) string { return n.roots[index] + "%epoch" }

// subject returns the subject of the blocks of a space: meup.07.lab, or
// meup.07.lab.state for blocks with a state entry.
func (n names) subject(space string, state bool) string {
	s := n.roots[n.bucket(space)] + natsconn.EncodeToken(space)
	if state {
		s += stateSuffix
	}
	return s
}

// space decodes the space from a subject of a stream.
func (n names) space(index int, subject string) (string, bool) {
	token, ok := strings.CutPrefix(subject, n.roots[index])
	if !ok {
		return "", false
	}
	token = strings.TrimSuffix(token, stateSuffix)
	space, ok := natsconn.DecodeToken(token)
	return space, ok && n.bucket(space) == index
}
