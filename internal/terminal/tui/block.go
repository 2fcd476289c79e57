package tui

import (
	"github.com/meup-protocol/meup/protocol"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
)

// maxBlocks bounds the scrollback. What was before is asked for with
// /reasoning and /export.
const maxBlocks = 2000

// kind says what a block is.
type kind int

const (
	chatBlock     kind = iota // somebody says something
	thoughtBlock              // somebody thinks
	noticeBlock               // our own words
	errorBlock                // the same, about what did not work
	textBlock                 // our own lines, laid out and painted already
	inputBlock                // a command that was typed
	proposalBlock             // somebody proposes a call
)

// block is one thing in the scrollback.
type block struct {
	serial  int // grows from top to bottom of what is new, and never changes
	kind    kind
	context protocol.ContextPath // where it belongs, for the filter

	chat     *chat            // of a chatBlock
	mind     *mind            // of a thoughtBlock
	proposal *pendingProposal // of a proposalBlock
	lines    lines            // of all others

	rev   int // is raised with every change
	cache rendering
}

// lines are those of a block of ours; some have something that belongs to them
// in a second column.
type lines struct{ left, right []string }

func oneLine(text string) lines { return lines{left: []string{text}} }

func (l *lines) rightOf(i int) string {
	if i < len(l.right) {
		return l.right[i]
	}
	return ""
}

// rendering is what a block looked like last.
type rendering struct {
	rev, epoch, width int
	done              bool
	lines             []string
}

// change says that a block looks otherwise now.
func (b *block) change() { b.rev++ }

// scrollback is what was said, oldest first.
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

// addBehind puts a block behind another one; at the end where that one is gone.
func (s *scrollback) addBehind(before, b *block) {
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
	gone := len(s.blocks) - maxBlocks*9/10 // many at once, so that it is seldom
	for _, b := range s.blocks[:gone] {
		if b.chat != nil {
			delete(s.chats, b.chat.id)
		}
	}
	s.blocks = append([]*block(nil), s.blocks[gone:]...)
}

// news is a change that plain lines tell.
type news struct {
	what  newsKind
	block *block
}

type newsKind int

const (
	appeared newsKind = iota // the block is new
	settled                  // its state is another one: sent, refused, thought to the end
)

// maxNews bounds what nobody takes, on a screen.
const maxNews = 256

func (m *model) tell(what newsKind, b *block) {
	if len(m.news) < maxNews {
		m.news = append(m.news, news{what, b})
	}
}

func (m *model) takeNews() []news {
	list := m.news
	m.news = nil
	return list
}

// show puts a block at the end.
func (m *model) show(b *block) *block {
	m.scroll.add(b)
	m.tell(appeared, b)
	return b
}

// changed says that a block looks otherwise and that its state is another one.
func (m *model) changed(b *block) {
	b.change()
	m.tell(settled, b)
}

// say puts lines of our own at the end. They may have a stranger's words.
func (m *model) say(k kind, text ...string) { m.sayPairs(k, text, nil) }

// sayPairs is say with a second column.
func (m *model) sayPairs(k kind, left, right []string) {
	clean := lines{left: make([]string, len(left)), right: right}
	for i, l := range left {
		clean.left[i] = termsafe.Line(l)
	}
	m.show(&block{kind: k, lines: clean, context: m.filter})
}

// sayText puts lines at the end that are safe, laid out and painted already.
func (m *model) sayText(text ...string) {
	m.show(&block{kind: textBlock, lines: lines{left: text}, context: m.filter})
}
