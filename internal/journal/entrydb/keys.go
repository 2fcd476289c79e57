package entrydb

import (
	"encoding/binary"
	"math"

	"github.com/meup-protocol/meup/protocol"
)

// The tables; see the package comment.
const (
	tableEntry   = 'e'
	tableID      = 'i'
	tableContext = 'c'
	tableState   = 's'
	tableSettled = 'p'
	tableTrimmed = 't'
	tableMeta    = 'm'
	tableSize    = 'z'
	tableFolded  = 'f'
	tableBase    = 'b'
)

const seqBytes = 8

// sizeKey is the key of the only row of its table.
var sizeKey = []byte{tableSize}

// spacePrefix starts the key of every row of the space in the table.
func spacePrefix(dst []byte, table byte, space string) []byte {
	dst = append(dst, table)
	dst = binary.AppendUvarint(dst, uint64(len(space)))
	return append(dst, space...)
}

// contextPrefix starts the key of every row within the context.
func contextPrefix(dst []byte, space string, c protocol.ContextPath) []byte {
	dst = spacePrefix(dst, tableContext, space)
	dst = binary.AppendUvarint(dst, uint64(len(c)))
	return append(dst, c...)
}

func idKey(dst []byte, space string, id protocol.ID) []byte {
	return append(spacePrefix(dst, tableID, space), id...)
}

func settledKey(dst []byte, space string, proposal protocol.ID) []byte {
	return append(spacePrefix(dst, tableSettled, space), proposal...)
}

func entryKey(dst []byte, space string, seq protocol.Seq) []byte {
	return appendSeq(spacePrefix(dst, tableEntry, space), seq)
}

func metaKey(name string) []byte { return append([]byte{tableMeta}, name...) }

func appendSeq(dst []byte, seq protocol.Seq) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(seq))
}

// keySeq decodes the Seq at the end of a key.
func keySeq(key []byte) (protocol.Seq, bool) {
	if len(key) < seqBytes {
		return 0, false
	}
	return protocol.Seq(binary.BigEndian.Uint64(key[len(key)-seqBytes:])), true
}

// spaceOfKey decodes the space from a key of any table with spaces.
func spaceOfKey(key []byte) (string, bool) {
	if len(key) == 0 {
		return "", false
	}
	n, size := binary.Uvarint(key[1:])
	if size <= 0 || n > uint64(len(key)-1-size) {
		return "", false
	}
	return string(key[1+size : 1+size+int(n)]), true
}

// seqRange returns the bounds of the rows below prefix with a Seq greater than
// after and smaller than before; 0 leaves that side open. ok is false if no Seq
// is between the two.
func seqRange(prefix []byte, after, before protocol.Seq) (lower, upper []byte, ok bool) {
	first := after + 1
	if after == math.MaxUint64 || before != 0 && first >= before {
		return nil, nil, false
	}
	lower = appendSeq(append(make([]byte, 0, len(prefix)+seqBytes), prefix...), first)
	upper = make([]byte, 0, len(prefix)+seqBytes+1)
	upper = append(upper, prefix...)
	if before != 0 {
		return lower, appendSeq(upper, before), true
	}
	return lower, append(appendSeq(upper, math.MaxUint64), 0), true
}

// ancestors calls f with c and with every ancestor of c, from the deepest to
// the topmost; not at all for the main conversation.
func ancestors(c protocol.ContextPath, f func(protocol.ContextPath)) {
	for ; c != ""; c = c.Parent() {
		f(c)
	}
}
