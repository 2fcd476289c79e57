package argument

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// composedRule is the rule for the texts of a composer.
const composedRule = `{"commands": ["alpha **", "beta one *", "gamma -**", "cd *", "echo **"], "write": {"below": "build"}, "read": {"below": "data"}, "env": "CI"}`

// composer writes shell texts. Most of their parts are allowed by composedRule, so that many
// texts are, and the others are not.
type composer struct {
	r *rand.Rand
	// parts: each command means the same alone as in a list, so there are no functions and no cd.
	parts bool
}

func (c *composer) pick(list ...string) string { return list[c.r.IntN(len(list))] }

func (c *composer) chance(percent int) bool { return c.r.IntN(100) < percent }

// list is one to four commands. Like a command, it may end with a line break.
func (c *composer) list(depth int) string {
	text := c.command(depth)
	for range c.r.IntN(4) {
		text = c.join(text, c.command(depth))
	}
	return text
}

// join writes an operator between two commands.
func (c *composer) join(a, b string) string {
	if strings.HasSuffix(a, "\n") {
		return a + b
	}
	return a + c.pick("; ", ";", " && ", "&&", " || ", " | ", "|", " |& ", " & ", "&", "\n", "\n\n", "; \\\n", " \\\n&& ", " &&\n",
		" # x\n", "; # it's\n", " # x \\\n", " | # \"\n", " && # $( \n") + b
}

// block is a list that ends with a separator.
func (c *composer) block(depth int) string {
	text := c.list(depth - 1)
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + c.pick("; ", "\n", " # x\n", " \\\n;")
}

func (c *composer) command(depth int) string {
	if depth == 0 || c.chance(65) {
		return c.simple(depth)
	}
	switch c.r.IntN(20) {
	case 0:
		return "( " + c.block(depth) + ")" + c.redirection(depth)
	case 1:
		return "{ " + c.block(depth) + "}" + c.redirection(depth)
	case 2:
		return "if " + c.block(depth) + "then " + c.block(depth) + "fi" + c.redirection(depth)
	case 3:
		return "if alpha a; then " + c.block(depth) + "elif " + c.block(depth) + "then " + c.block(depth) + "else " + c.block(depth) + "fi"
	case 4:
		return c.pick("while ! ", "until ") + "{ " + c.block(depth) + "}; do " + c.block(depth) + "break; done" + c.redirection(depth)
	case 5, 6:
		return "for " + c.pick("i", "i", "i", "file", "PATH", "path", "CI") + " in " + c.words(depth) + "; do " + c.block(depth) + "done" + c.redirection(depth)
	case 7:
		return "case " + c.word(depth) + " in " + c.pick("a", "*", "(b|c", "''") + ") " + c.block(depth) + c.pick(";;", ";;", ";&", ";;&") + " *) alpha a;; esac"
	case 8:
		return "! " + c.simple(depth)
	case 9:
		return "time " + c.simple(depth)
	case 10:
		return c.simple(depth) + " <<EOF\n" + c.word(depth) + "\n" + c.pick("wipe", "alpha", "'", "\\", "EOF ") + "\nEOF\n"
	case 11:
		return c.simple(depth) + " <<'EOF' && " + c.simple(depth) + "\n$(wipe) `wipe` ' \" \\\nEOF\n"
	case 12:
		return c.simple(depth) + " <<-EOF | " + c.simple(depth) + "\n\twipe\n\tEOF\n"
	case 13:
		return "[[ " + c.pick("a || ", "a > ", "-f ", "-n ", "! ", "-v ", "a == ", "a = a && a != ", "0 -eq ", "a =~ ", "a < ") + c.word(depth) + " ]]"
	case 14:
		return "((" + c.pick("1", "x", "x = 1", "x[0]", "$x", "1 + 2") + "))"
	case 15:
		return "coproc " + c.simple(depth)
	case 16:
		return c.pick("export ", "export ", "declare ", "readonly ") + c.assignment(depth)
	case 17:
		return c.assignment(depth)
	}
	if c.parts {
		return c.simple(depth)
	}
	if c.chance(40) {
		return "cd " + c.pick("build", "build", "web", "data", "..", "evil", "$x", "build && "+c.simple(depth))
	}
	name := c.pick("f", "f", "f", "alpha", "wipe", "echo", "cd")
	return name + c.pick("()", " () ") + c.pick("{ ", "{\n") + c.block(depth) + "}" + c.pick("; ", "\n", " | alpha a; ", " & ", " > build/f; ", " && ") + name + c.pick("", " a", " wipe")
}

