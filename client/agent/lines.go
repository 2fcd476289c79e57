package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
)

// lines is a handler that writes records as lines for a person, in the words that all kits
// have (sdk/conformance/vectors/client/lines.txtar). Of the messages that are not among the
// sentences, it writes warnings and errors only.
type lines struct {
	out   io.Writer
	attrs []slog.Attr
	lost  *atomic.Bool // the loss of the connection is written, once
}

// sentences has the lines of messages, with the names of attributes in braces; "": none, since
// Main writes the error of Run. A stack keeps its lines.
var sentences = map[string]string{
	"gateway not reached; trying again": "waiting for the gateway at {gateway}: {err}",
	"gateway reached":                   "the gateway at {gateway} is reached",
	"joined":                            "joined {space} as {participant} at {gateway}",
	msgLost:                             "the connection to the gateway at {gateway} is lost, trying again: {err}",
	msgRegained:                         "the gateway at {gateway} is reached again",
	"the gateway ended the connection for good": "",
	"capability missing":                        "capability missing: {capability}: {without}",
	"question refused: too many are waiting":    "question {question} of {from} refused: too many are waiting",
	"question begins":                           "question {question} of {from} begins",
	"question ended":                            "question {question} of {from}: answered in {seconds} s",
	"the planner panicked":                      "OnQuestion panicked ({panic}):\n{stack}",
	"question ended without an answer":          "question {question} of {from}: not answered after {seconds} s: {err}",
}

// The messages of a connection that is lost and regained.
const (
	msgLost     = "connection lost; trying again"
	msgRegained = "gateway reached again"
)

// Enabled returns true for Info and above.
func (l lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle writes a record as one line.
func (l lines) Handle(_ context.Context, r slog.Record) error {
	attrs := slices.Clone(l.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	line, known := sentences[r.Message]
	switch {
	case r.Message == msgLost && l.lost.Swap(true):
		return nil
	case r.Message == msgRegained:
		l.lost.Store(false)
	}
	switch {
	case r.Message == "stopping":
		line = stopping(attrs[len(attrs)-1].Value.Int64())
	case known && line == "", !known && r.Level < slog.LevelWarn:
		return nil
	case known:
		var pairs []string
		for _, a := range attrs {
			value := a.Value.String()
			if a.Key != "stack" {
				value = oneLine(value)
			}
			pairs = append(pairs, "{"+a.Key+"}", value)
		}
		line = strings.NewReplacer(pairs...).Replace(line)
	default:
		line = r.Message
		for _, a := range attrs {
			line += " " + oneLine(a.String())
		}
	}
	_, err := fmt.Fprintf(l.out, "meup: %s\n", line)
	return err
}

// WithAttrs returns a handler that has more attributes.
func (l lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	l.attrs = append(slices.Clip(l.attrs), attrs...)
	return l
}

// WithGroup returns the handler: no message has groups.
func (l lines) WithGroup(string) slog.Handler { return l }

func stopping(questions int64) string {
	switch questions {
	case 0:
		return "stopping"
	case 1:
		return "stopping: 1 question stays open until the next start"
	}
	return fmt.Sprintf("stopping: %d questions stay open until the next start", questions)
}

// oneLine replaces control and invisible characters, which text of other participants may have.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf) {
			return ' '
		}
		return r
	}, s)
}
