package connect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// pageSize is the number of items that Pages requests at a time.
const pageSize = 100

// Pages reads pages of a list, newest first, until it has enough items (0: all). read returns
// the items before a position (0: the end), the position of the next page, and whether there
// is one. more reports that there are further items, before next.
func Pages[T any](most int, read func(limit int, before protocol.Seq) (list []T, next protocol.Seq, more bool, err error)) (all []T, next protocol.Seq, more bool, err error) {
	all = []T{}
	for {
		limit, before := pageSize, next
		if most > 0 {
			limit = min(limit, most-len(all))
		}
		var page []T
		page, next, more, err = read(limit, before)
		if err != nil {
			return nil, 0, false, err
		}
		all = append(all, page...)
		if !more || next == before || most > 0 && len(all) >= most {
			return all, next, more, nil
		}
	}
}

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
