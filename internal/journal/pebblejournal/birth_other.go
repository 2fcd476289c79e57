//go:build !linux

package pebblejournal

import "github.com/cockroachdb/pebble/v2/vfs"

// birthTime is empty: elsewhere, copies may have the time of the original.
func birthTime(vfs.File) string { return "" }
