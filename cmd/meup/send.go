package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/terminal/command"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
	"github.com/meup-protocol/meup/internal/terminal/tui"
	"github.com/meup-protocol/meup/protocol"
)

// sendFlags are the flags of send.
type sendFlags struct {
	file      string
	to        []string
	context   string
	replyTo   []string
	id        string
	kind      string
	payload   string
	session   string
	json      bool
	wait      bool
	reasoning bool
	timeout   time.Duration
}

func newSend(a *app) *cobra.Command {
	f := new(sendFlags)
	c := &cobra.Command{
		Use:   "send [TEXT…]",
		Short: "Sends a message, and can wait for the answer",
		Long: `send sends a chat message to a space and prints its id and its seq: ID SEQ. The
text comes from the arguments, from --file, or from standard input (- or no text).
With --kind and --payload, it sends any other envelope. For an invitation
(space.invite), it also prints the token of the invited participant, which the
gateway sends only once, and its expiry.

With --wait, it prints the answer instead: the first chat of another participant
in the main conversation that correlates to the message, or that answers it
without a correlation after an acknowledgement, as MEW agents do. If agents
called tools for it, their reasoning follows on standard error; --reasoning=false
turns that off. With --json it is printed only if --reasoning is given. While a
proposed call waits for your decision, it shows the call and asks for it at a
terminal, which does not count towards --timeout; otherwise it reports the command
that approves it on standard error. The question of a tool server about a call that
you have approved is asked in the same way.

Without --to and without @NAME in the text, the message is to all: a single agent
answers it. Of several agents, each answers by default only what mentions it or is
addressed to it; meup who lists them. With --wait, it reports that if no participant
reacts for 3 seconds. If the text begins with the @NAME of a participant that is not
connected, and mentions no connected agent, --wait ends at once.

Exit codes: 0 admitted, with --wait answered; 1 rejected or failed, with --wait also
if the participant gave the question up (its text is printed); 2 usage error; 3 no
answer in time, or no participant was asked (the message was admitted); 4 no connection,
or the token is not valid; 130 Ctrl-C, which offers at a terminal to withdraw the question.`,
		Example: `  meup send --wait '@guide what is in the docs folder?'
  meup send --wait --to guide 'what is in the docs folder?'
  meup send --session sprint-12 'what is still open?'
  git diff | meup send --wait --timeout 5m
  meup send --kind reasoning/thought --context ctx-1 --payload '{"message":"hm"}'
  meup send --kind space.invite --payload '{"participant_id":"dora","initial_capabilities":["chat"],"ttl_seconds":3600}'`,
	}
	fl := c.Flags()
	fl.StringVar(&f.file, "file", "", "file with the text; - is standard input")
	fl.StringSliceVar(&f.to, "to", nil, "participants to address; may be repeated")
	fl.StringVar(&f.context, "context", "", "context of the envelope")
	fl.StringSliceVar(&f.replyTo, "reply-to", nil, "id of the envelope that this one answers; may be repeated")
	fl.StringVar(&f.id, "id", "", "id of the envelope, which makes it safe to send it again (default: a new one)")
	fl.StringVar(&f.kind, "kind", "chat", "kind of envelope")
	fl.StringVar(&f.payload, "payload", "", "payload as a JSON object, instead of a text")
	fl.StringVar(&f.session, "session", "", "session of the conversation that this message begins")
	fl.BoolVar(&f.json, "json", false, `print {"id":…,"seq":…}, "token" of an invitation, and "answer" with --wait`)
	fl.BoolVar(&f.wait, "wait", false, "wait for the answer and print it")
	fl.BoolVar(&f.reasoning, "reasoning", true, "with --wait: print the reasoning on standard error; with --json only if given")
	fl.DurationVar(&f.timeout, "timeout", 2*time.Minute, "how long to wait for the answer")
	c.RunE = connect.RunE(func(c *cobra.Command, args []string) error {
		if err := f.check(c.Flags()); err != nil {
			return err
		}
		if tui.IsTerminal(c.InOrStdin()) && (f.file == "-" || len(args) == 1 && args[0] == "-") {
			connect.Warn(c.ErrOrStderr(), "type the message; Ctrl-D on an empty line sends it")
		}
		draft, err := program.Interruptible(c.Context(), func() (protocol.Envelope, error) { return f.draft(a.Env, c.InOrStdin(), args) })
		if err != nil {
			return err
		}
		t, err := a.Target(c)
		if err != nil {
			return err
		}
		if f.wait {
			f.reasoning = f.reasoning && (!f.json || c.Flags().Changed("reasoning"))
			return sendAndWait(c, a, f, t, draft)
		}
		if err := command.Send(c, t, draft, f.json); err != nil {
			return err
		}
		if draft.Kind != protocol.KindChat {
			return nil
		}
		if roster, err := t.API.Roster(c.Context(), t.Space); err == nil { // otherwise there are no warnings
			d, connected := drafted(roster, &draft)
			list, _ := d.Unanswered(roster.You.ID, connected, toFlag)
			for _, sentence := range list {
				connect.Warn(c.ErrOrStderr(), "%s", sentence)
			}
		}
		return nil
	})
	return c
}

// drafted returns a chat, and the participants that are connected.
func drafted(roster *api.Roster, chat *protocol.Envelope) (d conversation.Draft, connected []protocol.Participant) {
	d = conversation.Draft{Text: chatText(chat), To: chat.To, Added: chat.To, Begins: len(chat.Correlation.IDs) == 0}
	return d, append([]protocol.Participant{roster.You}, roster.Participants...)
}

func toFlag(id string) string { return "--to " + id }

