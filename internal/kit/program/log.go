package program

import (
	"io"
	"log/slog"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
)

// ParseLevel parses the value of the flag --log-level.
func ParseLevel(text string) (slog.Level, error) {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	level, ok := levels[text]
	if !ok {
		return level, Usagef("--log-level %q: expected debug, info, warn or error", text)
	}
	return level, nil
}

// NewLogger returns a logger of a format, text or json.
func NewLogger(w io.Writer, level slog.Level, format string) (*slog.Logger, error) {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: plainErrors}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(termsafe.JSONWriter(w), o)), nil
	}
	return nil, Usagef("--log-format %q: expected text or json", format)
}

// TextLogger returns a logger in text format.
func TextLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: plainErrors}))
}

// plainErrors replaces an error by its message. The text handler prints errors
// with %+v, which adds stack traces to errors of Pebble.
func plainErrors(_ []string, a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok {
		a.Value = slog.StringValue(err.Error())
	}
	return a
}
