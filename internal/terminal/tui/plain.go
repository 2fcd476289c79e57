package tui

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muesli/cancelreader"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
	"github.com/meup-protocol/meup/protocol"
)

// inputEnded: the input has ended.
type inputEnded struct{}

// runPlain writes and reads lines until the person leaves, or until the input
// ends and everything is sent.
func (s *session) runPlain() error {
	in, err := cancelreader.NewReader(s.opts.In)
	if err != nil { // a file, or /dev/null: reads from it do not block
		in, err = cancelreader.NewReader(struct{ io.Reader }{s.opts.In})
	}
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	defer in.Close() //nolint:errcheck // it ends with the program
	read := make(chan struct{})
	go func() { // ends with the input, or when it is canceled; waited for below where that is possible
		defer close(read)
		s.read(in)
	}()
	p := newPlain(s.model, s.opts.Out, !IsTerminal(s.opts.In))
	closing := false
	var newest protocol.Seq // that was received
	tick := time.NewTicker(plainTick)
	defer tick.Stop()
	p.Print()
	for {
		list := s.next(tick.C)
		if list == nil {
			break
		}
		quiet := true
		for _, e := range list {
			switch e := e.(type) {
			case inputEnded:
				closing, quiet = true, false
				continue
			case conversation.Ticked:
			case conversation.Received:
				newest, quiet = max(newest, e.Envelope.Seq), false
			default:
				quiet = false
			}
			s.take(e)
			p.Print()
		}
		left := s.startEffects()
		p.Print()
		s.model.Restore = "" // the plain output has no prompt to restore it to
		// After the end of the input, the conversation of before the start is waited for,
		// but not an envelope that does not come.
		idle := s.sends+s.reads+s.turnReads == 0 && len(s.model.Unsent()) == 0
		if left || s.model.Over || p.Err != nil || closing && idle && (newest >= s.recalled || quiet) {
			break
		}
	}
	s.cancel()
	if in.Cancel() {
		<-read
	}
	s.printUnsent()
	return errors.Join(p.Err, s.model.Err)
}

// plainTick is the interval for changes that depend on time: there is no
// spinner to draw.
const plainTick = time.Second

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
		if len(line) <= conversation.MaxTyped {
			line = append(line, part...)
		}
		if !more {
			s.post(conversation.Typed{Text: string(line)})
			line = nil
		}
	}
}

// plain writes the model as lines, each once: for screen readers, terminals
// without cursor movement, and pipes. There are no colors and no spinner, and
// nothing is overwritten.
type plain struct {
	Err error // of the first write that failed

	model  *conversation.Model
	out    io.Writer
	echo   bool
	queued map[*conversation.Chat]bool // messages with a notice that they wait for the connection
}

// newPlain returns a plain that writes to out. With echo, it writes typed input,
// too, since the terminal does not show it.
func newPlain(m *conversation.Model, out io.Writer, echo bool) *plain {
	return &plain{model: m, out: out, echo: echo, queued: make(map[*conversation.Chat]bool)}
}

// Print writes the changes since the last call.
func (p *plain) Print() {
	for _, n := range p.model.TakeNews() {
		if n.Settled {
			p.settle(n.Block)
		} else {
			p.appear(n.Block)
		}
	}
}

// write writes a text. Lines after the first begin with a bar, so that text of
// participants cannot imitate a line of the terminal.
func (p *plain) write(text string) {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n "), "\n", "\n| ")
	if _, err := fmt.Fprintln(p.out, text); err != nil && p.Err == nil {
		p.Err = fmt.Errorf("write: %w", err)
	}
}

// printNotice writes a notice of the terminal. No participant name begins with a star.
func (p *plain) printNotice(text string) { p.write("* " + termsafe.Line(text)) }

// list writes lines; two columns are separated by a colon.
func (p *plain) list(l conversation.Lines) {
	for i, text := range l.Left {
		if right := l.RightOf(i); right != "" {
			text += ": " + right
		}
		if i == 0 {
			p.printNotice(text)
		} else {
			p.write("  " + termsafe.Line(text))
		}
	}
}

func (p *plain) appear(b *conversation.Block) {
	m := p.model
	if !m.Passes(b) {
		return
	}
	switch b.Kind {
	case conversation.ChatBlock:
		c := b.Chat
		if !c.Mine || p.echo {
			name := termsafe.Name(c.From)
			if c.From == m.You {
				name = "you"
			}
			words, _, _ := strings.Cut(heading(m, c), " · ")
			p.write(name + words + ": " + termsafe.Text(c.Text))
		}
		if c.Cut {
			p.printNotice("Truncated; /export writes the full text.")
		}
		if c.State == conversation.Waiting && m.Link.Lost {
			p.printNotice("Not connected; the message is sent when the connection is restored.")
			p.queued[c] = true
		}
	case conversation.ReasoningBlock:
		if b.Reasoning.State == block.Thinking {
			p.printNotice(termsafe.Name(b.Reasoning.Agent) + " is reasoning…")
		}
	case conversation.ProposalBlock:
		q := b.Proposal
		p.printNotice("Proposal " + q.Title() + ": " + q.Brief())
	case conversation.NoticeBlock, conversation.ErrorBlock:
		p.list(b.Lines)
	case conversation.TextBlock:
		for _, l := range b.Lines.Left {
			p.write(painted(l))
		}
	case conversation.InputBlock:
		if p.echo {
			p.printNotice(string(m.You) + ": " + b.Lines.Left[0])
		}
	}
}

func (p *plain) settle(b *conversation.Block) {
	m, queued := p.model, p.queued[b.Chat]
	delete(p.queued, b.Chat)
	switch {
	case b.Chat != nil && b.Chat.State == conversation.Refused:
		p.printNotice("Not sent: " + b.Chat.Why)
	case b.Chat != nil && b.Chat.WithdrawnBy != "":
		p.printNotice("A message of " + termsafe.Name(b.Chat.From) + " was withdrawn by " + b.Chat.WithdrawnBy + ".")
	case queued:
		p.printNotice("Sent: " + textutil.Shorten(b.Chat.Text, 60))
	case b.Reasoning != nil:
		p.printNotice(endedText(m, b.Reasoning))
		if b.Reasoning.InMessage {
			for _, s := range b.Reasoning.Steps("") {
				p.write("  • " + termsafe.Words(s.Text))
			}
		}
	case b.Proposal != nil && b.Proposal.Decided == "": // whether one may decide is known
		if hint := b.Proposal.Hint(); hint != "" {
			p.printNotice(hint)
		}
	case b.Proposal != nil:
		p.printNotice(fmt.Sprintf("Proposal %d: %s", b.Proposal.Number, b.Proposal.Decided))
	}
}

// endedText describes, as a sentence, how a participant's reasoning ended.
func endedText(m *conversation.Model, d *block.Reasoning) string {
	long, why := lasted(m, d, true), ""
	if d.Why != "" {
		why = ": " + d.Why
	}
	switch name := termsafe.Name(d.Agent); d.State {
	case block.Canceled:
		return name + " was canceled after " + long + why + "."
	case block.Stopped:
		return name + " left after " + long + " of reasoning."
	case block.Thinking:
		return name + " resumed reasoning."
	default:
		return name + " thought for " + long + "."
	}
}
