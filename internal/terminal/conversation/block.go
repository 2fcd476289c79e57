package conversation

import (
	"slices"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/protocol"
)

// maxBlocks bounds the scrollback. Earlier messages are available through
// /reasoning and /export.
const maxBlocks = 2000

// Kind is the type of a block.
type Kind int

const (
	ChatBlock      Kind = iota // a message
	ReasoningBlock             // reasoning of a participant
	NoticeBlock                // a notice of the terminal
	ErrorBlock                 // an error message of the terminal
	TextBlock                  // lines that are laid out and styled already
	InputBlock                 // a command that was typed
	ProposalBlock              // a proposed call
)

// Block is one item in the scrollback.
type Block struct {
	Kind    Kind
	Context protocol.ContextPath // for the filter

	Chat      *Chat            // of a ChatBlock
	Reasoning *block.Reasoning // of a ReasoningBlock
	thread    *Thread          // of a ReasoningBlock
	Proposal  *Proposal        // of a ProposalBlock
	Lines     Lines            // of all others

	Revision int // incremented with every change
}

// Lines is the content of a notice block; a line may have a second column.
type Lines struct{ Left, Right []string }

// OneLine returns a notice of one line.
func OneLine(text string) Lines { return Lines{Left: []string{text}} }

// RightOf returns the second column of a line, or "".
func (l *Lines) RightOf(i int) string {
	if i < len(l.Right) {
		return l.Right[i]
	}
	return ""
}

// Change invalidates the cached layout of a block.
func (b *Block) Change() { b.Revision++ }

// scrollback holds the blocks of the conversation, oldest first.
type scrollback struct {
	blocks []*Block
	chats  map[protocol.ID]*Block
}

func (s *scrollback) add(b *Block) {
	s.blocks = append(s.blocks, b)
	s.note(b)
}

func (s *scrollback) note(b *Block) {
	if s.chats == nil {
		s.chats = make(map[protocol.ID]*Block)
	}
	if b.Chat != nil {
		s.chats[b.Chat.id] = b
	}
	if len(s.blocks) <= maxBlocks {
		return
	}
	gone := len(s.blocks) - maxBlocks*9/10 // many at once, so that copying is rare
	for _, b := range s.blocks[:gone] {
		if b.Chat != nil {
			delete(s.chats, b.Chat.id)
		}
	}
	s.blocks = append([]*Block(nil), s.blocks[gone:]...)
}

// News is a change that the plain output prints.
type News struct {
	Block   *Block
	Settled bool // it changed: sent, refused, or its reasoning ended; false: it is new
}

// maxNews bounds the list of changes, which the screen does not read.
const maxNews = 256

func (m *Model) addNews(b *Block, settled bool) {
	if len(m.news) < maxNews {
		m.news = append(m.news, News{b, settled})
	}
}

// TakeNews returns the changes since the last call, oldest first.
func (m *Model) TakeNews() []News {
	list := m.news
	m.news = nil
	return list
}

func (m *Model) show(b *Block) *Block {
	m.scrollback.add(b)
	m.addNews(b, false)
	return b
}

// changed records a change of a block's state and invalidates its layout.
func (m *Model) changed(b *Block) {
	b.Change()
	m.addNews(b, true)
}

// printLines appends lines of the terminal. They may contain untrusted text.
func (m *Model) printLines(k Kind, text ...string) { m.printPairs(k, text, nil) }

// printPairs is printLines with a second column.
func (m *Model) printPairs(k Kind, left, right []string) {
	clean := Lines{Left: make([]string, len(left)), Right: right}
	for i, l := range left {
		clean.Left[i] = termsafe.Line(l)
	}
	m.show(&Block{Kind: k, Lines: clean, Context: m.Filter})
}

// printStyled appends lines that are sanitized, laid out and styled already.
func (m *Model) printStyled(text ...string) {
	m.show(&Block{Kind: TextBlock, Lines: Lines{Left: text}, Context: m.Filter})
}

// Shown returns the blocks that match the filter, oldest first.
func (m *Model) Shown() []*Block {
	if m.Filter == "" {
		return m.scrollback.blocks
	}
	return slices.DeleteFunc(slices.Clone(m.scrollback.blocks), func(b *Block) bool { return !m.Passes(b) })
}

// Passes reports whether a block matches the filter: blocks in the context and
// in the contexts around it, later notices of the terminal, and unsent
// messages.
func (m *Model) Passes(b *Block) bool {
	if m.Filter == "" {
		return true
	}
	own := b.Kind == NoticeBlock || b.Kind == ErrorBlock || b.Kind == TextBlock || b.Kind == InputBlock
	open := b.Chat != nil && b.Chat.Mine && b.Chat.State != Delivered
	within := b.Context != "" && (b.Context.Within(m.Filter) || m.Filter.Within(b.Context))
	return within || open || own && b.Context == m.Filter
}

// ToggleAll opens all reasoning blocks, or closes them if all are open.
func (m *Model) ToggleAll() {
	m.reasonings.all = !m.reasonings.all
	for _, b := range m.scrollback.blocks {
		if b.Reasoning != nil {
			b.Reasoning.Open = m.reasonings.all
			b.Change()
		}
	}
}
