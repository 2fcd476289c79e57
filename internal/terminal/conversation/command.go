package conversation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// command is a slash command.
type command struct {
	name    string
	args    string // for the help
	help    string
	section string
	run     func(m *Model, args string)
}

// The sections of the help, in their order.
const (
	conversation = "Conversation"
	inspection   = "Inspection"
	decisions    = "Decisions"
	rights       = "Capabilities"
	control      = "Participants"
	program      = "Program"
)

// commands returns all commands, in the order of the help.
func commands() []command {
	return []command{
		{"/new", "", "start a new thread with the next message", conversation, (*Model).newThread},
		{"/to", "WHO[,WHO] MESSAGE", "send a message to these participants only", conversation, (*Model).sendTo},
		{"/cancel", "", "stop the reasoning about your last question", conversation, (*Model).cancelQuestion},
		{"/up", "[NOTE]", "rate the last answer: it was good", conversation, rates(protocol.FeedbackUp)},
		{"/down", "[NOTE]", "rate the last answer: it was not good", conversation, rates(protocol.FeedbackDown)},
		{"/export", "[FILE]", "export the thread as Markdown", conversation, (*Model).exportThread},
		{"/reasoning", "[N|all]", "explain tool calls: last turn, turn N, or all", inspection, (*Model).askReasoning},
		{"/show", "N|ID", "show an envelope: a reference or a search result", inspection, (*Model).askEnvelope},
		{"/search", "WORDS", "search messages, reasoning, calls and results", inspection, (*Model).askSearch},
		{"/context", "[PATH]", "show one context only, or everything", inspection, (*Model).filterContext},
		{"/who", "", "list participants and their capabilities", inspection, func(m *Model, _ string) { m.do(ReadParticipants{}) }},
		{"/proposals", "[N]", "list pending proposals, or show one in full", decisions, (*Model).listProposals},
		{"/approve", "[N|ID] [HOST]", "approve a call; \"for 10m\": and calls like it", decisions, (*Model).approve},
		{"/reject", "[N|ID] REASON", "reject a proposed call", decisions, (*Model).reject},
		{"/answer", "[VALUE]", "answer a tool server's question", decisions, (*Model).answer},
		{"/decline", "", "decline a tool server's question", decisions, (*Model).decline},
		{"/grant", "WHO CAPABILITY [TTL]", "grant a capability, for a time such as 10m", rights, (*Model).grant},
		{"/revoke", "WHO|GRANT", "revoke one grant, or all of a participant", rights, (*Model).revoke},
		{"/status", "WHO", "show the status of a participant", control, controls(protocol.KindParticipantRequestStatus)},
		{"/pause", "WHO [TIME] [REASON]", "pause a participant, until /resume or for a time", control, (*Model).pause},
		{"/resume", "WHO [REASON]", "end a pause", control, controls(protocol.KindParticipantResume)},
		{"/forget", "WHO [newest] [N]", "drop its N oldest entries, or its newest", control, (*Model).forget},
		{"/compact", "WHO [REASON]", "compact its memory", control, controls(protocol.KindParticipantCompact)},
		{"/clear", "WHO [REASON]", "clear its memory", control, controls(protocol.KindParticipantClear)},
		{"/restart", "WHO [REASON]", "restart it with an empty memory", control, controls(protocol.KindParticipantRestart)},
		{"/shutdown", "WHO [REASON]", "shut it down", control, controls(protocol.KindParticipantShutdown)},
		{"/help", "", "show this list", program, func(m *Model, _ string) { m.help() }},
		{"/quit", "", "leave the space", program, func(m *Model, _ string) { m.Quit() }},
	}
}

// enter handles entered text of one or more lines.
func (m *Model) enter(text string) {
	text = strings.Trim(text, "\n")
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return
	case strings.HasPrefix(trimmed, "//"):
		m.queueMessage(trimmed[1:], nil)
		return
	case !strings.HasPrefix(trimmed, "/"):
		m.queueMessage(text, nil)
		return
	}
	name, args, _ := strings.Cut(trimmed, " ")
	var names []string
	meant := ""
	for _, c := range commands() {
		if c.name == name {
			m.show(&Block{Kind: InputBlock, Lines: OneLine(termsafe.Line(trimmed)), Context: m.Filter})
			c.run(m, strings.TrimSpace(args))
			return
		}
		if meant == "" && len(name) > 1 && strings.HasPrefix(c.name, name) {
			meant = c.name
		}
		names = append(names, c.name)
	}
	hint := "/help lists all commands. To send a message that begins with a slash, type two."
	meant = cmp.Or(meant, textutil.Closest(name, names))
	if meant != "" {
		hint = "Did you mean " + meant + "?"
	}
	m.Restore = text
	m.printLines(ErrorBlock, fmt.Sprintf("Unknown command: %s. %s", termsafe.Line(textutil.Shorten(name, 40)), hint))
}

