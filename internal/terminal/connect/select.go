package connect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// ErrNoMatch is the error of Select if no item matches.
var ErrNoMatch = errors.New("not found")

// shownMatches bounds the ids in the error of Select.
const shownMatches = 5

// Select returns the item with an id, or else the only one whose id begins or ends with the
// text. noun names an item in errors, and command lists the items. Errors: ErrNoMatch; the
// ids that match, if there are several.
func Select[T any](text, noun, command string, items []T, id func(*T) protocol.ID) (found *T, err error) {
	var ids []string
	for i := range items {
		switch it := string(id(&items[i])); {
		case it == text:
			return &items[i], nil
		case strings.HasPrefix(it, text), strings.HasSuffix(it, text):
			found, ids = &items[i], append(ids, it)
		}
	}
	switch n := len(ids); {
	case n == 0:
		return nil, fmt.Errorf("%s %s %w: %s lists them", noun, text, ErrNoMatch, command)
	case n == 1:
		return found, nil
	case n > shownMatches:
		ids = append(ids[:shownMatches], "…")
	}
	return nil, fmt.Errorf("several %ss begin or end with %s: %s; give more of the id", noun, text, strings.Join(ids, ", "))
}
