package conversation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/mcp/elicit"
	"github.com/meup-protocol/meup/protocol"
)

// maxQuestions bounds the open questions of tool servers.
const maxQuestions = 64

// Question is a question of a tool server to this participant.
type Question struct {
	env     protocol.Envelope
	form    *elicit.Question
	answers *elicit.Answers
}

// questions holds the open ones, oldest first. The first one is being asked.
type questions struct {
	calls *elicit.Calls // of this participant; nil: none was seen
	open  []*Question
	gone  time.Time // when one ended without an answer of the person
}

// question handles a question of a tool server, or an envelope that ends one.
func (m *Model) question(env *protocol.Envelope) {
	if m.questions.calls == nil {
		m.questions.calls = elicit.NewCalls(m.You)
	}
	form, open := m.questions.calls.Apply(env), m.questions.open
	for i, q := range open {
		if !elicit.Over(&q.env, env) {
			continue
		}
		m.questions.open = slices.Delete(slices.Clone(open), i, i+1)
		if env.From != m.You {
			m.questions.gone = m.now()
			m.printLines(NoticeBlock, "The question of "+termsafe.Words(string(q.env.From))+" is over: an answer is no longer needed.")
		}
		m.askNext(i)
		return
	}
	if form == nil || len(open) == maxQuestions || !form.Expires.IsZero() && !m.GatewayTime().Before(form.Expires) {
		return
	}
	m.questions.open = append(m.questions.open, &Question{*env, form, elicit.NewAnswers(form)})
	m.askNext(len(open))
}

// askNext shows the first question if the one at a position was added or has ended.
func (m *Model) askNext(changed int) {
	if changed > 0 || len(m.questions.open) == 0 {
		return
	}
	q := m.questions.open[0]
	host := termsafe.Words(string(q.env.From))
	lines := []string{host + " asks you" + ServerClause(q.form) + ":"}
	for line := range strings.SplitSeq(termsafe.Text(q.form.Message), "\n") {
		lines = append(lines, "  "+line)
	}
	if q.form.URL != "" {
		lines = append(lines, "  Open: "+termsafe.Line(q.form.URL), "/answer if you have opened the page, or /decline.")
	} else {
		lines = append(lines, "Your answer goes to "+host+" and stays in the log, where others may read it: enter no passwords. /decline refuses.")
	}
	m.printLines(NoticeBlock, lines...)
	m.askField(q)
}

// ServerClause quotes the name that a host gives to the server which asks. The host may be
// any participant: its id comes first.
func ServerClause(form *elicit.Question) string {
	if form.Server == "" {
		return ""
	}
	return fmt.Sprintf(", for a server that it calls “%s”", strings.NewReplacer("“", "'", "”", "'").Replace(termsafe.Line(textutil.Shorten(form.Server, maxLabel))))
}

// maxLabel bounds a name that a server has chosen, in characters.
const maxLabel = 100

// askField shows the field to fill in.
func (m *Model) askField(q *Question) {
	f := q.answers.Next()
	switch {
	case q.form.URL != "":
		return
	case f == nil:
		m.printLines(NoticeBlock, "/answer accepts.")
		return
	}
	m.printLines(NoticeBlock, FieldLines(f, "/answer VALUE", "/answer")...)
}

// FieldLines describe a field of a form, how to enter it, and how to leave it out.
func FieldLines(f *elicit.Field, enter, skip string) []string {
	label := termsafe.Line(textutil.Shorten(f.Label(), maxLabel))
	if hint := f.Hint(); hint != "" {
		label += " (" + termsafe.Line(hint) + ")"
	}
	lines := []string{label + ": " + enter}
	switch {
	case f.Default.Exists():
		lines[0] += "; " + skip + " alone is " + termsafe.Line(textutil.Shorten(string(f.Default.Raw()), maxLabel))
	case !f.Required:
		lines[0] += "; " + skip + " alone leaves it out"
	}
	if f.Description != "" {
		lines = append(lines, "  "+termsafe.Line(textutil.Shorten(f.Description, 4*maxLabel)))
	}
	for i, o := range f.Options {
		lines = append(lines, "  "+strconv.Itoa(i+1)+" "+termsafe.Line(textutil.Shorten(o.Title, maxLabel)))
	}
	return lines
}

// current returns the question that is being asked; if there is none, or the answer may be
// meant for one that has just ended, it says so.
func (m *Model) current() *Question {
	switch {
	case len(m.questions.open) == 0:
		m.printLines(ErrorBlock, "No tool server asks you anything.")
	case m.now().Sub(m.questions.gone) < ambiguous:
		m.printLines(ErrorBlock, "Another question ended a moment ago. Check the question above, and answer it in a few seconds.")
	default:
		return m.questions.open[0]
	}
	return nil
}

// answer fills in the next field of a form, and sends the answer after the last one.
func (m *Model) answer(text string) {
	q := m.current()
	if q == nil {
		return
	}
	if f := q.answers.Next(); f != nil {
		if err := q.answers.Put(text); err != nil {
			m.printLines(ErrorBlock, fmt.Sprintf("%s: %s.", termsafe.Line(textutil.Shorten(f.Label(), maxLabel)), termsafe.Line(err.Error())))
			return
		}
		if q.answers.Next() != nil {
			m.askField(q)
			return
		}
	}
	m.reply(q, elicit.Accept, q.answers.Content())
}

func (m *Model) decline(string) {
	if q := m.current(); q != nil {
		m.reply(q, elicit.Decline, nil)
	}
}

// reply sends an answer. If the gateway refuses it, the question is asked again.
func (m *Model) reply(q *Question, action string, content []byte) {
	m.questions.open = m.questions.open[1:]
	refused := func(error) bool {
		q.answers = elicit.NewAnswers(q.form)
		m.questions.open = append([]*Question{q}, m.questions.open...)
		m.askNext(0)
		return false
	}
	m.askAs(m.newID(), request{what: "Answering " + string(q.env.From), failed: refused}, elicit.Reply(&q.env, action, content))
	m.askNext(0)
}
