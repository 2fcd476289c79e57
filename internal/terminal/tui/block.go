package tui

import (
	"github.com/meup-protocol/meup/protocol"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
)

// maxBlocks bounds the scrollback. Earlier messages are available through
// /reasoning and /export.
const maxBlocks = 2000

// kind is the type of a block.
type kind int

const (
	chatBlock      kind = iota // a message
	reasoningBlock             // reasoning of a participant
	noticeBlock                // a notice of the terminal
	errorBlock                 // an error message of the terminal
	textBlock                  // lines that are laid out and styled already
	inputBlock                 // a command that was typed
	proposalBlock              // a proposed call
)

// block is one item in the scrollback.
type block struct {
	serial  int // increases from top to bottom among new blocks, and never changes
	kind    kind
	context protocol.ContextPath // for the filter

	chat      *chat            // of a chatBlock
	reasoning *reasoning       // of a reasoningBlock
	proposal  *pendingProposal // of a proposalBlock
	lines     lines            // of all others

	rev   int // incremented with every change
	cache cachedLayout
}

// lines is the content of a notice block; a line may have a second column.
type lines struct{ left, right []string }

func oneLine(text string) lines { return lines{left: []string{text}} }

func (l *lines) rightOf(i int) string {
	if i < len(l.right) {
		return l.right[i]
	}
	return ""
}

// cachedLayout is the cached layout of a block.
type cachedLayout struct {
	rev, epoch, width int
	done              bool
	lines             []string
}

// change invalidates the cached layout of a block.
func (b *block) change() { b.rev++ }

// scrollback holds the blocks of the conversation, oldest first.
type scrollback struct {
	blocks []*block
	serial int
	chats  map[protocol.ID]*block
}

func (s *scrollback) add(b *block) {
	s.serial++
	b.serial = s.serial
	s.blocks = append(s.blocks, b)
	s.note(b)
}

// insertAfter inserts a block after another one, or appends it if that one is
// gone.
func (s *scrollback) insertAfter(before, b *block) {
	for i := len(s.blocks) - 1; i >= 0 && before != nil; i-- {
		if s.blocks[i] != before {
			continue
		}
		s.serial++
		b.serial = s.serial
		s.blocks = append(s.blocks, nil)
		copy(s.blocks[i+2:], s.blocks[i+1:])
		s.blocks[i+1] = b
		return
	}
	s.add(b)
}

func (s *scrollback) note(b *block) {
	if s.chats == nil {
		s.chats = make(map[protocol.ID]*block)
	}
	if b.chat != nil {
		s.chats[b.chat.id] = b
	}
	if len(s.blocks) <= maxBlocks {
		return
	}
	gone := len(s.blocks) - maxBlocks*9/10 // many at once, so that copying is rare
	for _, b := range s.blocks[:gone] {
		if b.chat != nil {
			delete(s.chats, b.chat.id)
		}
	}
	s.blocks = append([]*block(nil), s.blocks[gone:]...)
}

// news is a change that the plain output prints.
type news struct {
	what  newsKind
	block *block
}

type newsKind int

const (
	appeared newsKind = iota // the block is new
	settled                  // its state changed: sent, refused, or reasoning ended
)

// maxNews bounds the list of changes, which the screen does not read.
const maxNews = 256

func (m *model) addNews(what newsKind, b *block) {
	if len(m.news) < maxNews {
		m.news = append(m.news, news{what, b})
	}
}

func (m *model) takeNews() []news {
	list := m.news
	m.news = nil
	return list
}

// show appends a block.
func (m *model) show(b *block) *block {
	m.scroll.add(b)
	m.addNews(appeared, b)
	return b
}

// changed records a change of a block's state and invalidates its layout.
func (m *model) changed(b *block) {
	b.change()
	m.addNews(settled, b)
}

// printLines appends lines of the terminal. They may contain untrusted text.
func (m *model) printLines(k kind, text ...string) { m.printPairs(k, text, nil) }

// printPairs is printLines with a second column.
func (m *model) printPairs(k kind, left, right []string) {
	clean := lines{left: make([]string, len(left)), right: right}
	for i, l := range left {
		clean.left[i] = termsafe.Line(l)
	}
	m.show(&block{kind: k, lines: clean, context: m.filter})
}

// printStyled appends lines that are sanitized, laid out and styled already.
func (m *model) printStyled(text ...string) {
	m.show(&block{kind: textBlock, lines: lines{left: text}, context: m.filter})
}
