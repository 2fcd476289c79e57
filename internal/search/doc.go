// Package search is a full-text index over the envelopes of many spaces, with
// ranked queries that touch only what the asker may see.
//
//	Index      the index on disk or in memory: Apply adds envelopes, Search asks
//	Query      words, "phrases", prefixes*, -exclusions, and filters
//	Doc        one envelope, with the participants that may see it
//
// The index is a derived copy of a log. It is written without syncs: after a crash it
// continues from an earlier position, which is stored with the postings it belongs to;
// a kill costs the last batches only. An index of another version, or one that cannot
// be read, is removed and built again.
//
// # Form
//
// The envelopes of a space are numbered in order: a Seq may be much larger than
// their number. Buckets have 131,072 documents each. In each bucket, every term has
// one list of postings for each audience: the set of participants that may see an
// envelope, or the public. A search reads the lists of the asker's audiences and
// no others, so that neither a score, nor a bound, nor the time of a search
// depends on envelopes that the asker may not see. Senders, kinds and contexts
// are terms too, of another class.
//
// A posting is the distance to the previous envelope and the weight of the term
// in the envelope, BM25's saturation of frequency and length, in 16 levels.
// Positions are not stored: the envelopes that the lists select are read from
// the log, and phrases are decided there. Nothing is a hit that is not in the log.
//
// # Bounds
//
// A query has at most [maxQueryBytes] and [maxTerms]. A search reads at most
// [maxListBytes] of postings and [maxVerify] envelopes; one that reaches a bound
// returns the hits so far, and Partial.
package search
