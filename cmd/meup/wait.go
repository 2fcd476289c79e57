package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/mcp/elicit"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/command"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
	"github.com/meup-protocol/meup/internal/terminal/tui"
	"github.com/meup-protocol/meup/protocol"
)

// sendAndWait joins before it sends, so that it cannot miss a fast answer.
func sendAndWait(c *cobra.Command, a *app, f *sendFlags, t *connect.Target, draft protocol.Envelope) error {
	style, err := a.style(c.ErrOrStderr())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(c.Context())
	defer cancel(nil)
	deadline := a.Env.After(f.timeout, func() { cancel(context.DeadlineExceeded) })
	defer deadline.Stop()
	opts := t.DialOptions(c.ErrOrStderr())
	opts.Filter = protocol.Filter{Kinds: []string{string(protocol.KindChat), string(protocol.KindChatAcknowledge), "reasoning/*", string(protocol.KindSystemPresence)}}
	member, err := connect.Dial(ctx, opts)
	if err != nil {
		return late(ctx, err, "no connection within %s", f.timeout)
	}
	defer member.Close() //nolint:errcheck // it waits for the client's goroutines and returns nil
	r, err := member.Send(ctx, draft)
	if err != nil {
		return late(ctx, command.SuggestName(ctx, t, &draft, err), "%s was not acknowledged within %s", r.ID, f.timeout)
	}
	interactive := !f.json && tui.IsTerminal(c.InOrStdin()) && tui.IsTerminal(c.OutOrStdout())
	w := &waiter{target: t, member: member, id: r.ID, flags: connect.Given(c.Flags()), errOut: c.ErrOrStderr()}
	paused, err := w.warn(ctx, &draft, interactive)
	if err != nil {
		return err
	}
	quiet, silent := context.WithCancel(ctx)
	defer silent()
	if w.silence != "" {
		defer a.Env.After(conversation.Silence, silent).Stop()
	}
	w.onProposal = func(e *protocol.Envelope) error {
		p := command.DescribeProposal(e, time.Now())
		connect.Warn(c.ErrOrStderr(), "%s waits for your decision: %s", p.Subject(), p.ApproveCommand(w.flags))
		return nil
	}
	w.onQuestion = func(e *protocol.Envelope) error {
		connect.Warn(c.ErrOrStderr(), "%s asks you a question that only the page, meup join and meup send --wait at a terminal can answer", termsafe.Words(string(e.From)))
		return nil
	}
	var in *program.Lines
	if interactive {
		in = program.NewLines(c.InOrStdin())
		w.onProposal = func(e *protocol.Envelope) error {
			deadline.Stop() // the time to decide does not count
			defer deadline.Reset(f.timeout)
			return command.DecideProposal(c, t, in, e, 0, style) // the answer follows
		}
		w.onQuestion = func(e *protocol.Envelope) error {
			deadline.Stop()
			defer deadline.Reset(f.timeout)
			return command.AnswerQuestion(c, t, in, e, func() time.Time { return member.Welcome().Now() })
		}
	}
	answer, err := w.await(ctx, quiet)
	switch {
	case err == nil:
	case c.Context().Err() != nil:
		return &program.ExitError{Code: program.ExitInterrupted, Err: fmt.Errorf("interrupted; %w", w.interrupted(c, in, &draft))}
	case errors.Is(err, command.ErrQuit):
		return &program.ExitError{Code: connect.ExitTimedOut, Err: w.unanswered(c, &draft)}
	case timedOut(ctx):
		return late(ctx, err, "no answer to %s within %s%s%s", r.ID, f.timeout, paused, w.undecided(c.Context()))
	default:
		return err
	}
	return w.print(c, f, r, answer, interactive, style)
}

