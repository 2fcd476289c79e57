package turns

import (
	"encoding/binary"

	"github.com/meup-protocol/meup/protocol"
)

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