// simple is a simple command.
func (c *composer) simple(depth int) string {
	text := ""
	if c.chance(10) {
		text = c.assignment(depth) + " "
	}
	if c.chance(5) {
		text += c.redirection(depth) + " "
	}
	switch name := c.r.IntN(100); {
	case name < 45:
		text += c.spell("alpha") + " " + c.words(depth)
	case name < 60:
		text += c.spell("gamma") + c.pick(" -x ", " --long=a ", " ") + c.words(depth)
	case name < 75:
		text += "beta " + c.spell("one") + " " + c.word(depth)
	case name < 78 && !c.parts:
		text += c.pick("cd build", "cd web", "cd ..")
	case name < 92:
		text += "echo " + c.words(depth)
	default:
		text += c.pick("wipe", "wipe a", "\\wipe", "w''ipe", "$(alpha)", "`alpha`", "$x wipe", "${x:-wipe}", "evil/alpha", "./evil/alpha a", "$PWD/evil/alpha", "alpha -x", "beta two a",
			"command wipe", "builtin echo a", "command alpha a", "exec wipe", "eval wipe", "eval 'alpha a'", "{wipe,a}", "w?pe", "alphawipe", "alpha\\ a", "'alpha a'", ". evil/alpha", "unset PATH",
			"read PATH", "trap wipe EXIT", "alias alpha=wipe", "hash -p evil/alpha alpha", "printf -v PATH evil", "set -- wipe", "\"$@\"", "wip\\\ne")
	}
	if c.chance(30) {
		text += c.redirection(depth)
	}
	return text
}

