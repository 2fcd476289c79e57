package httpapi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// arrayReader splits a JSON array while it arrives. It finds only where the
// elements end; the decoder checks that they are JSON.
type arrayReader struct {
	in    *bufio.Reader
	most  int64 // maximum bytes of an element
	begun bool
}

// errArray is a syntax error of the array itself.
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

// next returns the next element in a buffer of its own, and its size. An
// element longer than most is skipped: it returns nil and the size. The error
// is io.EOF after the array, an errArray, or the body's.
func (a *arrayReader) next() (element []byte, size int64, err error) {
	separator, err := skipSpace(a.in)
	if err != nil {
		return nil, 0, arrayCut(err)
	}
	switch {
	case !a.begun: // separator is the bracket that isArray has read
	case separator == ']':
		return nil, 0, a.end()
	case separator != ',':
		return nil, 0, errArray{"expected a comma or the end of the array"}
	}
	c, err := skipSpace(a.in)
	switch {
	case err != nil:
		return nil, 0, arrayCut(err)
	case c == ']' && !a.begun:
		return nil, 0, a.end()
	case c == ']', c == ',':
		return nil, 0, errArray{"an element is missing next to a comma"}
	}
	a.begun = true
	return a.element(c)
}

// end checks that only white space follows the array.
func (a *arrayReader) end() error {
	switch _, err := skipSpace(a.in); {
	case err == nil:
		return errArray{"data after the end of the array"}
	default:
		return err
	}
}

// element reads an element whose first byte is c.
func (a *arrayReader) element(c byte) ([]byte, int64, error) {
	var kept []byte
	var size int64
	depth, inString, escaped := 0, false, false
	for {
		size++
		if size <= a.most {
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
			return nil, 0, errArray{fmt.Sprintf("unexpected %q", c)}
		}
		if !ended && !inString && depth == 0 {
			next, err := a.in.Peek(1)
			ended = err == nil && (next[0] == ',' || next[0] == ']' || isSpace(next[0])) // of a number or a literal
		}
		if ended {
			if size > a.most {
				kept = nil
			}
			return kept, size, nil
		}
		var err error
		c, err = a.in.ReadByte()
		if err != nil {
			return nil, 0, arrayCut(err)
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func skipSpace(in *bufio.Reader) (byte, error) {
	for {
		c, err := in.ReadByte()
		if err != nil || !isSpace(c) {
			return c, err
		}
	}
}

// arrayCut turns the end of the body inside the array into an errArray.
func arrayCut(err error) error {
	if errors.Is(err, io.EOF) {
		return errArray{"the text ends inside the array"}
	}
	return err
}
