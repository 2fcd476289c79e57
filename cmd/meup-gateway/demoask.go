package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// askOnce sends the question, prints the envelopes as they arrive, and returns
// after the answer.
func (s *demoEnv) askOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.flags.timeout, errors.New("no answer within the timeout"))
	defer cancel()
	you, err := s.dial(ctx, "you", client.Position{})
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer you.Close() //nolint:errcheck // the demo is over
	payload, err := json.Marshal(map[string]string{"message": s.flags.ask})
	if err != nil {
		return err
	}
	question, err := you.Send(ctx, protocol.Envelope{Kind: protocol.KindChat, Payload: payload})
	if err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	for {
		e, err := you.Receive(ctx)
		if err != nil {
			return fmt.Errorf("wait for the answer: %w", err)
		}
		s.print(&e)
		if e.Kind == protocol.KindChat && e.From == "guide" && e.Correlation.Names(question.ID) {
			return nil
		}
	}
}

// print writes one envelope on one line; only the question and the answer are
// not cut.
func (s *demoEnv) print(e *protocol.Envelope) {
	if e.Kind == protocol.KindSystemPresence {
		return
	}
	indent := strings.Repeat("  ", e.Context.Depth())
	text := termsafe.Text(describe(e))
	if e.Kind != protocol.KindChat {
		text = termsafe.Cut(termsafe.Words(text), 120)
	}
	fmt.Fprintf(s.out, "%4d %s%-22s %s: %s\n", e.Seq, indent, termsafe.Words(string(e.Kind)), termsafe.Words(string(e.From)), text)
}

func describe(e *protocol.Envelope) string {
	p := e.ParsePayload()
	switch {
	case !p.Exists():
		return string(e.Payload)
	case e.Kind == protocol.KindMCPRequest && !p.Get("params").Get("name").Exists():
		return p.Get("method").Text()
	case e.Kind == protocol.KindMCPRequest:
		return p.Get("params").Get("name").Text() + " " + string(p.Get("params").Get("arguments").Raw())
	case e.Kind == protocol.KindMCPResponse && p.Get("error").Exists():
		return "failed: " + p.Get("error").Get("message").Text()
	case e.Kind == protocol.KindMCPResponse:
		for content := range p.Get("result").Get("content").Elements {
			return content.Get("text").Text()
		}
	}
	if m := p.Get("message"); m.Exists() {
		return m.Text()
	}
	return string(e.Payload)
}
