package tui

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/muesli/cancelreader"

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
	s.servePlain(p)
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

// servePlain handles events until the session ends. After the end of the input, it waits
// for the conversation of before the start, but not for an envelope that does not come.
func (s *session) servePlain(p *plain) {
	closing := false
	var newest protocol.Seq // that was received
	tick := time.NewTicker(plainTick)
	defer tick.Stop()
	p.Print()
	for {
		list := s.next(tick.C)
		if list == nil {
			return
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
		if left || s.model.Over || p.Err != nil || closing && s.idle() && (newest >= s.recalled || quiet) {
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
		if len(line) <= conversation.MaxTyped {
			line = append(line, part...)
		}
		if !more {
			s.post(conversation.Typed{Text: string(line)})
			line = nil
		}
	}
}
