package connect

import "github.com/meup-protocol/meup/protocol"

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
