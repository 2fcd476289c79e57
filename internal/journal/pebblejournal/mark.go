package pebblejournal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"

	"github.com/meup-protocol/meup/internal/journal/entrydb"
)

// Meta keys of the store.
const (
	logIDKey    = "log-id"
	appendedKey = "appended" // entries ever appended, written with each batch
	birthKey    = "birth"    // birthTime of the mark
)

// lossRemedies lists an operator's options for a log that has lost entries.
const lossRemedies = "move the folder away and restore a backup in its place, or accept the loss (--accept-loss)"

// markSyncEvery bounds the age of the mark after a power failure.
const markSyncEvery = time.Second

// loadMeta reads the id of the log, and compares the number of entries in the
// store with the number acknowledged according to the mark. A store with fewer
// has lost its end. It is rejected unless Options.AcceptLoss is set, which
// gives it another log id.
func (j *Journal) loadMeta() error {
	old, err := checkFormat(j.db)
	if err != nil {
		return err
	}
	id, err := j.db.Meta(logIDKey)
	if err != nil {
		return err
	}
	counted, appended, err := appendedEntries(j.db)
	if err != nil {
		return err
	}
	j.appended = appended
	acknowledged, known, err := readMark(j.db.FS(), j.db.Dir())
	var file vfs.File
	if err == nil {
		file, err = j.db.FS().OpenReadWrite(j.markName(), vfs.WriteCategoryUnspecified) // creates it, if there is none
	}
	if err != nil {
		return fmt.Errorf("open the mark of acknowledged entries: %w", err)
	}
	m := &mark{file: file}
	loss := lostEntries(acknowledged, known, appended, counted)
	if loss != nil && !j.opt.AcceptLoss {
		return errors.Join(fmt.Errorf("%w; %s", loss, lossRemedies), m.file.Close())
	}
	if old {
		if err := j.upgrade(upgradeReport); err != nil {
			return errors.Join(fmt.Errorf("upgrade the log to format %d: %w", format, err), m.file.Close())
		}
	}
	if err := j.identify(id, m, loss); err != nil {
		return errors.Join(fmt.Errorf("write the id of the log: %w", err), m.file.Close())
	}
	j.mark = m
	m.info, _ = os.Stat(j.markName()) // fails for a log in memory
	j.writeMark()
	if known {
		return nil
	}
	if err := errors.Join(m.sync(), entrydb.SyncDir(j.db.FS(), j.db.Dir())); err != nil {
		return errors.Join(fmt.Errorf("create the mark of acknowledged entries: %w", err), m.file.Close())
	}
	return nil
}

// checkMissing returns an error if a folder that must have a log, or whose mark counts
// entries, has none: its store, or the file that names the files of the store, is missing.
// Pebble would make an empty store there, and remove the files of the old one.
func checkMissing(fs vfs.FS, dir string, mustExist bool) error {
	exists, err := entrydb.Exists(fs, dir)
	if err != nil || exists {
		return err
	}
	acknowledged, _, err := readMark(fs, dir)
	switch {
	case err != nil:
		return fmt.Errorf("open log in %s: read the mark of acknowledged entries: %w", dir, err)
	case acknowledged > 0:
		return fmt.Errorf("open log in %s: %d entries were acknowledged and the log holds 0 of them: its store is missing, %d entries are lost; %s",
			dir, acknowledged, acknowledged, lossRemedies)
	case mustExist:
		return fmt.Errorf("open log in %s: the log is missing, with all its entries; %s", dir, lossRemedies)
	}
	return nil
}

// appendedEntries returns the number of entries that were ever appended; counted is
// false if there were none.
func appendedEntries(db *entrydb.DB) (counted bool, n uint64, err error) {
	value, err := db.Meta(appendedKey)
	if err != nil || value == nil {
		return false, 0, err
	}
	n, size := binary.Uvarint(value)
	if size <= 0 {
		return false, 0, errors.New("the number of appended entries cannot be read")
	}
	return true, n, nil
}

// lostEntries compares the mark, if it is known, with the number of entries in the
// store. It returns an error if entries are missing, or may be.
func lostEntries(acknowledged uint64, known bool, appended uint64, counted bool) error {
	switch {
	case known && acknowledged > appended:
		return fmt.Errorf("%d entries were acknowledged and the log holds %d of them: the end of the log is missing or damaged, %d entries are lost",
			acknowledged, appended, acknowledged-appended)
	case !known && counted: // the mark is as old as the number in the store
		return fmt.Errorf("the file %s is missing or damaged, so that it is unknown whether the log, which holds %d entries, is complete", markFile, appended)
	}
	return nil
}

