package conversation

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/terminal/block"
)

// askReasoning handles /reasoning, /reasoning N and /reasoning all.
func (m *Model) askReasoning(args string) {
	e := ReadHistory{Which: Latest}
	if t := m.threads.active; t != nil {
		e.Thread = t.root
	}
	switch {
	case args == "all":
		e.Which = All
	case args != "":
		n, err := strconv.Atoi(args)
		if err != nil || n < 1 || n > 1<<30 {
			m.printLines(ErrorBlock, "Usage: /reasoning, /reasoning N or /reasoning all.")
			return
		}
		e.Which, e.Number = One, n
	}
	switch {
	case e.Thread != "":
		m.do(e)
	case e.Which == One:
		m.printText(block.NoTurn(e.Number))
	default:
		m.printLines(ErrorBlock, "Nothing to show: the thread has no turns.")
	}
}

// showHistory shows the reasoning that was read.
func (m *Model) showHistory(e HistoryRead) {
	var status *api.StatusError
	if errors.As(e.Err, &status) && status.Status == http.StatusNotFound {
		e.Err, e.Turns = nil, nil
	}
	if e.Err != nil {
		m.printLines(ErrorBlock, "Could not read the reasoning: "+errorText(e.Err))
		return
	}
	switch e.Request.Which {
	case One:
		i := slices.IndexFunc(e.Turns, func(t api.Turn) bool { return t.TurnNumber == e.Request.Number })
		if i < 0 {
			m.printText(block.NoTurn(e.Request.Number))
			return
		}
		m.showReasoning(e, &e.Turns[i])
	case Latest:
		for i := range slices.Backward(e.Turns) {
			if s := e.Turns[i].State; s != api.TurnPending && s != api.TurnProcessing {
				m.showReasoning(e, &e.Turns[i])
				return
			}
		}
		m.printLines(ErrorBlock, "Nothing to show: no turn of the thread is completed.")
	case All:
		if len(e.Turns) == 0 {
			m.printLines(ErrorBlock, "Nothing to show: the thread has no turns.")
			return
		}
		if e.More {
			m.printLines(NoticeBlock, fmt.Sprintf("Showing the last %d turns; /export has all of them.", len(e.Turns)))
		}
		for i := range e.Turns {
			m.showReasoning(e, &e.Turns[i])
		}
	}
}

func (m *Model) showReasoning(e HistoryRead, t *api.Turn) {
	for _, r := range t.AllReasonings() {
		m.refer(r.References) // for the completion of /show
	}
	m.printText(block.Query(t, e.Request.Thread, m.style))
}

// printText shows a text that is laid out already.
func (m *Model) printText(text string) {
	m.printStyled(strings.Split(strings.TrimRight(text, "\n"), "\n")...)
}

// showTurn stores the turn number of a message, and shows the reasoning of an
// answer below it.
func (m *Model) showTurn(e TurnRead) {
	if e.Err != nil {
		if e.Request.Show && e.Request.Mine { // another participant's may be private
			m.printLines(ErrorBlock, "Could not read the reasoning of the answer: "+errorText(e.Err))
		}
		return
	}
	turn := e.Turn.Turn
	m.number(&turn, e)
	if !e.Request.Show {
		return
	}
	all := turn.AllReasonings()
	i := slices.IndexFunc(all, func(r api.Reasoning) bool { return r.Agent == e.Request.Agent })
	if i < 0 {
		return
	}
	turn.Reasoning, turn.Reasonings = &all[i], nil
	text := block.TurnBlock(&turn, m.style)
	if text == "" {
		return
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if more := len(lines) - shownReasoning; more > 1 { // the answer stays visible
		lines = append(lines[:shownReasoning], fmt.Sprintf("  … %d more lines: /reasoning %d", more, turn.TurnNumber))
	}
	b := &Block{Kind: TextBlock, Lines: Lines{Left: lines}}
	at := slices.Index(m.scrollback.blocks, m.scrollback.chats[e.Request.Envelope])
	if at < 0 { // the answer is gone
		m.scrollback.add(b)
	} else {
		m.scrollback.blocks = slices.Insert(m.scrollback.blocks, at+1, b)
	}
	m.addNews(b, false)
}

// shownReasoning bounds the lines of the reasoning below an answer.
const shownReasoning = 12

// number sets the turn number on the displayed messages of a turn.
func (m *Model) number(turn *api.Turn, e TurnRead) {
	for _, b := range []*Block{m.scrollback.chats[turn.MessageID], m.scrollback.chats[e.Request.Envelope]} {
		if b == nil || b.Chat.Turn == turn.TurnNumber {
			continue
		}
		b.Chat.Turn = turn.TurnNumber
		if t := b.Chat.Thread; t != nil && t.Turn < turn.TurnNumber {
			t.Turn = turn.TurnNumber
		}
		b.Change()
	}
}