// noteAnswerers warns of what may leave a chat without an answer, and reports that no other
// participant is connected, or, at a terminal, which agent may answer a chat to all that
// mentions neither it nor, at its beginning, another participant. The error says that no
// participant was asked.
func noteAnswerers(w io.Writer, d *conversation.Draft, you protocol.ParticipantID, connected []protocol.Participant, interactive bool) error {
	list, unasked := d.Unanswered(you, connected, toFlag)
	if unasked {
		return &program.ExitError{Code: connect.ExitTimedOut, Err: connect.SafeError{Err: fmt.Errorf("the message was sent, but %s", list[0])}}
	}
	for _, sentence := range list {
		connect.Warn(w, "%s", sentence)
	}
	if len(list) > 0 || len(d.To) > 0 || !d.Begins {
		return nil
	}
	text, agents := d.Text, conversation.Agents(you, connected)
	switch {
	case !slices.ContainsFunc(connected, func(p protocol.Participant) bool { return p.ID != you }):
		connect.Warn(w, "no other participant is connected; an agent may answer when it connects")
	case interactive && len(agents) == 1 && textutil.LeadingMention(text) == "" && !textutil.Mentions(text, agents[0]):
		connect.Warn(w, "the message is to all, and %s, the only agent, may answer it", termsafe.Words(agents[0]))
	}
	return nil
}

// check rejects conflicting flags.
func (f *sendFlags) check(fl *pflag.FlagSet) error {
	kind, ok := protocol.ParseKind(f.kind)
	switch {
	case !ok:
		return program.Usagef("--kind %q is not a valid kind", f.kind)
	case fl.Changed("payload") && f.file != "":
		return program.Usagef("use either --payload or --file, not both")
	case kind != protocol.KindChat && !fl.Changed("payload"):
		return program.Usagef("--kind %s requires --payload, a JSON object", f.kind)
	case f.wait && kind != protocol.KindChat:
		return program.Usagef("--wait requires --kind chat: other kinds have no answer in the main conversation")
	case f.wait && f.context != "":
		return program.Usagef("--wait cannot be combined with --context: the answer is in the main conversation")
	case fl.Changed("reasoning") && !f.wait:
		return program.Usagef("--reasoning requires --wait")
	case f.session != "" && (fl.Changed("payload") || len(f.replyTo) > 0):
		return program.Usagef("--session is for a message that begins a conversation: it cannot be combined with --payload or --reply-to")
	case f.session != "" && !protocol.ValidID(f.session):
		return program.Usagef("--session %q is not a valid id", f.session)
	case f.timeout <= 0:
		return program.Usagef("--timeout must be positive")
	case fl.Changed("id") && !protocol.ValidID(f.id):
		return program.Usagef("--id %q: expected 1 to 128 of A-Z a-z 0-9 . _ : -", f.id)
	}
	return nil
}

func (f *sendFlags) draft(env *program.Environment, in io.Reader, args []string) (protocol.Envelope, error) {
	kind, _ := protocol.ParseKind(f.kind)
	e := protocol.Envelope{ID: protocol.ID(f.id), Kind: kind}
	for _, id := range f.to {
		e.To = append(e.To, protocol.ParticipantID(id))
	}
	for _, id := range f.replyTo {
		e.Correlation.IDs = append(e.Correlation.IDs, protocol.ID(id))
	}
	e.Correlation.Array = len(f.replyTo) > 1
	if f.context != "" {
		path, ok := protocol.ParseContextPath(f.context, protocol.MaxContextBytes)
		if !ok {
			return e, program.Usagef("--context %q is not a valid context path", f.context)
		}
		e.Context = path
	}
	if f.payload != "" {
		if len(args) > 0 {
			return e, program.Usagef("use either a text or --payload, not both")
		}
		doc, err := protocol.ParseJSON([]byte(f.payload), protocol.MaxDepth)
		if err != nil || doc.Root().Type() != protocol.TypeObject {
			return e, program.Usagef("--payload: %w", errors.Join(errors.New("expected a JSON object"), err))
		}
		e.Payload = json.RawMessage(f.payload)
		return e, nil
	}
	text, err := f.text(env, in, args)
	if err != nil {
		return e, err
	}
	e.Payload = protocol.AppendString([]byte(`{"message":`), text)
	if f.session != "" {
		e.Payload = protocol.AppendString(append(e.Payload, `,"session_id":`...), f.session)
	}
	e.Payload = append(e.Payload, '}')
	return e, nil
}

// maxText bounds the text read from a file; a gateway accepts 1 MiB by default.
const maxText = 32 << 20

func (f *sendFlags) text(env *program.Environment, in io.Reader, args []string) (string, error) {
	raw := []byte(strings.Join(args, " "))
	var err error
	switch {
	case len(args) > 0 && f.file != "":
		return "", program.Usagef("use either a text or --file, not both")
	case len(args) == 1 && args[0] == "-":
		raw, err = readText(in)
	case len(args) > 0:
	case f.file == "" && tui.IsTerminal(in):
		return "", program.Usagef("no text: use arguments, --file or standard input")
	case f.file == "" || f.file == "-":
		raw, err = readText(in)
	default:
		raw, err = readFile(env, f.file)
	}
	if err != nil {
		return "", fmt.Errorf("read text: %w", err)
	}
	raw = bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte("\n")), []byte("\r"))
	switch {
	case len(bytes.TrimSpace(raw)) == 0:
		return "", program.Usagef("the text is empty")
	case !utf8.Valid(raw):
		return "", program.Usagef("the text is not UTF-8")
	}
	return string(raw), nil
}

func readFile(env *program.Environment, path string) ([]byte, error) {
	file, err := env.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	return readText(file)
}

func readText(in io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(in, maxText+1))
	if err == nil && len(raw) > maxText {
		err = fmt.Errorf("it has more than %d bytes", maxText)
	}
	return raw, err
}