// identify sets the id of the log. A log that has accepted a loss has a new one. A
// copy too: the original may have had more entries, which clients have received,
// and neither the mark nor the store of the copy shows that.
func (j *Journal) identify(id []byte, m *mark, loss error) error {
	born, err := j.db.Meta(birthKey)
	if err != nil {
		return err
	}
	birth := []byte(birthTime(m.file))
	known := len(birth) > 0
	if loss == nil && j.opt.Restored {
		loss = errors.New("the folder is a backup that was restored")
	}
	if loss == nil && known && born != nil && !bytes.Equal(born, birth) {
		loss = errors.New("the folder is a copy of a log, which may have had more entries")
	}
	b := j.db.NewBatch()
	if known && !bytes.Equal(born, birth) {
		b.SetMeta(birthKey, birth)
	}
	if loss != nil {
		j.log.Warn("going on as a new log", "reason", loss)
	}
	if id == nil || loss != nil {
		id = []byte(uuid.NewString())
		b.SetMeta(logIDKey, id)
	}
	j.logID = string(id)
	return b.Commit(true)
}

// writeMark stores the number of acknowledged entries. An old mark is valid, so
// an error does not stop appends.
func (j *Journal) writeMark() {
	j.mark.acknowledged.Store(j.appended)
	j.mark.dirty.Store(true) // until sync, a power failure may undo the write
	_, err := j.mark.file.WriteAt(formatMark(j.appended), 0)
	if err != nil && j.markErr == nil {
		j.log.Warn("the mark of acknowledged entries cannot be written; a lost end of the log may go unnoticed", "error", err)
	}
	j.markErr = err
}

func (j *Journal) markName() string { return j.db.FS().PathJoin(j.db.Dir(), markFile) }

// checkPlace makes the store fail, and returns why, if the mark that is open is not the one
// in the folder: the files of the log were moved, removed or replaced. What is appended then
// is lost with them, or would damage the log in their place: the store opens files by name.
func (j *Journal) checkPlace() error {
	if j.mark.info == nil {
		return nil
	}
	now, err := os.Stat(j.markName())
	missing := errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	if err == nil && os.SameFile(j.mark.info, now) || err != nil && !missing {
		return nil
	}
	err = fmt.Errorf("the files of the log in %s were moved, removed or replaced while it was open: put them back, or restart the gateway", j.db.Dir())
	j.db.Fail(err)
	return err
}

// syncMark syncs the mark regularly, and looks whether it is still in its place.
func (j *Journal) syncMark(ctx context.Context) {
	tick := time.NewTicker(j.opt.markEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = j.checkPlace() // the committer receives the failure
			if err := j.mark.sync(); err != nil {
				j.log.Debug("sync the mark of acknowledged entries", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// mark is a small file next to the store with the number of entries that were
// ever acknowledged. It is written after each synced commit and before Append
// returns, so it never exceeds the number in the store, unless the store lost a
// part of its end. It is synced in the background: after a power failure it may
// be some seconds old, which makes it less sensitive, never wrong.
type mark struct {
	file         vfs.File
	info         os.FileInfo // of the file, when it was opened; nil: it is in memory
	dirty        atomic.Bool
	acknowledged atomic.Uint64 // the number of the last write
}

const (
	markFile   = "ACKNOWLEDGED"
	markFormat = "meup acknowledged %020d"
	markLength = len("meup acknowledged ") + 20 + len(" 00000000\n")
)

func formatMark(n uint64) []byte {
	text := fmt.Appendf(nil, markFormat, n)
	return fmt.Appendf(text, " %08x\n", crc32.ChecksumIEEE(text))
}

func parseMark(text []byte) (n uint64, ok bool) {
	if _, err := fmt.Sscanf(string(text), markFormat, &n); err != nil {
		return 0, false
	}
	return n, bytes.Equal(text, formatMark(n))
}

// sync makes the last number durable.
func (m *mark) sync() error {
	if !m.dirty.Swap(false) {
		return nil
	}
	return m.file.Sync()
}

func (m *mark) close() error { return errors.Join(m.sync(), m.file.Close()) }
