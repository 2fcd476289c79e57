package tui

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/terminal/blockrender"
)

// askReasoning handles /reasoning, /reasoning N and /reasoning all.
func (m *model) askReasoning(args string) {
	e := readHistory{which: latest}
	if t := m.threads.active; t != nil {
		e.thread = t.root
	}
	switch {
	case args == "all":
		e.which = all
	case args != "":
		n, err := strconv.Atoi(args)
		if err != nil || n < 1 || n > 1<<30 {
			m.printLines(errorBlock, "Say which turn: /reasoning, /reasoning N with a number from 1, or /reasoning all.")
			return
		}
		e.which, e.number = one, n
	}
	switch {
	case e.thread != "":
		m.do(e)
	case e.which == one:
		m.printText(blockrender.NoTurn(e.number))
	default:
		m.printLines(errorBlock, "Nothing was asked in this thread yet.")
	}
}

// showHistory shows the reasoning that was read.
func (m *model) showHistory(e historyRead) {
	var status *api.StatusError
	if errors.As(e.err, &status) && status.Status == http.StatusNotFound {
		e.err, e.turns = nil, nil
	}
	if e.err != nil {
		m.printLines(errorBlock, "The reasoning cannot be read: "+errorText(e.err))
		return
	}
	switch e.asked.which {
	case one:
		i := slices.IndexFunc(e.turns, func(t api.Turn) bool { return t.TurnNumber == e.asked.number })
		if i < 0 {
			m.printText(blockrender.NoTurn(e.asked.number))
			return
		}
		m.showReasoning(e, &e.turns[i])
	case latest:
		for i := range slices.Backward(e.turns) {
			if s := e.turns[i].State; s != api.TurnPending && s != api.TurnProcessing {
				m.showReasoning(e, &e.turns[i])
				return
			}
		}
		m.printLines(errorBlock, "No turn of this thread is complete yet.")
	case all:
		m.showAll(e)
	}
}

func (m *model) showReasoning(e historyRead, t *api.Turn) {
	m.printText(blockrender.Query(t, e.asked.thread, m.style))
}

// showAll shows every turn, with an empty line between two.
func (m *model) showAll(e historyRead) {
	if len(e.turns) == 0 {
		m.printLines(errorBlock, "Nothing was asked in this thread yet.")
		return
	}
	if e.more {
		m.printLines(noticeBlock, fmt.Sprintf("The last %d turns; /export has all of them.", len(e.turns)))
	}
	for i := range e.turns {
		m.showReasoning(e, &e.turns[i])
	}
}

// printText shows a text that is laid out already.
func (m *model) printText(text string) {
	m.printStyled(strings.Split(strings.TrimRight(text, "\n"), "\n")...)
}

// showTurn stores the turn number of a message, and shows the reasoning of an
// answer below it.
func (m *model) showTurn(e turnRead) {
	if e.err != nil {
		if e.asked.show && e.asked.mine { // another participant's may be private
			m.printLines(errorBlock, "The reasoning of that answer cannot be read: "+errorText(e.err))
		}
		return
	}
	turn := e.turn.Turn
	m.number(&turn, e)
	if !e.asked.show {
		return
	}
	all := turn.AllReasonings()
	i := slices.IndexFunc(all, func(r api.Reasoning) bool { return r.Agent == e.asked.agent })
	if i < 0 {
		return
	}
	turn.Reasoning, turn.Reasonings = &all[i], nil
	text := blockrender.Block(&turn, m.style)
	if text == "" {
		return
	}
	b := &block{kind: textBlock, lines: lines{left: strings.Split(strings.TrimRight(text, "\n"), "\n")}}
	m.scroll.insertAfter(m.scroll.chats[e.asked.envelope], b)
	m.addNews(appeared, b)
}

// number sets the turn number on the displayed messages of a turn.
func (m *model) number(turn *api.Turn, e turnRead) {
	for _, b := range []*block{m.scroll.chats[turn.MessageID], m.scroll.chats[e.asked.envelope]} {
		if b == nil || b.chat.turn == turn.TurnNumber {
			continue
		}
		b.chat.turn = turn.TurnNumber
		if t := b.chat.thread; t != nil && t.turn < turn.TurnNumber {
			t.turn = turn.TurnNumber
		}
		b.change()
	}
}