// warn says before the wait who will not answer at once: nobody of those who were asked, several
// agents, or one that is paused. paused says so in the report of a timeout.
func (w *waiter) warn(ctx context.Context, draft *protocol.Envelope, interactive bool) (paused string, err error) {
	roster, err := w.target.API.Roster(ctx, w.target.Space)
	if err != nil {
		return "", nil //nolint:nilerr // there are no warnings
	}
	d, connected := drafted(roster, draft)
	if err := noteAnswerers(w.errOut, &d, roster.You.ID, connected, interactive); err != nil {
		return "", err
	}
	w.silence = d.Ambiguous(roster.You.ID, connected, toFlag)
	paused = pausedOf(roster, draft.To)
	if paused == "" {
		return "", nil
	}
	connect.Warn(w.errOut, "%s; the answer comes after meup resume", paused)
	return ": " + paused, nil
}

// answered is the output of --json.
type answered struct {
	api.Receipt
	Answer *protocol.Envelope `json:"answer"`
}

// print writes the answer, and the reasoning behind it if it is asked for. The error says that whoever
// answered gave up.
func (w *waiter) print(c *cobra.Command, f *sendFlags, sent client.Receipt, answer *protocol.Envelope, interactive bool, style block.Style) error {
	marks, text := textutil.SplitMarks(chatText(answer))
	text = termsafe.Text(text)
	var err error
	switch {
	case f.json:
		err = newEncoder(c.OutOrStdout()).Encode(answered{api.Receipt{ID: sent.ID, Seq: sent.Seq}, answer})
	case interactive: // another agent than the mentioned one may have answered
		_, err = fmt.Fprintln(c.OutOrStdout(), style.Paint(style.Name, termsafe.Words(string(answer.From)))+": "+text)
	default:
		_, err = fmt.Fprintln(c.OutOrStdout(), text)
	}
	if err != nil {
		return err
	}
	if f.reasoning {
		if _, err := io.WriteString(c.ErrOrStderr(), block.MarkedText(marks, style)); err != nil {
			return err
		}
		if err := explain(c.Context(), w.target, answer.ID, style, c.ErrOrStderr()); err != nil { // the answer was printed all the same
			connect.Warn(c.ErrOrStderr(), "no reasoning: %s", termsafe.Words(err.Error()))
		}
	}
	working := w.workOf(answer.From)
	if len(working) > 0 && !slices.ContainsFunc(working, func(of *work) bool { return !of.canceled }) {
		return fmt.Errorf("%s gave the question up and canceled its reasoning; its message says why", termsafe.Words(string(answer.From)))
	}
	return nil
}

// withdrawTimeout bounds the question whether to withdraw the message, since SIGTERM
// interrupts too, and the withdrawal.
const withdrawTimeout = 30 * time.Second

// interrupted offers a caller at a terminal to withdraw the message, and is the error
// afterwards. in is nil without a terminal.
func (w *waiter) interrupted(c *cobra.Command, in *program.Lines, message *protocol.Envelope) error {
	if in == nil {
		return w.unanswered(c, message)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), withdrawTimeout)
	defer cancel()
	in.Discard()
	answer, err := in.Ask(ctx, c.ErrOrStderr(), "\nWithdraw the question? [y/N] ")
	answer = strings.ToLower(answer)
	if err != nil || answer != "y" && answer != "yes" {
		return w.unanswered(c, message)
	}
	_, err = w.target.API.Send(ctx, w.target.Space, protocol.Envelope{
		Kind: protocol.KindChatCancel, To: message.To, Correlation: protocol.CorrelateTo(w.id), Payload: json.RawMessage(`{"reason":"no_longer_needed"}`),
	})
	if err != nil {
		return fmt.Errorf("the question was not withdrawn: %w; %w", err, w.unanswered(c, message))
	}
	return errors.New("the question was withdrawn")
}

// unanswered is the error of a caller who stops waiting: it has the command that shows the
// conversation of the message, and what is not decided.
func (w *waiter) unanswered(c *cobra.Command, message *protocol.Envelope) error {
	command := "meup history"
	if len(message.Correlation.IDs) == 0 {
		command += " --thread " + string(w.id)
	}
	return fmt.Errorf("the message was sent, and %s shows its answer%s", command+w.flags, w.undecided(context.WithoutCancel(c.Context())))
}

