package pebblejournal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// mark is a small file next to the store with the number of entries that were
// ever acknowledged. It is written after each synced commit and before Append
// returns, so it never exceeds the number in the store, unless the store lost a
// part of its end. It is synced in the background: after a power failure it may
// be some seconds old, which makes it less sensitive, never wrong.
type mark struct {
	file  vfs.File
	dirty atomic.Bool
}

const (
	markFile   = "ACKNOWLEDGED"
	markFormat = "meup acknowledged %020d"
	markLength = len("meup acknowledged ") + 20 + len(" 00000000\n")
)

// openMark opens the mark in dir, and creates it if it does not exist. It
// returns the number in the mark; ok is false for a new or unreadable mark.
func openMark(fs vfs.FS, dir string) (m *mark, acknowledged uint64, ok bool, err error) {
	name := fs.PathJoin(dir, markFile)
	file, err := fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err == nil {
		text := make([]byte, markLength)
		if _, readErr := io.ReadFull(file, text); readErr == nil {
			acknowledged, ok = parseMark(text)
		}
		return &mark{file: file}, acknowledged, ok, nil
	}
	if !isNotExist(err) {
		return nil, 0, false, err
	}
	if file, err = fs.Create(name, vfs.WriteCategoryUnspecified); err != nil {
		return nil, 0, false, err
	}
	return &mark{file: file}, 0, false, nil
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

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

// write stores the number; until sync, a power failure may undo it.
func (m *mark) write(n uint64) error {
	m.dirty.Store(true)
	_, err := m.file.WriteAt(formatMark(n), 0)
	return err
}

// sync makes the last number durable.
func (m *mark) sync() error {
	if !m.dirty.Swap(false) {
		return nil
	}
	return m.file.Sync()
}

func (m *mark) close() error { return errors.Join(m.sync(), m.file.Close()) }
