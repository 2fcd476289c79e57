package tui_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"go.uber.org/goleak"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/terminal/tui"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// TestMain checks for leaked goroutines. The key reader of the library leaks if
// a key arrives at the moment in which its program ends.
func TestMain(m *testing.M) {
	testkit.Main(m, goleak.IgnoreAnyFunction("github.com/charmbracelet/ultraviolet.(*TerminalReader).sendEvents"))
}

var update = flag.Bool("update", false, "write the golden files anew")

// terminal is a pseudo-terminal with an emulator that displays the output, and
// the program on it.
type terminal struct {
	t   *testing.T
	pty *os.File
	vt  vt10x.Terminal

	mu      sync.Mutex
	raw     []byte        // the complete output
	changed chan struct{} // closed with the next write
	ended   chan error
	stop    context.CancelFunc
}

// second fills the second cell of a wide character: the emulator counts one
// cell for each.
const second = '\ue000'

// open runs the terminal client on a pseudo-terminal of a size.
func open(t *testing.T, g *meuptest.Gateway, who string, cols, rows int, adapt func(*tui.Options)) *terminal {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	size := &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}
	if err := pty.Setsize(ptmx, size); err != nil {
		t.Fatal(err)
	}
	x := &terminal{
		t: t, pty: ptmx, vt: vt10x.New(vt10x.WithSize(cols, rows)), changed: make(chan struct{}), ended: make(chan error, 1),
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		x.read()
	}()
	opts := options(t, g, who)
	opts.In, opts.Out = tty, tty
	opts.Environ = []string{"TERM=xterm", "SSH_TTY=/dev/pts/0"}
	if adapt != nil {
		adapt(&opts)
	}
	ctx, cancel := context.WithCancel(context.Background())
	x.stop = cancel
	go func() { x.ended <- tui.Run(ctx, opts) }()
	t.Cleanup(func() {
		cancel()
		_ = x.end()
		_ = tty.Close()
		_ = ptmx.Close()
		<-read
		if t.Failed() {
			screen, _ := x.look()
			t.Logf("the screen at the end:\n%s", screen)
		}
	})
	return x
}

func options(t *testing.T, g *meuptest.Gateway, who string) tui.Options {
	t.Helper()
	return tui.Options{
		URL: "ws://" + g.Addr() + "/ws", Space: "lab", Token: who + "-token", API: g.API(t, who), Environ: []string{"TERM=xterm"},
		Backoff: client.Backoff{Min: time.Millisecond, Max: 20 * time.Millisecond},
	}
}

// end waits for the program.
func (x *terminal) end() error {
	select {
	case err := <-x.ended:
		x.ended <- err
		return err
	case <-time.After(testkit.Patience):
		x.t.Fatal("the program does not end")
	}
	return nil
}

func (x *terminal) read() {
	buf := make([]byte, 4096)
	var rest []byte
	for {
		n, err := x.pty.Read(buf)
		if err != nil {
			return
		}
		rest = append(rest, buf[:n]...)
		whole := len(rest)
		for whole > 0 && !utf8.Valid(rest[:whole]) && len(rest)-whole < utf8.UTFMax {
			whole--
		}
		x.mu.Lock()
		x.raw = append(x.raw, rest[:whole]...)
		_, _ = x.vt.Write(wide(rest[:whole]))
		close(x.changed)
		x.changed = make(chan struct{})
		x.mu.Unlock()
		rest = append([]byte(nil), rest[whole:]...)
	}
}

// wide adapts characters of two cells, and of none, for the emulator.
func wide(text []byte) []byte {
	var out []byte
	for _, r := range string(text) {
		if unicode.In(r, unicode.Mn, unicode.Me) {
			continue
		}
		out = utf8.AppendRune(out, r)
		if r > 0x7f && ansi.StringWidthWc(string(r)) == 2 {
			out = utf8.AppendRune(out, second)
		}
	}
	return out
}

// look returns the text on the screen, and what is closed when it changes.
func (x *terminal) look() (screen string, changed <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	cols, rows := x.vt.Size()
	var b strings.Builder
	for y := range rows {
		var line strings.Builder
		for c := range cols {
			switch g := x.vt.Cell(c, y); g.Char {
			case 0:
				line.WriteByte(' ')
			case second:
			default:
				line.WriteRune(g.Char)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String(), x.changed
}

// wait waits until the screen satisfies a condition, and returns it.
func (x *terminal) wait(what string, wanted func(screen string) bool) string {
	x.t.Helper()
	late := time.After(testkit.Patience)
	for {
		screen, changed := x.look()
		if wanted(screen) {
			return screen
		}
		select {
		case <-changed:
		case err := <-x.ended:
			x.ended <- err
			x.t.Fatalf("the program has ended (%v) before %s:\n%s", err, what, screen)
		case <-late:
			x.t.Fatalf("%s does not come:\n%s", what, screen)
		}
	}
}

// sees waits until all of the texts are on the screen.
func (x *terminal) sees(texts ...string) string {
	x.t.Helper()
	return x.wait(strings.Join(texts, " and "), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// types sends keys.
func (x *terminal) types(keys string) {
	x.t.Helper()
	if _, err := x.pty.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// enters types a line and waits until it is in the prompt, so that later keys
// are not part of it.
func (x *terminal) enters(line string) {
	x.t.Helper()
	x.types(line)
	x.types(enter)
}

func (x *terminal) resize(cols, rows int) {
	x.t.Helper()
	x.mu.Lock()
	x.vt.Resize(cols, rows)
	x.mu.Unlock()
	if err := pty.Setsize(x.pty, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		x.t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		x.t.Fatal(err)
	}
}

// Keys.
const (
	enter      = "\r"
	altEnter   = "\x1b\r"
	shiftEnter = "\x1b[13;2u"
	tab        = "\t"
	up         = "\x1b[A"
	down       = "\x1b[B"
	pageUp     = "\x1b[5~"
	pageDown   = "\x1b[6~"
	ctrlC      = "\x03"
	ctrlD      = "\x04"
	ctrlO      = "\x0f"
	ctrlR      = "\x12"
)

// blanks match text that differs from run to run.
var blanks = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<id>"},
	{regexp.MustCompile(`\b[0-9]{2}:[0-9]{2}\b`), "hh:mm"},
	{regexp.MustCompile(`\b[0-9]+m?s\b`), "Ns"},
	{regexp.MustCompile(`[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]`), "*"},
}

// golden waits until the screen is what a file has, except for text that differs from run to
// run: a screen may be read half drawn. With -update it is written when the texts are on it.
func (x *terminal) golden(name string, texts ...string) {
	x.t.Helper()
	screen := x.sees(texts...)
	if *update {
		golden(x.t, name, screen)
		return
	}
	path := filepath.Join("testdata", name)
	want, err := os.ReadFile(path)
	if err != nil {
		x.t.Fatal(err)
	}
	x.wait("the screen of "+path, func(screen string) bool { return blanked(screen) == string(want) })
}

// golden compares a text with a file, except for text that differs from run to run.
func golden(t *testing.T, name, text string) {
	t.Helper()
	text = blanked(text)
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s is otherwise:\n%s\nwanted:\n%s", path, text, want)
	}
}

func blanked(text string) string {
	for _, b := range blanks {
		text = b.is.ReplaceAllString(text, b.as)
	}
	return text
}
