package tui

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muesli/cancelreader"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
)

// plain writes the model as lines, each once: for screen readers, terminals
// that move no cursor, and pipes. There is no colour, no sign that turns, and
// nothing is ever written over.
type plain struct {
	model *model
	out   io.Writer
	echo  bool // what is typed is not to be seen already
	err   error
}

// hungUp: there is nothing more to read from the person.
type hungUp struct{}

// runPlain writes and reads lines until the person leaves, or has said
// everything and it is sent.
func (s *session) runPlain() error {
	in, err := cancelreader.NewReader(s.opts.In)
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	defer in.Close() //nolint:errcheck // it ends with the program
	read := make(chan struct{})
	go func() { // ends with the input, or when it is cancelled; waited for below where it can be
		defer close(read)
		s.read(in)
	}()
	p := &plain{model: s.model, out: s.opts.Out, echo: !isTerminal(s.opts.In)}
	s.tellPlain(p)
	s.cancel()
	if in.Cancel() {
		<-read
	}
	s.lastWords()
	return errors.Join(p.err, s.model.err)
}

// plainTick is how often it is looked whether time has brought something: no
// sign turns here.
const plainTick = time.Second

// tellPlain handles events until the end.
func (s *session) tellPlain(p *plain) {
	closing := false
	tick := time.NewTicker(plainTick)
	defer tick.Stop()
	p.tell()
	for {
		list := s.next(tick.C)
		if list == nil {
			return
		}
		for _, e := range list {
			if _, ok := e.(hungUp); ok {
				closing = true
				continue
			}
			s.take(e)
			p.tell()
		}
		left := s.carryOut()
		p.tell()
		s.model.restore = "" // a terminal of lines has no prompt to put it into
		if left || s.model.over || p.err != nil || closing && s.idle() {
			return
		}
	}
}

// read posts what the person enters, a line at a time. The rest of a line that
// is too long for a message goes with it as far as the refusal needs.
func (s *session) read(in io.Reader) {
	r := bufio.NewReaderSize(in, 4096)
	var line []byte
	for {
		part, more, err := r.ReadLine()
		if err != nil {
			s.post(hungUp{})
			return
		}
		if len(line) <= maxTyped {
			line = append(line, part...)
		}
		if !more {
			s.post(typed{string(line)})
			line = nil
		}
	}
}

func (p *plain) tell() {
	for _, n := range p.model.takeNews() {
		if n.what == appeared {
			p.appear(n.block)
		} else {
			p.settle(n.block)
		}
	}
}

// write writes a line. Those behind the first have a bar in front, so that
// nothing that participants say looks like a line of its own.
func (p *plain) write(text string) {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n "), "\n", "\n| ")
	if _, err := fmt.Fprintln(p.out, text); err != nil && p.err == nil {
		p.err = fmt.Errorf("write: %w", err)
	}
}

// note writes what we say ourselves. No name begins with a star.
func (p *plain) note(text string) { p.write("* " + termsafe.Line(text)) }

// list writes lines of ours: what stands in two columns on a screen has a colon
// between.
func (p *plain) list(l lines) {
	for i, text := range l.left {
		if right := l.rightOf(i); right != "" {
			text += ": " + right
		}
		if i == 0 {
			p.note(text)
		} else {
			p.write("  " + termsafe.Line(text))
		}
	}
}

func (p *plain) appear(b *block) {
	m := p.model
	if !m.passes(b) {
		return
	}
	switch b.kind {
	case chatBlock:
		p.hear(b.chat)
	case thoughtBlock:
		if b.mind.state == thinking {
			p.note(shortName(b.mind.agent) + " is reasoning…")
		}
	case proposalBlock:
		q := b.proposal
		p.note("Proposal " + q.title() + ": " + q.call(maxListed))
		p.note(q.hint())
	case noticeBlock, errorBlock:
		p.list(b.lines)
	case textBlock:
		for _, l := range b.lines.left {
			p.write(painted(l))
		}
	case inputBlock:
		if p.echo {
			p.note(string(m.you) + ": " + b.lines.left[0])
		}
	}
}

func (p *plain) hear(c *chat) {
	m := p.model
	if !c.mine || p.echo {
		name := shortName(c.from)
		if c.from == m.you {
			name = "you"
		}
		words, _, _ := strings.Cut(m.heading(c), " · ")
		p.write(name + words + ": " + termsafe.Text(c.text))
	}
	if c.cut {
		p.note("The rest is not shown here; /export writes all of it.")
	}
	if c.state == waiting && m.link.lost {
		p.note("Waiting for the connection; the message goes out when it is back.")
		c.late = true
	}
}

func (p *plain) settle(b *block) {
	m := p.model
	switch {
	case b.chat != nil && b.chat.state == refused:
		p.note("Not sent: " + b.chat.why)
	case b.chat != nil && b.chat.undone != "":
		p.note("A message of " + shortName(b.chat.from) + " was withdrawn by " + b.chat.undone + ".")
	case b.chat != nil && b.chat.late:
		b.chat.late = false
		p.note("Sent: " + shorten(b.chat.text, 60))
	case b.mind != nil:
		p.note(m.spoken(b.mind))
	case b.proposal != nil:
		p.note(fmt.Sprintf("Proposal %d: %s", b.proposal.number, b.proposal.decided))
	}
}

// spoken says in words that somebody thinks no more.
func (m *model) spoken(d *mind) string {
	long, why := m.lasted(d, true), ""
	if d.why != "" {
		why = ": " + d.why
	}
	switch name := shortName(d.agent); d.state {
	case cancelled:
		return name + " was stopped in its reasoning after " + long + why + "."
	case stopped:
		return name + " stopped after " + long + ", since it has left."
	case thinking:
		return name + " goes on reasoning."
	default:
		return name + " thought for " + long + "."
	}
}