// pausedOf names the recipients that are paused, of all participants if there are none;
// "": none is.
func pausedOf(roster *api.Roster, to []protocol.ParticipantID) string {
	var names []string
	for _, id := range roster.Paused {
		if len(to) == 0 || slices.Contains(to, id) {
			names = append(names, string(id))
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0] + " is paused"
	}
	return strings.Join(names, ", ") + " are paused"
}

// late reports a timeout, if that is why something failed.
func late(ctx context.Context, err error, format string, args ...any) error {
	if timedOut(ctx) {
		return &program.ExitError{Code: connect.ExitTimedOut, Err: fmt.Errorf(format, args...)}
	}
	return err
}

func timedOut(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), context.DeadlineExceeded)
}

// waiter waits for the answer to a message.
type waiter struct {
	target *connect.Target
	member *client.Client
	id     protocol.ID // of the message
	flags  string      // of the connection, for commands in reports
	errOut io.Writer

	onProposal func(*protocol.Envelope) error // gets each proposal on which the caller may decide
	onQuestion func(*protocol.Envelope) error // gets each question of a tool server to the caller

	work map[protocol.ContextPath]*work // the contexts that were opened for the message

	silence string // why no participant may react, reported if none does; "": nothing to report
}

// work is a context in which a participant works on the message.
type work struct {
	by               protocol.ParticipantID
	closed, canceled bool
}

// await receives until another participant answers the message in the main
// conversation. quiet ends when the absence of a reaction is reported.
func (w *waiter) await(ctx, quiet context.Context) (*protocol.Envelope, error) {
	tracker, calls := exchange.NewAnswers(), elicit.NewCalls(w.member.You())
	for {
		e, err := w.receive(ctx, quiet)
		var gap *client.GapError
		if errors.As(err, &gap) {
			continue
		}
		if err != nil {
			return nil, err
		}
		w.noteWork(&e)
		question := tracker.Apply(&e)
		if e.Kind == protocol.KindMCPProposal && w.mayDecide(ctx, e.ID) {
			if err := w.onProposal(&e); err != nil {
				return nil, err
			}
		}
		if calls.Apply(&e) != nil {
			if err := w.onQuestion(&e); err != nil {
				return nil, err
			}
		}
		if e.Kind != protocol.KindChat || e.Context != "" || e.From == w.member.You() {
			continue
		}
		if e.Correlation.Names(w.id) {
			return &e, nil
		}
		if question != w.id {
			continue
		}
		// The tracker of a connection lacks earlier envelopes and the questions that others address
		// to the agent, so it can find an answer where an agent that has taken several questions
		// answers none of them: the gateway counts the chat as a question of its own then. If the
		// turn cannot be read, the tracker decides.
		at, err := w.turnOf(ctx, e.ID)
		if err != nil || at.Turn.MessageID != e.ID {
			return &e, nil
		}
		// The question is still taken.
		tracker.Apply(&protocol.Envelope{From: e.From, Kind: protocol.KindChatAcknowledge, Correlation: protocol.CorrelateTo(w.id)})
	}
}

// receive returns the next envelope. If quiet ends before a participant reacts to the message,
// it reports why that may be.
func (w *waiter) receive(ctx, quiet context.Context) (protocol.Envelope, error) {
	if w.silence == "" {
		return w.member.Receive(ctx)
	}
	e, err := w.member.Receive(quiet)
	switch {
	case err == nil:
		if e.From != w.member.You() && e.Correlation.Names(w.id) {
			w.silence = ""
		}
		return e, nil
	case ctx.Err() != nil || quiet.Err() == nil:
		return e, err
	}
	connect.Warn(w.errOut, "%s", w.silence)
	w.silence = ""
	return w.member.Receive(ctx)
}

