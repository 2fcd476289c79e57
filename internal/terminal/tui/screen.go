package tui

import (
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
)

// screen shows the model on a terminal; it implements tea.Model.
type screen struct {
	session *session
	model   *conversation.Model
	view    *view
	prompt  prompt

	cells, rows int
	hint        string // replaces the status until the next key
	leaving     bool   // the last key was Ctrl-C on an empty prompt
}

// batch is a list of events that the session passes on together.
type batch []conversation.Event

// runScreen shows the space on a terminal until the person leaves.
func (s *session) runScreen() error {
	opts := []tea.ProgramOption{
		tea.WithInput(s.opts.In), tea.WithOutput(s.opts.Out), tea.WithEnvironment(s.opts.Environ),
		tea.WithoutSignalHandler(), tea.WithWindowSize(s.opts.Width, s.opts.Height),
	}
	if s.opts.NoColor {
		opts = append(opts, tea.WithColorProfile(colorprofile.Ascii))
	}
	x := &screen{session: s, model: s.model, view: newView(s.model, !s.opts.NoColor)}
	x.resize(s.opts.Width, s.opts.Height)
	p := tea.NewProgram(x, opts...)
	s.group.Go(func() { // passes events to the program until the session ends
		tick := time.NewTicker(tickEvery)
		defer tick.Stop()
		for {
			list := s.next(tick.C)
			if list == nil {
				p.Quit()
				return
			}
			if len(list) > 0 {
				p.Send(batch(list))
			}
		}
	})
	_, err := p.Run()
	s.cancel()
	s.printUnsent()
	return errors.Join(err, s.model.Err)
}

// printUnsent prints the typed messages that were never sent, since the screen
// that showed them is gone.
func (s *session) printUnsent() {
	unsent := s.model.Unsent()
	if len(unsent) == 0 {
		return
	}
	fmt.Fprintln(s.opts.Out, "Not sent:")
	for _, b := range unsent {
		fmt.Fprintln(s.opts.Out, "  "+strings.ReplaceAll(termsafe.Text(b.Chat.Text), "\n", "\n  "))
	}
}

// Init does nothing: the session is running already.
func (x *screen) Init() tea.Cmd { return nil }

// Update handles a key, a resize, or events from the space.
func (x *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case batch:
		for _, e := range msg {
			x.session.take(e)
		}
	case tea.WindowSizeMsg:
		x.resize(msg.Width, msg.Height)
	case tea.PasteMsg:
		x.hint = ""
		x.prompt.insert(msg.Content)
	case tea.KeyPressMsg:
		cmd = x.key(msg)
	}
	if x.session.startEffects() {
		return x, tea.Quit
	}
	x.model.TakeNews()
	if x.model.Restore != "" {
		if x.prompt.value() == "" {
			x.prompt.set(x.model.Restore)
		}
		x.model.Restore = ""
	}
	return x, cmd
}

func (x *screen) resize(cells, rows int) {
	if cells < 1 || rows < 1 {
		return
	}
	x.cells, x.rows = cells, rows
	x.prompt.resize(cells, rows)
}

// key handles a key. Ctrl-C clears the prompt; on an empty prompt, the second time, it leaves.
func (x *screen) key(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	x.hint = ""
	if name != "ctrl+c" {
		x.leaving = false
	}
	switch name {
	case "enter":
		x.view.Follow()
		x.model.Apply(conversation.Typed{Text: x.prompt.take()})
	case "alt+enter", "shift+enter", "ctrl+j":
		x.prompt.insert("\n")
	case "tab":
		text, options := x.model.Complete(x.prompt.value())
		if text != x.prompt.value() {
			x.prompt.set(text)
		}
		if len(options) > 1 {
			x.hint = strings.Join(options, "  ")
		}
	case "pgup":
		x.scroll(-max(1, x.conversationRows()-2))
	case "pgdown":
		x.scroll(max(1, x.conversationRows()-2))
	case "up", "ctrl+p":
		x.prompt.vertical(-1)
	case "down", "ctrl+n":
		x.prompt.vertical(1)
	case "ctrl+o":
		x.view.Toggle()
	case "ctrl+r":
		x.model.ToggleAll()
	case "ctrl+l":
		return tea.ClearScreen
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+c":
		switch {
		case x.prompt.value() != "":
			x.prompt.take()
		case x.leaving:
			x.model.Leave()
		default:
			x.leaving, x.hint = true, "Press Ctrl-C again to quit."
		}
	case "ctrl+d":
		if x.prompt.value() == "" {
			x.model.Quit()
			return nil
		}
		fallthrough
	default:
		x.prompt.press(name, msg.Text)
	}
	return nil
}

func (x *screen) conversationRows() int { return max(0, x.rows-1-x.prompt.height()) }

func (x *screen) scroll(by int) {
	x.view.Scroll(x.cells, x.conversationRows(), by)
}

// View draws the screen: the conversation, the status, the prompt.
func (x *screen) View() tea.View {
	rows := x.conversationRows()
	lines := x.view.Lines(x.cells, rows)
	for len(lines) < rows {
		lines = append(lines, "")
	}
	status := x.view.Status(x.cells)
	if x.hint != "" {
		status = Fit(x.view.Theme.Bold.Render(termsafe.Line(x.hint)), x.cells)
	}
	if x.rows > 1 {
		lines = append(lines, status)
	}
	typed, cy, cx := x.prompt.view(&x.view.Theme)
	v := tea.NewView(strings.Join(append(lines, typed...), "\n"))
	v.AltScreen = true
	v.Cursor = tea.NewCursor(cx, len(lines)+cy)
	v.Cursor.Blink = false
	return v
}
