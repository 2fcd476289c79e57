package httpapi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// arrayReader takes a JSON array apart while it arrives. Of its elements it
// finds only where they end: the decoder finds out whether
// they are JSON.
type arrayReader struct {
	in    *bufio.Reader
	most  int64 // bytes of an element that are kept
	begun bool
}

// errArray is a fault of the array itself.
type errArray struct{ detail string }

func (e errArray) Error() string { return e.detail }

// isArray reports whether a body is an array, by its first byte that is not
// white space.
func isArray(in *bufio.Reader) (bool, error) {
	c, err := skipSpace(in)
	if err != nil {
		return false, err
	}
	return c == '[', in.UnreadByte()
}

// next returns the next element in memory of its own, and its size. Of one that
// is longer than most it keeps nothing. The error is io.EOF behind the array, an
// errArray, or the body's.
func (a *arrayReader) next() (element []byte, size int64, err error) {
	separator, err := skipSpace(a.in)
	if err != nil {
		return nil, 0, arrayCut(err)
	}
	switch {
	case !a.begun: // separator is the bracket that isArray saw
	case separator == ']':
		return nil, 0, a.end()
	case separator != ',':
		return nil, 0, errArray{"an array goes on with a comma or ends with a bracket"}
	}
	c, err := skipSpace(a.in)
	switch {
	case err != nil:
		return nil, 0, arrayCut(err)
	case c == ']' && !a.begun:
		return nil, 0, a.end()
	case c == ']', c == ',':
		return nil, 0, errArray{"an element is missing beside a comma"}
	}
	a.begun = true
	return a.element(c)
}

// end reads what is behind the array, which is nothing but white space.
func (a *arrayReader) end() error {
	switch _, err := skipSpace(a.in); {
	case err == nil:
		return errArray{"data behind the end of the array"}
	default:
		return err
	}
}

// element reads an element that begins with c.
func (a *arrayReader) element(c byte) ([]byte, int64, error) {
	var kept []byte
	var size int64
	depth, inString, escaped := 0, false, false
	for {
		if size++; size <= a.most {
			kept = append(kept, c)
		}
		ended := false
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
			ended = !inString && depth == 0
		case c == '"':
			inString = true
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			depth--
			ended = depth == 0
		}
		if depth < 0 {
			return nil, 0, errArray{fmt.Sprintf("%q closes nothing", c)}
		}
		if !ended && !inString && depth == 0 {
			next, err := a.in.Peek(1)
			ended = err == nil && isDelimiter(next[0]) // of a number or a literal
		}
		if ended {
			if size > a.most {
				kept = nil
			}
			return kept, size, nil
		}
		var err error
		if c, err = a.in.ReadByte(); err != nil {
			return nil, 0, arrayCut(err)
		}
	}
}

func isDelimiter(c byte) bool { return c == ',' || c == ']' || isSpace(c) }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func skipSpace(in *bufio.Reader) (byte, error) {
	for {
		c, err := in.ReadByte()
		if err != nil || !isSpace(c) {
			return c, err
		}
	}
}

// arrayCut turns the end of the body inside the array into a fault of it.
func arrayCut(err error) error {
	if errors.Is(err, io.EOF) {
		return errArray{"the text ends inside the array"}
	}
	return err
}
