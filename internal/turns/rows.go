package turns

import (
	"encoding/binary"
	"slices"
	"sort"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// Rows stores the index of a Tracker: rows by key, and lists of rows by Seq. Rows
// that were set are read at once, and kept once they are committed: all that were
// set before a Commit, or none of them. A key is never the beginning of another
// one. The Tracker serializes the calls.
type Rows interface {
	// Get returns a row; nil: there is none.
	Get(key []byte) ([]byte, error)
	Set(key, value []byte) error
	Delete(key []byte) error
	// Add adds a row to a list.
	Add(list []byte, seq protocol.Seq, value []byte) error
	Remove(list []byte, seq protocol.Seq) error
	// Before returns the last rows of a list with a Seq below before, the last one
	// first, most of them at most.
	Before(list []byte, before protocol.Seq, most int) ([]Row, error)
	// From returns the first rows of a list with a Seq of at least from.
	From(list []byte, from protocol.Seq, most int) ([]Row, error)
	Commit() error
}

// Row is a row of a list.
type Row struct {
	Seq   protocol.Seq
	Value []byte
}

// MemoryRows is Rows in memory, which nothing bounds.
type MemoryRows struct {
	Rows  map[string][]byte
	lists map[string][]Row
}

// newMemoryRows returns an empty MemoryRows.
func newMemoryRows() *MemoryRows {
	return &MemoryRows{Rows: make(map[string][]byte), lists: make(map[string][]Row)}
}

// Get implements Rows.
func (m *MemoryRows) Get(key []byte) ([]byte, error) { return m.Rows[string(key)], nil }

// Set implements Rows.
func (m *MemoryRows) Set(key, value []byte) error {
	m.Rows[string(key)] = slices.Clone(value)
	return nil
}

// Delete implements Rows.
func (m *MemoryRows) Delete(key []byte) error {
	delete(m.Rows, string(key))
	return nil
}

func (m *MemoryRows) find(list []byte, seq protocol.Seq) (rows []Row, at int, found bool) {
	rows = m.lists[string(list)]
	at = sort.Search(len(rows), func(i int) bool { return rows[i].Seq >= seq })
	return rows, at, at < len(rows) && rows[at].Seq == seq
}

// Add implements Rows.
func (m *MemoryRows) Add(list []byte, seq protocol.Seq, value []byte) error {
	rows, at, found := m.find(list, seq)
	if found {
		rows = slices.Delete(rows, at, at+1)
	}
	m.lists[string(list)] = slices.Insert(rows, at, Row{seq, slices.Clone(value)})
	return nil
}

// Remove implements Rows.
func (m *MemoryRows) Remove(list []byte, seq protocol.Seq) error {
	if rows, at, found := m.find(list, seq); found {
		m.lists[string(list)] = slices.Delete(rows, at, at+1)
	}
	return nil
}

// Before implements Rows.
func (m *MemoryRows) Before(list []byte, before protocol.Seq, most int) ([]Row, error) {
	rows, at, _ := m.find(list, before)
	some := slices.Clone(rows[max(0, at-most):at])
	slices.Reverse(some)
	return some, nil
}

// From implements Rows.
func (m *MemoryRows) From(list []byte, from protocol.Seq, most int) ([]Row, error) {
	rows, at, _ := m.find(list, from)
	return slices.Clone(rows[at:min(at+most, len(rows))]), nil
}

// Commit implements Rows.
func (m *MemoryRows) Commit() error { return nil }

// Copy returns the rows as they are now.
func (m *MemoryRows) Copy() *MemoryRows {
	c := newMemoryRows()
	for k, v := range m.Rows {
		c.Rows[strings.Clone(k)] = v
	}
	for k, v := range m.lists {
		c.lists[k] = slices.Clone(v)
	}
	return c
}

// Keys of the rows of one space. An id is its length and its bytes.
//
//	s                       the state of the Tracker, as JSON
//	e                       data of the user of the Tracker
//	h SEQ                   a thread or a job, by its first entry
//	u SEQ NUMBER            a turn, by the first entry of its thread and its number
//	n JOB ID                the Seq of a thread or a job
//	i HASH                  the turn of an envelope, by its id
//	c HASH                  the turn of a context
//	a HASH                  a participant that opened contexts
//	l JOB SEQ               the list of threads, or of jobs
//	m SESSION SEQ           the list of the turns and jobs of a session
//	t SEQ                   the list of all turns and jobs
const (
	keyState     = 's'
	keyExtra     = 'e'
	keyThread    = 'h'
	keyTurn      = 'u'
	keyName      = 'n'
	keyEnvelope  = 'i'
	keyContext   = 'c'
	keyAgent     = 'a'
	listThreads  = 'l'
	listSession  = 'm'
	listAllTurns = 't'
)

func appendSeq(key []byte, seq protocol.Seq) []byte {
	return binary.BigEndian.AppendUint64(key, uint64(seq))
}

func appendName(key []byte, name string) []byte {
	return append(binary.AppendUvarint(key, uint64(len(name))), name...)
}

func threadKey(seq protocol.Seq) []byte { return appendSeq([]byte{keyThread}, seq) }

func turnKey(at ref) []byte {
	return binary.BigEndian.AppendUint32(appendSeq([]byte{keyTurn}, at.root), uint32(at.turn))
}

func nameKey(job bool, id protocol.ID) []byte {
	return appendName([]byte{keyName, boolByte(job)}, string(id))
}

func directoryKey(job bool) []byte { return []byte{listThreads, boolByte(job)} }

func sessionKey(session string) []byte { return appendName([]byte{listSession}, session) }

var allTurns = []byte{listAllTurns}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
