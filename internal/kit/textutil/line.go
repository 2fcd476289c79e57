package textutil

import (
	"bufio"
	"errors"
)

// ReadLine reads a line with its end. One of more than limit bytes is cut to limit+1. With
// an error it returns what was read before.
func ReadLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part[:min(len(part), limit+1-len(line))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
