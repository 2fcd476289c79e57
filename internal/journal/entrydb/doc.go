// Package entrydb keeps the entries of many spaces in one Pebble database:
// the whole log of a gateway with an embedded journal, or the local replica of
// a log that lives elsewhere.
//
// It stores what it is given under the Seq it is given and knows nothing of
// duplicates, order or admission; those are the journals' business. What it
// adds is the ways in: by Seq, by id, by context, state entries alone. All of
// them, and any meta value, are written in one atomic [Batch].
//
// # Failure
//
// Pebble answers an error of its write-ahead log by ending the process, or by
// panicking with its locks held. A gateway has to survive a full disk, so the
// database runs on a file system (see [gate]) that treats the first such error
// as a power cut: from there on nothing more reaches the disk, and what Pebble
// still writes goes to memory, where it does no harm. Every commit that is
// under way returns [journal.ErrUnavailable]; whether it made it is known only
// after [DB.Reopen], which opens the store again the way it is opened after a
// crash. Until then the database is read-only.
//
// # Keys
//
// Every key begins with a byte that names its table. A space and a context are
// written as their length and their bytes, so that none is a prefix of
// another; a Seq is eight bytes, big endian.
//
//	e space seq          → the encoded entry
//	i space id           → seq
//	c space context seq  → nothing; a row for each path that the entry is within
//	s space seq          → nothing; state entries only
//	p space proposal     → seq of the entry that settles the proposal
//	t space              → seq: everything below was dropped, state entries excepted
//	m name               → a value that a journal keeps beside its entries
//	z                    → how many bytes the rows of all entries take
package entrydb
