package program

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/charmbracelet/x/term"
)

// ErrInterrupted ends a program that Ctrl-C interrupted before its work was done.
var ErrInterrupted error = &ExitError{Code: ExitInterrupted, Err: errors.New("interrupted")}

// Interruptible returns the result of read, or ErrInterrupted as soon as ctx ends: reads
// from a terminal cannot be canceled. The read continues until the program ends, so the
// caller must not read from the same input afterwards.
func Interruptible[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() { // ends with the read, or with the program
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		if ctx.Err() == nil {
			return r.value, r.err
		}
	case <-ctx.Done():
	}
	var zero T
	return zero, ErrInterrupted
}

// Lines reads the answers to questions from an input, line by line. Its methods must not
// be called concurrently.
type Lines struct {
	from io.Reader
	in   *bufio.Reader
	next chan line // of the read that is in progress; nil: there is none
}

type line struct {
	text string
	err  error
}

// NewLines returns the lines of an input, which must not be read otherwise.
func NewLines(from io.Reader) *Lines { return &Lines{from: from, in: bufio.NewReader(from)} }

// Ask writes a question and reads a line, without the spaces around it. Errors: io.EOF at
// the end of the input; ErrInterrupted as soon as ctx ends. The line that is read
// afterwards answers the next question.
func (l *Lines) Ask(ctx context.Context, out io.Writer, question string) (string, error) {
	if _, err := io.WriteString(out, question); err != nil {
		return "", err
	}
	if l.next == nil {
		next := make(chan line, 1)
		go func() { // ends with the read, or with the program: reads from a terminal cannot be canceled
			text, err := l.in.ReadString('\n')
			next <- line{text, err}
		}()
		l.next = next
	}
	select {
	case got := <-l.next:
		l.next = nil
		switch {
		case ctx.Err() != nil:
		case got.err != nil && (got.text == "" || !errors.Is(got.err, io.EOF)):
			return "", got.err
		default:
			return strings.TrimSpace(got.text), nil
		}
	case <-ctx.Done():
	}
	_, _ = io.WriteString(out, "\n") // the error follows on a line of its own
	return "", ErrInterrupted
}

// Discard drops the lines that were typed at a terminal before a question that decides, so
// that they are not taken for the answer. Other inputs keep their lines.
func (l *Lines) Discard() {
	f, ok := l.from.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(f.Fd()) {
		return
	}
	discardTyped(f.Fd())
	if l.next != nil {
		select {
		case <-l.next:
			l.next = nil
		default: // the read in progress has no line
			return
		}
	}
	_, _ = l.in.Discard(l.in.Buffered())
}

// Confirm asks a question that y or yes affirms; the end of the input does not. Errors:
// as of Lines.Ask, without io.EOF.
func Confirm(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	lines := NewLines(in)
	lines.Discard()
	answer, err := lines.Ask(ctx, out, question+" [y/N] ")
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	answer = strings.ToLower(answer)
	return answer == "y" || answer == "yes", err
}
