package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/charmbracelet/x/term"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
)

// isTerminal reports whether a reader or writer is a terminal.
func isTerminal(rw any) bool {
	f, ok := rw.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(f.Fd())
}

// warn prints a warning on standard error.
func warn(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, "meup: "+format+"\n", args...) // standard error may be closed
}

// warnIfOpen warns about a token file that other users can read.
func warnIfOpen(w io.Writer, path string) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		warn(w, "warning: %s holds a token and can be read by others; chmod 600 %s", path, path)
	}
}

// newEncoder returns a JSON encoder whose output is safe to display in a
// terminal.
func newEncoder(w io.Writer) *json.Encoder { return json.NewEncoder(termsafe.JSONWriter(w)) }
