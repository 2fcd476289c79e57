package pebblejournal

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/internal/proposal"
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
	b, decisions, read, reported := j.db.NewBatch(), 0, 0, time.Now()
	for i, space := range spaces {
		n, err := j.settleAll(b, space, func() {
			read++
			if time.Since(reported) >= report {
				reported = time.Now()
				j.log.Info("the log is read once for its new format", "entries", read, "spaces", i, "of", len(spaces))
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

// proposed is a proposal of a space.
type proposed struct {
	envelope protocol.Envelope
	call     proposal.Call
}

// settled is in place of each proposal that is settled, so that these need little memory.
var settled = new(proposed)

// settleAll adds to the batch the proposals that the decisions of a space settle, and commits it when
// it is large. It calls read for each entry.
func (j *Journal) settleAll(b *entrydb.Batch, space string, read func()) (n int, err error) {
	proposals := map[protocol.ID]*proposed{}
	for e, err := range j.db.Range(context.Background(), space, journal.Query{}) {
		if err != nil {
			return n, err
		}
		read()
		env := &e.Envelope
		switch {
		case env.Kind == protocol.KindMCPProposal:
			proposals[env.ID] = &proposed{
				envelope: protocol.Envelope{ID: env.ID, From: env.From, Context: env.Context},
				call:     proposal.CallOf(env),
			}
		case proposal.Decides(env.Kind):
			p := theOne(proposals, env.Correlation.IDs)
			if p == nil || p == settled {
				continue
			}
			id := p.envelope.ID
			if e.Settles == "" {
				if proposal.SettlesCall(&p.envelope, p.call, env) == proposal.Pending {
					continue
				}
				b.Settle(space, e, id)
				n++
			}
			proposals[id] = settled
		}
		if b.Bytes() > upgradeBytes {
			if err := b.Commit(false); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// theOne returns the proposal among these ids; nil if there is none, or more than one.
func theOne(proposals map[protocol.ID]*proposed, ids []protocol.ID) (found *proposed) {
	for _, id := range ids {
		p := proposals[id]
		if p != nil && found != nil && p != found {
			return nil
		}
		if p != nil {
			found = p
		}
	}
	return found
}
