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

// Ask writes a question and reads a line, without the spaces around it. Errors: io.EOF at
// the end of the input; ErrInterrupted as soon as ctx ends.
func Ask(ctx context.Context, in *bufio.Reader, out io.Writer, question string) (string, error) {
	if _, err := io.WriteString(out, question); err != nil {
		return "", err
	}
	line, err := Interruptible(ctx, func() (string, error) { return in.ReadString('\n') })
	if errors.Is(err, ErrInterrupted) {
		_, _ = io.WriteString(out, "\n") // the error follows on a line of its own
	}
	if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
		return "", err
	}
	return strings.TrimSpace(line), nil
}

// DiscardTyped drops what was typed at a terminal before a question that decides, so that
// it is not taken for the answer; in reads from it. Other inputs keep their lines.
func DiscardTyped(in *bufio.Reader, from io.Reader) {
	if f, ok := from.(interface{ Fd() uintptr }); ok && term.IsTerminal(f.Fd()) {
		_, _ = in.Discard(in.Buffered())
		discardTyped(f.Fd())
	}
}

// Confirm asks a question that y or yes affirms; the end of the input does not. Errors:
// as of Ask, without io.EOF.
func Confirm(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	lines := bufio.NewReader(in)
	DiscardTyped(lines, in)
	answer, err := Ask(ctx, lines, out, question+" [y/N] ")
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	answer = strings.ToLower(answer)
	return answer == "y" || answer == "yes", err
}
