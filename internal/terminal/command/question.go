package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/mcp/elicit"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
	"github.com/meup-protocol/meup/protocol"
)

// AnswerQuestion asks the person the question of a tool server, and sends the answer. The prompt ends
// when the question is over; now returns the time by the gateway's clock. Errors: ErrQuit.
func AnswerQuestion(c *cobra.Command, t *connect.Target, in *program.Lines, question *protocol.Envelope, now func() time.Time) error {
	form := elicit.Asks(question, question.To[0])
	if form == nil {
		return nil
	}
	out := c.OutOrStdout()
	in.Discard() // typed before the question, so not for it
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	over := false
	var watching sync.WaitGroup
	watching.Go(func() {
		over = awaitOver(ctx, t, question, form.Expires, now)
		if over {
			cancel()
		}
	})
	action, content, err := fill(ctx, in, out, question, form)
	cancel()
	watching.Wait()
	switch {
	case over && errors.Is(err, program.ErrInterrupted) && c.Context().Err() == nil:
		fmt.Fprintln(out, "The question is over: an answer is no longer needed.")
		return nil
	case err != nil:
		return err
	}
	e := elicit.Reply(question, action, content)
	e.ID = newID() // to send it again is safe
	_, err = connect.Retry(c.Context(), c.ErrOrStderr(), func() (api.Receipt, error) { return t.API.Send(c.Context(), t.Space, e) })
	var refused *api.StatusError
	if errors.As(err, &refused) && refused.Refusal != nil && !connect.AccessCodes[refused.Refusal.Code] && !refused.Temporary() {
		fmt.Fprintf(out, "Not sent: %s\n", termsafe.Words(err.Error()))
		return nil
	}
	return err
}

// fill shows a question and reads the answer to it, field by field.
func fill(ctx context.Context, in *program.Lines, out io.Writer, question *protocol.Envelope, form *elicit.Question) (action string, content []byte, err error) {
	host := termsafe.Words(string(question.From))
	fmt.Fprintf(out, "%s asks you%s:\n  %s\n", host, conversation.ServerClause(form), strings.ReplaceAll(termsafe.Text(form.Message), "\n", "\n  "))
	prompt := "Answer? [y]es, [n]o (declines): "
	if form.URL == "" {
		fmt.Fprintf(out, "The answer goes to %s and stays in the log, where others may read it: enter no passwords.\n", host)
	} else {
		fmt.Fprintf(out, "  Open: %s\n", termsafe.Line(form.URL))
		prompt = "Have you opened it? [y]es, [n]o (declines): "
	}
	for action == "" {
		asked := time.Now()
		line, err := in.Ask(ctx, out, prompt)
		switch {
		case errors.Is(err, io.EOF):
			return "", nil, ErrQuit
		case err != nil:
			return "", nil, err
		case (line == "y" || line == "yes") && time.Since(asked) < tooEarly:
			fmt.Fprintln(out, "The question has just appeared: answer it again.")
		case line == "y" || line == "yes":
			action = elicit.Accept
		case line == "n" || line == "no":
			return elicit.Decline, nil, nil
		}
	}
	answers := elicit.NewAnswers(form)
	for f := answers.Next(); f != nil; f = answers.Next() {
		lines := conversation.FieldLines(f, "a value", "an empty line")
		for _, line := range lines {
			fmt.Fprintln(out, line)
		}
		line, err := in.Ask(ctx, out, "> ")
		switch {
		case errors.Is(err, io.EOF):
			return "", nil, ErrQuit
		case err != nil:
			return "", nil, err
		}
		if err := answers.Put(line); err != nil {
			fmt.Fprintf(out, "Not valid: %s.\n", termsafe.Line(err.Error()))
		}
	}
	return action, answers.Content(), nil
}

// awaitOver reports whether a question ends, by its time or in the log, before ctx does.
func awaitOver(ctx context.Context, t *connect.Target, question *protocol.Envelope, expires time.Time, now func() time.Time) bool {
	again := time.NewTicker(settledInterval)
	defer again.Stop()
	since := question.Seq
	for {
		select {
		case <-again.C:
		case <-ctx.Done():
			return false
		}
		if !expires.IsZero() && !now().Before(expires) {
			return true
		}
		page, err := t.API.Envelopes(ctx, t.Space, api.EnvelopeQuery{Since: since, Kinds: []string{string(protocol.KindMCPRequest), string(protocol.KindMCPResponse)}, Limit: 100})
		if err != nil {
			continue // such as while the gateway is away
		}
		for i := range page.Envelopes {
			if elicit.Over(question, &page.Envelopes[i]) {
				return true
			}
		}
		since = max(since, page.Next)
	}
}