// spell writes a word with or without quotes.
func (c *composer) spell(word string) string {
	cut := c.r.IntN(len(word))
	a, b := word[:cut], word[cut:]
	return c.pick(word, word, word, word, `\`+word, "'"+word+"'", `"`+word+`"`, a+"'"+b+"'", a+`"`+b+`"`, a+"''"+b, a+`\`+b, a+"\\\n"+b)
}

func (c *composer) words(depth int) string {
	text := c.word(depth)
	for range c.r.IntN(3) {
		text += c.pick(" ", "  ", "\t", " \\\n") + c.word(depth)
	}
	return text
}

func (c *composer) word(depth int) string {
	if c.chance(90) {
		return c.pick("a", "b", "a.txt", "web/x", "./...", `'x y'`, `"p;q"`, `\&`, `a\ b`, `''`, `""`, "~/h", "x=1", "a#b", `'#'`, `"it's"`, `'$(wipe)'`, `\$x`, `"a && wipe"`, "'`wipe`'", `"\$(wipe)"`, "a,b", "%x", "@", "'a\nwipe'")
	}
	inner := "wipe"
	if depth > 0 {
		inner = c.list(depth - 1)
	}
	return c.pick("$x", `"$x"`, "*", "a?", "{a,b}", "$("+inner+")", "`wipe`", `"$(`+inner+`)"`, "<("+inner+"\n)", ">("+inner+"\n)", `$'a\x20b'`, "$'a'", "${x:-$(wipe)}", "${x@P}", "$((1+1))", "$((x[$(wipe)]))",
		`"$\`+"\n("+inner+`)"`, `"${x:-'$(wipe)'}"`, "${x:-<(wipe)}", "~root", "-x", "--long=a", "--", "-", `'-x'`, `\-x`, "[a]", "[", "a{b", "$", "=a", "~+", `$"a"`, "!(a)", "!!")
}

func (c *composer) redirection(depth int) string {
	if c.chance(75) {
		return c.pick(" > build/x", " >build/y", " >> build/x", " 2>&1", " > /dev/null", " 2>/dev/null", " < data/a", " <data/a", " &> build/z", " >| build/x", " 1>&2", " <<< "+c.word(0), " < /dev/null", " > 'build/a b'", " 2> build/e")
	}
	return c.pick(" > x", " >x", " >> ../x", " >& y", " &>> y", " <> z", " > build/../x", " > web/build/x", " > $x", " > ~/x", ` > "build/../../x"`, " > build/$(alpha)", " > build/*", " {PATH}> build/x", " {fd}> build/x",
		" > build\\x", " > buildx", " 2> x", " < x", " > evil/alpha", " > /dev/null/../x", " >&$x", " > >(wipe)", " < <(wipe)", " > build", " > data/a", " > "+c.word(depth))
}

func (c *composer) assignment(depth int) string {
	if c.chance(60) {
		return c.pick("CI=1", "CI=", "CI='a b'", `CI="1"`)
	}
	return c.pick("PATH=evil", "EVIL=1", "CI=$x", "CI=$(wipe)", `CI="${x:-'$(wipe)'}"`, "CI+=1", "CI[0]=1", "CI=(a)", "CI="+c.word(depth), "BASH_ENV=evil/alpha", "IFS=a", "path=evil")
}

// sandbox is a folder in which shells run texts. The only programs are scripts that record how
// they were called:
//
//	bin       on PATH: alpha, beta, gamma and wipe
//	calls     what they recorded, a file for each process
//	home      HOME
//	work      the working directory, with build, data, web and evil, which has another alpha
type sandbox struct {
	dir    string
	before map[string]string // the content of files, without calls
}

func newSandbox(t *testing.T) *sandbox {
	b := &sandbox{dir: t.TempDir()}
	b.reset(t)
	return b
}

func (b *sandbox) path(names ...string) string {
	return filepath.Join(append([]string{b.dir}, names...)...)
}

// reset empties the sandbox and fills it.
func (b *sandbox) reset(t *testing.T) {
	t.Helper()
	for _, name := range []string{"bin", "calls", "home", "work"} {
		must(t, os.RemoveAll(b.path(name)))
	}
	for _, name := range []string{"bin", "calls", "home", "work/build", "work/data", "work/web/build", "work/evil"} {
		must(t, os.MkdirAll(b.path(name), 0o700))
	}
	for _, name := range []string{"alpha", "beta", "gamma", "wipe"} {
		b.script(t, b.path("bin", name), name)
	}
	b.script(t, b.path("work/evil/alpha"), "evil")
	must(t, os.WriteFile(b.path("work/data/a"), []byte("wipe\n"), 0o600))
	b.before = b.files(t)
}

// script writes a program that records its name, its words and some variables, and prints a
// name, which an expansion may run.
func (b *sandbox) script(t *testing.T, path, name string) {
	t.Helper()
	text := "#!/bin/sh\nprintf '%s\\0' \"$#\" " + name + " \"$@\" \"$PATH\" \"$EVIL\" >> '" + b.path("calls") + "'/$$\necho wipe\n"
	must(t, os.WriteFile(path, []byte(text), 0o700))
}

// files returns the content of all files but the calls.
func (b *sandbox) files(t *testing.T) map[string]string {
	t.Helper()
	out := make(map[string]string)
	must(t, filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == b.path("calls"):
			return fs.SkipDir
		case !d.Type().IsRegular():
			out[path] = d.Type().String()
			return nil
		}
		data, err := os.ReadFile(path)
		out[path] = string(data)
		return err
	}))
	return out
}

// changed returns the files that differ from those after reset, by their paths from work.
func (b *sandbox) changed(t *testing.T) []string {
	t.Helper()
	var out []string
	now := b.files(t)
	for path, text := range now {
		old, ok := b.before[path]
		if !ok || old != text {
			out = append(out, path)
		}
	}
	for path := range b.before {
		if _, ok := now[path]; !ok {
			out = append(out, path)
		}
	}
	for i := range out {
		name, err := filepath.Rel(b.path("work"), out[i])
		must(t, err)
		out[i] = filepath.ToSlash(name)
	}
	slices.Sort(out)
	return out
}

// recorded is a call of a program.
type recorded struct {
	words      []string
	path, evil string
}

// recorded returns the calls, and forgets them.
func (b *sandbox) recorded(t *testing.T) []recorded {
	t.Helper()
	files, err := os.ReadDir(b.path("calls"))
	must(t, err)
	var out []recorded
	for _, file := range files {
		data, err := os.ReadFile(b.path("calls", file.Name()))
		must(t, err)
		must(t, os.Remove(b.path("calls", file.Name())))
		fields := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
		for len(fields) > 0 {
			n, err := strconv.Atoi(fields[0])
			must(t, err)
			out = append(out, recorded{fields[1 : n+2], fields[n+2], fields[n+3]})
			fields = fields[n+4:]
		}
	}
	return out
}

// run runs a text and waits for all processes that it starts.
func (b *sandbox) run(t *testing.T, shell, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// The processes inherit the pipe, so that it ends with the last of them.
	alive, inherited, err := os.Pipe()
	must(t, err)
	defer alive.Close()
	context.AfterFunc(ctx, func() { alive.Close() })
	cmd := exec.CommandContext(ctx, shell, "-c", text)
	cmd.Dir = b.path("work")
	cmd.Env = []string{"PATH=" + b.path("bin"), "HOME=" + b.path("home")}
	cmd.ExtraFiles = []*os.File{inherited}
	must(t, cmd.Start())
	inherited.Close()
	var exit *exec.ExitError
	err = cmd.Wait()
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%q: %v", text, err)
	}
	_, err = io.Copy(io.Discard, alive)
	if err != nil {
		t.Fatalf("%q runs for a minute: %v", text, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// quoted writes words so that a shell reads them as they are.
func quoted(words []string) string {
	var b bytes.Buffer
	for _, w := range words {
		b.WriteString("'" + strings.ReplaceAll(w, "'", `'\''`) + "' ")
	}
	return b.String()
}

// secondOpinion runs a text that the rule allows: each program that it starts must be allowed by
// itself, and each file that it changes be where the rule lets it write. It returns the number of
// programs and files.
func (b *sandbox) secondOpinion(t *testing.T, rule *Shell, shell, text string) (calls, writes int) {
	t.Helper()
	b.run(t, shell, text)
	list := b.recorded(t)
	for _, call := range list {
		if !rule.Allows(Parse(quoted(call.words)), Place{}) {
			t.Errorf("%q runs %q", text, call.words)
		}
		if call.path != b.path("bin") || call.evil != "" {
			t.Errorf("%q runs %q with PATH=%s EVIL=%s", text, call.words, call.path, call.evil)
		}
	}
	changed := b.changed(t)
	for _, name := range changed {
		if !strings.HasPrefix(name, "build/") {
			t.Errorf("%q changes %s", text, name)
		}
	}
	if len(changed) > 0 {
		b.reset(t)
	}
	return len(list), len(changed)
}

// shellPrograms runs a test for each shell that is installed.
func shellPrograms(t *testing.T, test func(t *testing.T, program string)) {
	for _, shell := range []string{"bash", "dash", "zsh"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(shell)
			if err != nil {
				t.Skip("it is not installed:", err)
			}
			test(t, program)
		})
	}
}

// TestShell_RunsTricky runs the texts of a file.
func TestShell_RunsTricky(t *testing.T) {
	list := examples(t, "tricky.txt")
	shellPrograms(t, func(t *testing.T, program string) {
		b := newSandbox(t)
		for _, e := range list {
			if e.rule.Allows(Parse(e.text), Place{}) {
				b.secondOpinion(t, e.rule, program, e.text)
			}
		}
	})
}

// TestShell_RunsRandom runs the texts of a composer.
func TestShell_RunsRandom(t *testing.T) {
	runs := 50
	if testkit.IsSlow() {
		runs = 10_000
	}
	rule := shellRule(t, "rule", composedRule)
	shellPrograms(t, func(t *testing.T, program string) {
		c, b := &composer{r: testkit.Rand(t)}, newSandbox(t)
		texts, calls, writes := 0, 0, 0
		for n := 0; n < runs; texts++ {
			text := c.list(2)
			if rule.Allows(Parse(text), Place{}) {
				n++
				some, files := b.secondOpinion(t, rule, program, text)
				calls, writes = calls+some, writes+files
			}
		}
		t.Logf("%d of %d texts are allowed; they call programs %d times and write %d files", runs, texts, calls, writes)
		if texts > 20*runs || calls < runs/2 || writes < runs/20 {
			t.Error("the texts say too little about the rule")
		}
	})
}
