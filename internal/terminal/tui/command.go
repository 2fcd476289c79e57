package tui

import (
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// command is a slash command.
type command struct {
	name    string
	args    string // for the help
	help    string
	section string
	run     func(m *model, args string)
}

// The sections of the help, in their order.
const (
	conversation = "Conversation"
	inspection   = "Inspection"
	decisions    = "Decisions"
	rights       = "Rights"
	control      = "Participants"
	program      = "Program"
)

// commands returns all commands, in the order of the help.
func commands() []command {
	return []command{
		{"/new", "", "begin a new thread with the next message", conversation, (*model).newThread},
		{"/to", "WHO[,WHO] MESSAGE", "say something to some alone", conversation, (*model).sendTo},
		{"/cancel", "", "stop what is reasoned for your last question", conversation, (*model).cancelQuestion},
		{"/export", "[FILE]", "write the thread to a file, as Markdown", conversation, (*model).exportThread},
		{"/reasoning", "[N|all]", "why tools were called: last turn, turn N, all", inspection, (*model).askReasoning},
		{"/context", "[PATH]", "show one context alone, or everything", inspection, (*model).filterContext},
		{"/who", "", "who is here, and what they may do", inspection, func(m *model, _ string) { m.do(readPeople{}) }},
		{"/proposals", "[N]", "calls that wait for a decision, or all of one", decisions, (*model).listProposals},
		{"/approve", "[N|ID] [HOST]", "make a proposed call", decisions, (*model).approve},
		{"/reject", "[N|ID] REASON", "say no to a proposed call", decisions, (*model).reject},
		{"/grant", "WHO CAPABILITY [TTL]", "give a right, for a time such as 10m", rights, (*model).grant},
		{"/revoke", "WHO|GRANT", "take back one grant, or all to somebody", rights, (*model).revoke},
		{"/status", "WHO", "ask a participant for its status", control, controls(protocol.KindParticipantRequestStatus)},
		{"/pause", "WHO [TIME] [REASON]", "stop a participant, until /resume or for a time", control, (*model).pause},
		{"/resume", "WHO [REASON]", "end a pause", control, controls(protocol.KindParticipantResume)},
		{"/forget", "WHO [newest] [N]", "drop its N oldest entries, or its newest", control, (*model).forget},
		{"/compact", "WHO [REASON]", "shorten its memory", control, controls(protocol.KindParticipantCompact)},
		{"/clear", "WHO [REASON]", "empty its memory", control, controls(protocol.KindParticipantClear)},
		{"/restart", "WHO [REASON]", "start it again, with an empty memory", control, controls(protocol.KindParticipantRestart)},
		{"/shutdown", "WHO [REASON]", "end it", control, controls(protocol.KindParticipantShutdown)},
		{"/help", "", "this list", program, func(m *model, _ string) { m.help() }},
		{"/quit", "", "leave the space", program, func(m *model, _ string) { m.quit() }},
	}
}

// enter handles entered text of one or more lines.
func (m *model) enter(text string) {
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
	for _, c := range commands() {
		if c.name == name {
			m.show(&block{kind: inputBlock, lines: oneLine(termsafe.Line(trimmed)), context: m.filter})
			c.run(m, strings.TrimSpace(args))
			return
		}
	}
	m.restore = text
	m.printLines(errorBlock, fmt.Sprintf("There is no command %s.%s", termsafe.Line(textutil.Shorten(name, 40)), suggest(name)))
}

// suggest names the closest command, or the command that lists all.
func suggest(name string) string {
	best, distance := "", 3
	for _, c := range commands() {
		d := edits(name, c.name)
		if strings.HasPrefix(c.name, name) && len(name) > 1 {
			d = 0
		}
		if d < distance {
			best, distance = c.name, d
		}
	}
	if best == "" {
		return " /help lists them; // in front sends a message that begins with a slash."
	}
	return " Did you mean " + best + "?"
}

// edits returns the edit distance of two texts: the number of characters to
// insert, delete or replace.
func edits(a, b string) int {
	if len(a) > 40 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := before
			if a[i] != b[j] {
				d = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

// help lists the commands by section.
func (m *model) help() {
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
	m.printPairs(noticeBlock, left, right)
}

// keyHelp lists the keys of the screen.
var keyHelp = [][2]string{
	{"Enter", "send"},
	{"Alt-Enter or Shift-Enter", "a new line; Ctrl-J too"},
	{"Up, Down", "what you typed before"},
	{"Tab", "complete a command or a name"},
	{"PgUp, PgDn", "scroll; the end of it follows what is new"},
	{"Ctrl-O", "open or close the lowest thinking that is shown"},
	{"Ctrl-R", "open or close all thinking"},
	{"Ctrl-C", "empty the prompt; twice: leave"},
	{"Ctrl-D", "leave, when the prompt is empty"},
}

// quit leaves after the typed messages are sent. If that may take long, it asks
// first; a second /quit leaves at once.
func (m *model) quit() {
	n := m.outbox.unsent()
	switch {
	case n == 0 || m.warned || m.over:
		m.do(leave{})
	case m.link.lost:
		m.printLines(errorBlock, textutil.Count(n, "message")+" not sent yet: without a connection. /quit again leaves all the same.")
	default:
		m.leaving = true
	}
	m.warned = true
}
