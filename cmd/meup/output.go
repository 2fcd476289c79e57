package main

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/tui"
	"github.com/meup-protocol/meup/protocol"
)

// printer writes envelopes, one on a line.
type printer struct {
	out   *bufio.Writer
	json  bool
	style block.Style
	kinds bool // kinds were requested by name: print every envelope
	zone  *time.Location
	dates bool // print the day too
	width int  // of the terminal, to which lines are cut; 0: it is not one
	lines int  // that were printed
}

// warnIfEmpty warns that nothing was printed.
func (p *printer) warnIfEmpty(w io.Writer) {
	if p.lines == 0 {
		connect.Warn(w, "no envelopes match")
	}
}

func (p *printer) print(e *protocol.Envelope) error {
	switch {
	case e.Kind == protocol.KindSystemWelcome: // of a reconnect
		return nil
	case p.json:
		return p.write(string(termsafe.JSON(protocol.OneLine(protocol.AppendEnvelope(nil, protocol.DialectMEUP01, e)))))
	case e.Kind == protocol.KindStreamData && !p.kinds: // the complete text follows
		return nil
	}
	line := p.line(e)
	if p.width > 0 {
		line = tui.Fit(line, p.width)
	}
	return p.write(line)
}

func (p *printer) write(line string) error {
	p.lines++
	if _, err := p.out.WriteString(line); err != nil {
		return err
	}
	return p.out.WriteByte('\n')
}

// line formats an envelope: time, from → to, kind, context, text.
func (p *printer) line(e *protocol.Envelope) string {
	s := &p.style
	var b strings.Builder
	layout := time.TimeOnly
	if p.dates {
		layout = time.DateTime
	}
	b.WriteString(s.Paint(s.Dim, e.TS.In(p.zone).Format(layout)))
	b.WriteString("  " + s.Paint(s.Name, termsafe.Words(string(e.From))))
	if len(e.To) > 0 {
		var to []string
		for _, id := range e.To {
			to = append(to, termsafe.Words(string(id)))
		}
		b.WriteString(" → " + strings.Join(to, ", "))
	}
	b.WriteString("  " + s.Paint(s.Tool, termsafe.Words(string(e.Kind))))
	if e.Context != "" {
		b.WriteString("  " + s.Paint(s.Dim, "["+termsafe.Words(p.context(e.Context))+"]"))
	}
	if text := block.Summary(e); text != "" {
		b.WriteString("  " + text)
	}
	return b.String()
}

// context formats a context path. On a terminal, of each name that is a UUID, it is the end,
// which is enough to select it.
func (p *printer) context(path protocol.ContextPath) string {
	if p.width == 0 {
		return string(path)
	}
	names := strings.Split(string(path), "/")
	for i, name := range names {
		if uuid.Validate(name) == nil {
			names[i] = "…" + name[len(name)-8:]
		}
	}
	return strings.Join(names, "/")
}

// newEncoder returns a JSON encoder whose output is safe to display in a
// terminal.
func newEncoder(w io.Writer) *json.Encoder { return json.NewEncoder(termsafe.JSONWriter(w)) }