// help lists the commands by section.
func (m *Model) help() {
	var left, right []string
	put := func(l, r string) { left, right = append(left, l), append(right, r) }
	section := ""
	for _, c := range commands() {
		if c.section != section {
			section = c.section
			put(section, "")
		}
		put("  "+strings.TrimSpace(c.name+" "+c.args), c.help)
	}
	put("Keys", "")
	for _, k := range keyHelp {
		put("  "+k[0], k[1])
	}
	m.printPairs(NoticeBlock, left, right)
}

// keyHelp lists the keys of the screen.
var keyHelp = [][2]string{
	{"Enter", "send"},
	{"Alt-Enter or Shift-Enter", "insert a new line; also Ctrl-J"},
	{"Up, Down", "previous and next input"},
	{"Tab", "complete a command or a name"},
	{"PgUp, PgDn", "scroll; at the end, follow new output"},
	{"Ctrl-O", "open or close the lowest visible reasoning"},
	{"Ctrl-R", "open or close all reasoning"},
	{"Ctrl-C", "clear the prompt; twice: quit"},
	{"Ctrl-D", "quit, if the prompt is empty"},
}

// Quit leaves after the typed messages are sent. If that may take long, it asks
// first; a second /quit leaves at once.
func (m *Model) Quit() {
	n := len(m.outbox.queue)
	switch {
	case n == 0 || m.warned || m.Over:
		m.do(Leave{})
	case m.Link.Lost:
		m.printLines(ErrorBlock, textutil.Count(n, "message")+" not sent: there is no connection. /quit again quits without sending.")
	default:
		m.leaving = true
	}
	m.warned = true
}

// Complete extends the text as far as its completion is unique, and returns the
// candidates.
func (m *Model) Complete(text string) (string, []string) {
	begin := strings.LastIndexAny(text, " \n") + 1
	word := text[begin:]
	options := m.options(text[:begin], word)
	options = slices.DeleteFunc(options, func(o string) bool { return !strings.HasPrefix(o, word) })
	slices.Sort(options)
	options = slices.Compact(options)
	if len(options) == 0 || word == "" && !strings.HasPrefix(text, "/") {
		return text, nil
	}
	common := options[0]
	for _, o := range options[1:] {
		for !strings.HasPrefix(o, common) {
			common = common[:len(common)-1]
		}
	}
	if len(options) == 1 {
		common += " "
	}
	return text[:begin] + common, options
}

// options returns the candidates for the last word, given the text before it.
func (m *Model) options(before, word string) []string {
	var list []string
	command := strings.Fields(before)
	switch {
	case before == "" && strings.HasPrefix(word, "/"):
		for _, c := range commands() {
			list = append(list, c.name)
		}
		return list
	case strings.HasPrefix(word, "@"):
		for _, p := range m.participants.connected {
			list = append(list, "@"+string(p.ID))
		}
		return list
	case len(command) > 1 && command[0] == "/forget":
		return []string{"oldest", "newest"}
	case len(command) != 1:
		return nil
	}
	switch command[0] {
	case "/to", "/grant", "/revoke", "/status", "/pause", "/resume", "/forget", "/compact", "/clear", "/restart", "/shutdown":
		for _, p := range m.participants.connected {
			list = append(list, string(p.ID))
		}
	case "/approve", "/reject", "/proposals":
		for _, b := range m.proposals.pending {
			list = append(list, strconv.Itoa(b.Proposal.Number))
		}
	case "/context":
		for _, c := range m.contexts.list {
			list = append(list, string(c))
		}
	case "/show":
		for _, id := range m.numbered.ids {
			list = append(list, string(id))
		}
	case "/reasoning":
		list = []string{"all"}
	}
	return list
}
