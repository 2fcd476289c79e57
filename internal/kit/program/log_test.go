package program

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// traced is an error that prints more with %+v, as errors of Pebble do.
type traced struct{}

func (traced) Error() string { return "disk full" }

func (traced) Format(s fmt.State, _ rune) {
	_, _ = fmt.Fprint(s, "disk full")
	if s.Flag('+') {
		_, _ = fmt.Fprint(s, "\n  at flush.go:12\n  at run.go:7")
	}
}

func TestNewLogger_ErrorsWithoutStackTraces(t *testing.T) {
	for format, want := range map[string]string{"text": `error="open log: disk full"`, "json": `"error":"open log: disk full"`} {
		t.Run(format, func(t *testing.T) {
			var out bytes.Buffer
			log, err := NewLogger(&out, slog.LevelInfo, format)
			if err != nil {
				t.Fatal(err)
			}
			log.Warn("it fails", "error", fmt.Errorf("open log: %w", traced{}))
			log.Warn("it fails", slog.Group("store", "error", error(traced{})))
			if got := out.String(); strings.Contains(got, "flush.go") || !strings.Contains(got, want) || strings.Count(got, "\n") != 2 {
				t.Errorf("%s", got)
			}
		})
	}
	var usage *UsageError
	if _, err := NewLogger(nil, 0, "xml"); !errors.As(err, &usage) {
		t.Errorf("format xml: %v", err)
	}
}
