package pebblejournal

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"
)

// birthTime returns the time at which a file was created, which no copy of it has.
// It is empty where the file system does not record it.
func birthTime(f vfs.File) string {
	if f.Fd() == vfs.InvalidFd {
		return ""
	}
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st); err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%09d", st.Btime.Sec, st.Btime.Nsec)
}
