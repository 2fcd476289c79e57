// Package entrydb stores the entries of many spaces in one Pebble database: the
// whole log of a gateway with an embedded journal, or the local replica of a
// remote log.
//
// It stores each entry under its given Seq and has no notion of duplicates,
// order or admission; the journals are responsible for them. It adds indexes:
// by Seq, by id, by context, state entries alone. All of them, and any meta
// value, are written in one atomic [Batch].
//
// # Failure
//
// When a write to its write-ahead log fails, Pebble ends the process, or panics
// with its locks held. A gateway has to survive a full disk, so the database
// runs on a file system (see [failStopFS]) that treats the first such error as
// a power failure: from then on nothing more reaches the disk, and later writes
// of Pebble go to memory. Every commit in progress returns
// [journal.ErrUnavailable]. Whether it succeeded is known only after
// [DB.Reopen], which opens the store again as after a crash. Until then the
// database is read-only.
//
// # Keys
//
// Every key begins with a byte for its table. A space and a context are written
// as their length and their bytes, so that none is a prefix of another; a Seq
// is eight bytes, big endian.
//
//	e space seq          → the encoded entry
//	i space id           → seq
//	c space context seq  → nothing; a row for each path that the entry is within
//	s space seq          → nothing; state entries only
//	p space proposal     → seq of the entry that settles the proposal
//	t space              → seq: everything below was dropped, except state entries
//	m name               → a value that a journal stores next to its entries
//	z                    → size in bytes of the rows of all entries
package entrydb
