package tui

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/muesli/cancelreader"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
)

// plain writes the model as lines, each once: for screen readers, terminals
// without cursor movement, and pipes. There are no colors and no spinner, and
// nothing is overwritten.
type plain struct {
	model *model
	out   io.Writer
	echo  bool // print typed input, since the terminal does not echo it
	err   error
}

// inputEnded: the input has ended.
type inputEnded struct{}

// runPlain writes and reads lines until the person leaves, or until the input
// ends and everything is sent.
func (s *session) runPlain() error {
	in, err := cancelreader.NewReader(s.opts.In)
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	defer in.Close() //nolint:errcheck // it ends with the program
	read := make(chan struct{})
	go func() { // ends with the input, or when it is cancelled; waited for below where that is possible
		defer close(read)
		s.read(in)
	}()
	p := &plain{model: s.model, out: s.opts.Out, echo: !isTerminal(s.opts.In)}
	s.servePlain(p)
	s.cancel()
	if in.Cancel() {
		<-read
	}
	s.printUnsent()
	return errors.Join(p.err, s.model.err)
}

// plainTick is the interval for changes that depend on time: there is no
// spinner to draw.
const plainTick = time.Second

// servePlain handles events until the session ends.
func (s *session) servePlain(p *plain) {
	closing := false
	tick := time.NewTicker(plainTick)
	defer tick.Stop()
	p.printNews()
	for {
		list := s.next(tick.C)
		if list == nil {
			return
		}
		for _, e := range list {
			if _, ok := e.(inputEnded); ok {
				closing = true
				continue
			}
			s.take(e)
			p.printNews()
		}
		left := s.startEffects()
		p.printNews()
		s.model.restore = "" // the plain output has no prompt to restore it to
		if left || s.model.over || p.err != nil || closing && s.idle() {
			return
		}
	}
}

// read posts the person's input, a line at a time. A line that is longer than a
// message is cut just above the limit, so that the model refuses it.
func (s *session) read(in io.Reader) {
	r := bufio.NewReaderSize(in, 4096)
	var line []byte
	for {
		part, more, err := r.ReadLine()
		if err != nil {
			s.post(inputEnded{})
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

func (p *plain) printNews() {
	for _, n := range p.model.takeNews() {
		if n.what == appeared {
			p.appear(n.block)
		} else {
			p.settle(n.block)
		}
	}
}

// write writes a text. Lines after the first begin with a bar, so that text of
// participants cannot imitate a line of the terminal.
func (p *plain) write(text string) {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n "), "\n", "\n| ")
	if _, err := fmt.Fprintln(p.out, text); err != nil && p.err == nil {
		p.err = fmt.Errorf("write: %w", err)
	}
}

// printNotice writes a notice of the terminal. No participant name begins with a star.
func (p *plain) printNotice(text string) { p.write("* " + termsafe.Line(text)) }

// list writes lines; two columns are separated by a colon.
func (p *plain) list(l lines) {
	for i, text := range l.left {
		if right := l.rightOf(i); right != "" {
			text += ": " + right
		}
		if i == 0 {
			p.printNotice(text)
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
		p.printMessage(b.chat)
	case reasoningBlock:
		if b.reasoning.state == thinking {
			p.printNotice(shortName(b.reasoning.agent) + " is reasoning…")
		}
	case proposalBlock:
		q := b.proposal
		p.printNotice("Proposal " + q.title() + ": " + q.call(maxListed))
		p.printNotice(q.hint())
	case noticeBlock, errorBlock:
		p.list(b.lines)
	case textBlock:
		for _, l := range b.lines.left {
			p.write(painted(l))
		}
	case inputBlock:
		if p.echo {
			p.printNotice(string(m.you) + ": " + b.lines.left[0])
		}
	}
}

func (p *plain) printMessage(c *chat) {
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
		p.printNotice("The rest is not shown here; /export writes all of it.")
	}
	if c.state == waiting && m.link.lost {
		p.printNotice("Waiting for the connection; the message goes out when it is back.")
		c.late = true
	}
}

func (p *plain) settle(b *block) {
	m := p.model
	switch {
	case b.chat != nil && b.chat.state == refused:
		p.printNotice("Not sent: " + b.chat.why)
	case b.chat != nil && b.chat.withdrawnBy != "":
		p.printNotice("A message of " + shortName(b.chat.from) + " was withdrawn by " + b.chat.withdrawnBy + ".")
	case b.chat != nil && b.chat.late:
		b.chat.late = false
		p.printNotice("Sent: " + textutil.Shorten(b.chat.text, 60))
	case b.reasoning != nil:
		p.printNotice(m.endedText(b.reasoning))
	case b.proposal != nil:
		p.printNotice(fmt.Sprintf("Proposal %d: %s", b.proposal.number, b.proposal.decided))
	}
}

// endedText describes, as a sentence, how a participant's reasoning ended.
func (m *model) endedText(d *reasoning) string {
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