// noteWork records who works on the message and who stops, and reports that one of them
// has left the space.
func (w *waiter) noteWork(e *protocol.Envelope) {
	switch of := w.work[e.Context]; {
	case e.Kind == protocol.KindReasoningStart && e.Context == "" && e.Correlation.Names(w.id):
		if w.work == nil {
			w.work = make(map[protocol.ContextPath]*work)
		}
		w.work[protocol.ContextPath(e.ID)] = &work{by: e.From}
	case of == nil || of.closed: // the first end counts
	case e.Kind == protocol.KindReasoningConclusion:
		of.closed = e.From == of.by
	case e.Kind == protocol.KindReasoningCancel:
		of.closed, of.canceled = true, true
	}
	if e.Kind != protocol.KindSystemPresence {
		return
	}
	presence := e.ParsePayload()
	id := protocol.ParticipantIn(presence.Get("participant"), "id")
	if presence.Get("event").Text() == protocol.PresenceLeave && len(w.workOf(id)) > 0 {
		connect.Warn(w.errOut, "%s has left before it answered; it may answer when it returns", termsafe.Words(string(id)))
	}
}

func (w *waiter) workOf(id protocol.ParticipantID) (list []*work) {
	for _, of := range w.work {
		if of.by == id {
			list = append(list, of)
		}
	}
	return list
}

// turnTimeout bounds the request for the turn of a message or of a possible answer.
const turnTimeout = 5 * time.Second

// turnOf reads the turn that an envelope belongs to.
func (w *waiter) turnOf(ctx context.Context, id protocol.ID) (*api.TurnOf, error) {
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	return w.target.API.TurnOf(ctx, w.target.Space, id)
}

// mayDecide reports whether a proposal is in the turn of the message, and the caller may
// decide on it.
func (w *waiter) mayDecide(ctx context.Context, id protocol.ID) bool {
	at, err := connect.Retry(ctx, w.errOut, func() (*api.TurnOf, error) { return w.turnOf(ctx, w.id) })
	return err == nil && slices.Contains(at.MayDecide, id)
}

// undecided names the proposals in the turn of the message that are not decided,
// as the end of a sentence; "": there is none, or they cannot be read.
func (w *waiter) undecided(ctx context.Context) (text string) {
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	at, err := w.target.API.TurnOf(ctx, w.target.Space, w.id)
	if err != nil {
		return ""
	}
	var calls []protocol.ID // without a result, proposed or made
	for _, r := range at.Turn.AllReasonings() {
		for i := range r.ToolDecisions {
			if d := &r.ToolDecisions[i]; d.Outcome == api.OutcomePending {
				calls = append(calls, d.CallID)
			}
		}
	}
	if len(calls) == 0 {
		return ""
	}
	list, _, err := command.PendingProposals(ctx, w.target)
	if err != nil {
		return ""
	}
	for i := range list {
		if !slices.Contains(calls, list[i].Envelope.ID) {
			continue
		}
		p := command.DescribeProposal(&list[i].Envelope.Envelope, time.Now())
		text += "; " + p.Subject() + " waits for a decision"
		if slices.Contains(at.MayDecide, p.ID) {
			text += ": " + p.ApproveCommand(w.flags)
		}
	}
	return text
}

func chatText(e *protocol.Envelope) string {
	var p struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(e.Payload, &p) // the gateway has checked that it is an object
	return p.Message
}

// explainTimeout bounds the request for the reasoning of an answer.
const explainTimeout = 30 * time.Second

// explain writes the reasoning of the turn that an envelope belongs to.
func explain(ctx context.Context, t *connect.Target, id protocol.ID, style block.Style, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	turn, err := t.API.TurnOf(ctx, t.Space, id)
	if err != nil {
		return err
	}
	if block := block.TurnBlock(&turn.Turn, style); block != "" {
		_, err = io.WriteString(out, "\n"+block)
	}
	return err
}
