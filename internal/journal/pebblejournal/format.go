package pebblejournal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/protocol"
)

// Formats of a folder, stored under formatKey:
//
//	none  entries may not name the proposal that they settle
//	2     all entries that settle a proposal name it
const (
	formatKey = "format"
	format    = 2
)

const (
	// upgradeBytes bounds the memory of a batch of an upgrade.
	upgradeBytes = 1 << 20
	// upgradeReport is how often an upgrade, which reads the whole log, reports its progress.
	upgradeReport = 10 * time.Second
)

// checkFormat reports whether the folder has an earlier format. Err: entrydb.ErrNewer.
func checkFormat(db *entrydb.DB) (old bool, err error) {
	value, err := db.Meta(formatKey)
	if err != nil || value == nil {
		return err == nil, err
	}
	n, err := strconv.Atoi(string(value))
	if err != nil || n > format {
		return false, fmt.Errorf("%w (format %s, this build reads up to %d); its entries were not changed. Start that version, or restore a backup of this one", entrydb.ErrNewer, value, format)
	}
	return n < format, nil
}

// upgrade makes all entries that settle a proposal name it. It can be interrupted.
func (j *Journal) upgrade(report time.Duration) error {
	spaces, err := j.db.Spaces()
	if err != nil {
		return err
	}
	total, oldest := uint64(0), make([]protocol.Seq, len(spaces))
	for i, space := range spaces {
		var newest protocol.Seq
		oldest[i], newest, err = j.db.Bounds(space)
		if err != nil {
			return err
		}
		total += uint64(newest + 1 - oldest[i])
	}
	b, decisions, read, reported := j.db.NewBatch(), 0, 0, time.Now()
	for i, space := range spaces {
		n, err := j.settleAll(b, space, func(seq protocol.Seq) {
			if seq < oldest[i] {
				return // a state entry that outlived retention
			}
			read++
			if time.Since(reported) >= report {
				reported = time.Now()
				j.log.Info("the log is read once for its new format", "entries", read, "of", total)
			}
		})
		if err != nil {
			return fmt.Errorf("find the decisions on proposals in %s: %w", space, err)
		}
		decisions += n
	}
	b.SetMeta(formatKey, []byte(strconv.Itoa(format)))
	if err := b.Commit(true); err != nil {
		return err
	}
	if len(spaces) > 0 {
		j.log.Info("the log has a new format", "format", format, "decisions", decisions)
	}
	return nil
}

// settleAll adds to the batch the proposals that the decisions of a space settle, and commits it when
// it is large. It calls read for each entry. Proposals are looked up, as a space may have too many for
// the memory.
func (j *Journal) settleAll(b *entrydb.Batch, space string, read func(protocol.Seq)) (n int, err error) {
	for e, err := range j.db.Range(context.Background(), space, journal.Query{}) {
		if err != nil {
			return n, err
		}
		env := &e.Envelope
		read(env.Seq)
		if e.Settles != "" || !exchange.IsDecision(env.Kind) {
			continue
		}
		of, err := exchange.ProposalAmong(env.Correlation.IDs, func(id protocol.ID) (*protocol.Envelope, error) {
			p, err := j.db.Lookup(space, id)
			if errors.Is(err, journal.ErrNotFound) || err == nil && p.Envelope.Seq > env.Seq {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			return &p.Envelope, nil
		})
		if err != nil {
			return n, err
		}
		if of == nil || exchange.Settles(of, env) == exchange.Pending {
			continue
		}
		by, err := b.Settled(space, of.ID)
		if err != nil {
			return n, err
		}
		if by.Seq > 0 && by.Seq < env.Seq {
			continue
		}
		b.Settle(space, e, of.ID)
		n++
		if b.Bytes() > upgradeBytes {
			if err := b.Commit(false); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}
