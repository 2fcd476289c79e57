package search

import (
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/meup-protocol/meup/internal/journal/derivedb"
	"github.com/meup-protocol/meup/protocol"
)

// Keys of the rows of spaces; package derivedb has the other keys. Numbers are
// big-endian; an audience is its length in bytes and its bytes, so that keys sort by it.
//
//	a SPACE NAMES                 number of an audience
//	m SPACE PARTICIPANT 0 AUDIENCE  the audiences of a participant
//	b SPACE BLOCK                 times and Seqs of a block of documents
//	p SPACE BUCKET TERM 0 AUDIENCE  a list of postings
const (
	keyAudience = 'a'
	keyMember   = 'm'
	keyBlock    = 'b'
	keyPostings = 'p'
)

var classes = string([]byte{keyAudience, keyMember, keyBlock, keyPostings})

const (
	bucketBits = 17
	bucketSize = 1 << bucketBits
	blockBits  = 8
	blockSize  = 1 << blockBits
)

// Classes of terms other than words, which begin with a letter or a digit.
const (
	classFrom    = 1
	classKind    = 2
	classContext = 3
)

// public is the audience of envelopes that every participant may see.
const public = 0

// numberKey is the key, or the beginning of the keys, of a block or a bucket.
func numberKey(class byte, space, number uint32) []byte {
	return binary.BigEndian.AppendUint32(derivedb.SpaceKey(class, space), number)
}

func appendAudience(dst []byte, audience uint32) []byte {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], audience)
	n := 4
	for n > 0 && b[4-n] == 0 {
		n--
	}
	return append(append(dst, byte(n)), b[4-n:]...)
}

// splitTerm splits the part of a key after the bucket.
func splitTerm(key []byte) (term []byte, audience uint32, ok bool) {
	end := slices.Index(key, 0)
	if end < 0 || len(key) < end+2 {
		return nil, 0, false
	}
	b := key[end+2:]
	if len(b) != int(key[end+1]) || len(b) > 4 {
		return nil, 0, false
	}
	for _, x := range b {
		audience = audience<<8 | uint32(x)
	}
	return key[:end], audience, true
}

func classTerm(class byte, name string) string { return string(rune(class)) + name }

// contextTerm returns the term of a context; "" is the main conversation. Paths
// are long and every hit is compared with the whole path, so a hash suffices.
func contextTerm(path protocol.ContextPath) string {
	if path == "" {
		return classTerm(classContext, "")
	}
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
	h := fnv.New64a()
	_, _ = h.Write([]byte(path)) // never fails
	term := []byte{classContext}
	for n := h.Sum64(); len(term) < 9; n >>= 6 {
		term = append(term, digits[n&63])
	}
	return string(term)
}
