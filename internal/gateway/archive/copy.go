package archive

import (
	"context"
	"fmt"
	"io"
	"time"
)

// copyBlock is how much is copied between two checks of the context.
const copyBlock = 256 << 10

// copyAll copies until the end of r, or until ctx ends.
func copyAll(ctx context.Context, w io.Writer, r io.Reader, p *copyProgress) error {
	block := make([]byte, copyBlock)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := r.Read(block)
		if n > 0 {
			if _, err := w.Write(block[:n]); err != nil {
				return err
			}
			p.add(int64(n))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// progressEvery is the time between two lines of a progress.
const progressEvery = 2 * time.Second

// copyProgress reports how much of a number of bytes is done.
type copyProgress struct {
	to          io.Writer
	what        string
	done, total int64
	last        time.Time
}

func newCopyProgress(to io.Writer, what string, total int64) *copyProgress {
	return &copyProgress{to: to, what: what, total: total, last: time.Now()}
}

func (p *copyProgress) add(n int64) {
	p.done += n
	if p.total > 0 && time.Since(p.last) >= progressEvery {
		p.last = time.Now()
		fmt.Fprintf(p.to, "%s: %d %% of %s …\n", p.what, int64(100*float64(p.done)/float64(p.total)), ByteSize(p.total))
	}
}

// ByteSize returns a number of bytes for people.
func ByteSize(n int64) string {
	const unit = 1024
	value, units := float64(n), []string{"KiB", "MiB", "GiB", "TiB"}
	if n < unit {
		return fmt.Sprintf("%d bytes", n)
	}
	value /= unit
	for value >= unit && len(units) > 1 {
		value /= unit
		units = units[1:]
	}
	return fmt.Sprintf("%.1f %s", value, units[0])
}
